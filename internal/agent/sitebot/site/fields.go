package site

import (
	"slices"
	"strings"
)

// Declined is what a field holds that the visitor did not want to answer.
const Declined = "declined"

// Fields returns the fields of all forms, in the order of the file, which is the order in which they are asked.
func (s *Site) Fields() []Field {
	var fields []Field
	for _, form := range s.Qualification.Profiling.Forms {
		for _, group := range form.Groups {
			fields = append(fields, group.Fields...)
		}
	}
	return fields
}

// FieldIDs returns the ids of Fields. A reconstructed history fills them from the front.
func (s *Site) FieldIDs() []string {
	fields := s.Fields()
	ids := make([]string, len(fields))
	for i, f := range fields {
		ids[i] = f.ID
	}
	return ids
}

// Required returns the fields that must be known before a demo is proposed.
func (s *Site) Required() []Field {
	var fields []Field
	for _, f := range s.Fields() {
		if f.Required {
			fields = append(fields, f)
		}
	}
	return fields
}

// Missing returns the fields without a value; Declined is a value.
func Missing(fields []Field, values map[string]string) []Field {
	var missing []Field
	for _, f := range fields {
		if strings.TrimSpace(values[f.ID]) == "" {
			missing = append(missing, f)
		}
	}
	return missing
}

// Field returns the field with an id.
func (s *Site) Field(id string) (Field, bool) {
	for _, f := range s.Fields() {
		if f.ID == id {
			return f, true
		}
	}
	return Field{}, false
}

// Threshold returns the score from which a demo is proposed, and false when that is switched off.
func (s *Site) Threshold() (score int, on bool) {
	score = s.Qualification.InterestSignals.Threshold
	return score, score > 0
}

// Next returns the first booking field without a value.
func Next(fields []BookingField, values map[string]string) (BookingField, bool) {
	for _, f := range fields {
		if strings.TrimSpace(values[f.ID]) == "" {
			return f, true
		}
	}
	return BookingField{}, false
}

// Variables returns the variables of the environment that the site names.
func (s *Site) Variables() []string {
	names := []string{
		s.Enrichment.IPHashSaltEnv, s.Integrations.LeadWebhook.URLEnv, s.Integrations.LeadWebhook.SecretEnv,
		s.Integrations.PostHog.HostEnv, s.Integrations.PostHog.KeyEnv,
	}
	if server := s.KnowledgeBase.LightRAG; server != nil {
		names = append(names, server.APIKeyEnv)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
