package prompt

import (
	"encoding/json"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// object is a piece of JSON to be written.
type object = map[string]any

// Schema returns the JSON Schema of what a node replies with, and false for a node that writes plain text. Field is
// that of Vars. Every property must be there and no other may, as providers want for replies that surely follow a
// schema.
func Schema(of *site.Site, node, field string) (json.RawMessage, bool) {
	properties := reply(of, node, field)
	if properties == nil {
		return nil, false
	}
	data, err := json.Marshal(closed(properties))
	return data, err == nil
}

// reply returns the properties of a node's reply, and nil for a node that writes plain text.
func reply(of *site.Site, node, field string) object {
	switch node {
	case IntentClassifier:
		return object{
			"intent":     oneOf("LEARN", "CONTEXT", "SUPPORT", "OFFTOPIC", "OTHER", "BOOKING", "STOP_BOOKING", "HACK"),
			"confidence": object{"type": "number", "description": "from 0, a guess, to 1, certain"},
		}
	case InterestSignalsDetector:
		return object{"signals": listOf(oneOf(signalIDs(of)...))}
	case SkillSelector:
		return object{"skills": listOf(oneOf(Skills()...)), "reasons": closed(textsOrNull(Skills()))}
	case EarlyProfileExtractor:
		return extracted(of, field)
	case VisitorProfile:
		return profile()
	case FormFieldExtractor:
		if field != "" { // before a booking step
			days := closed(textsOrNull(dayFields(of)))
			return object{"fields": days, "quotes": days}
		}
		return object{"fields": closed(textsOrNull(formFields(of))), "corrections": closed(textsOrNull(of.FieldIDs()))}
	case FollowUpSuggester:
		return object{"suggestions": listOf(text())}
	case AnswerSuggester:
		return object{"answers": listOf(text())}
	}
	return nil
}

// closed is an object that has all of some properties and no others.
func closed(properties object) object {
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return object{"type": "object", "properties": properties, "required": names, "additionalProperties": false}
}

func text() object { return object{"type": "string"} }

func textOrNull() object { return object{"type": []string{"string", "null"}} }

func textsOrNull(names []string) object {
	properties := object{}
	for _, name := range names {
		properties[name] = textOrNull()
	}
	return properties
}

func listOf(items object) object { return object{"type": "array", "items": items} }

// oneOf is a text among others; any text when there are none, as a schema must not be empty.
func oneOf(choices ...string) object {
	if len(choices) == 0 {
		return text()
	}
	return object{"type": "string", "enum": choices}
}

// valueOf is the answer to a field's question: a choice if there are any, that it was declined, or nothing.
func valueOf(of *site.Site, field string) object {
	choices := requestedFieldOf(of, field).choices
	if len(choices) == 0 {
		return textOrNull()
	}
	values := []any{}
	for _, choice := range choices {
		values = append(values, choice)
	}
	return object{"type": []string{"string", "null"}, "enum": append(values, site.Declined, nil)}
}

// extracted is the answer to a question, and what the same message says of the other fields.
func extracted(of *site.Site, field string) object {
	values := object{}
	for _, id := range of.FieldIDs() {
		if id != field {
			values[id] = valueOf(of, id)
		}
	}
	return object{"value": valueOf(of, field), "values": closed(values)}
}

// profile is what a visitor may say of themselves; what enrichment alone knows is not in it.
func profile() object {
	properties := textsOrNull([]string{
		"company_name", "company_description", "company_domain", "sector", "sub_sector", "email", "job_to_be_done",
		"intent",
	})
	properties["feature_list"] = listOf(text())
	properties["sector_confidence_level"] = object{
		"type": []string{"string", "null"},
		"enum": []any{"high", "medium", "low", nil},
	}
	return properties
}

func signalIDs(of *site.Site) []string {
	var ids []string
	for _, s := range of.Qualification.InterestSignals.Signals {
		ids = append(ids, s.ID)
	}
	return ids
}

// dayFields returns the days that a booking, or a question after it, requests.
func dayFields(of *site.Site) []string {
	var ids []string
	for _, f := range slices.Concat(of.Booking.Fields, of.Booking.PostConversion) {
		if f.Type == site.Date {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

func formFields(of *site.Site) []string {
	var ids []string
	for _, f := range of.CTA.FormFields {
		ids = append(ids, f.Field)
	}
	return ids
}
