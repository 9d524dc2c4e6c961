package prompt

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rehearse/internal/sitebot/site"
)

// Vars are what a node knows at this turn. What is left empty reads "none" in the prompt. What the site says is filled in from the site.
type Vars struct {
	// Language is the visitor's, such as fr or pt-BR; empty means the site's.
	Language string
	// Docs are the passages that were found for the question.
	Docs string
	// Profile is what is known about the visitor and their company.
	Profile string
	// Collected are the answers of the qualification so far, Values those of the booking.
	Collected, Values map[string]string
	// Field is the id of what is asked for or taken down now: a field of the qualification or of the booking.
	Field string
	// Skills say how the answer ends, in their order.
	Skills []string
	// Intent and Action are what was classified and decided.
	Intent, Action string
	// Detected are the signals of interest so far.
	Detected []string
	// Dialog says in words what was asked and proposed, and when.
	Dialog string
	// Turn is the skill turn.
	Turn int
}

// none stands for what is empty, so that a sentence of a prompt is never left hanging.
const none = "none"

// variables are the names that a template may use, besides the slots.
var variables = []string{
	"action", "asset", "choices", "collected", "company", "company_description", "cta_url", "detected", "dialog", "docs", "field", "field_type",
	"fields", "intent", "language", "missing", "profile", "question", "signals", "site", "skills", "turn", "values",
}

// values returns the value of every variable but the skills.
func (v *Vars) values(s *site.Site) map[string]string {
	asked := asking(s, v.Field)
	out := map[string]string{
		"action": v.Action, "intent": v.Intent, "turn": strconv.Itoa(v.Turn), "language": languageName(s.LanguageFor(v.Language)),
		"site": s.Name, "company": s.Company.Name, "cta_url": s.CTA.URL, "asset": or(s.ContentGating.Asset, "more material"),
		"field": inWords(v.Field), "field_type": string(asked.kind), "question": asked.question, "choices": or(strings.Join(asked.choices, ", "), "any"),
		"docs": data(v.Docs), "profile": data(v.Profile), "dialog": data(v.Dialog),
		"collected": data(lines(v.Collected)), "values": data(lines(v.Values)), "detected": data(strings.Join(v.Detected, ", ")),
		"signals": signalLines(s), "fields": formLines(s), "missing": missingLines(s, v.Collected),
	}
	for name, value := range out {
		out[name] = or(strings.TrimSpace(value), none)
	}
	out["company_description"] = s.Company.Description // stands in running text
	return out
}

// asked is what a site says about the field with an id.
type asked struct {
	question string
	choices  []string
	kind     site.FieldType
}

func asking(s *site.Site, id string) asked {
	if f, ok := s.Field(id); ok {
		return asked{f.Question, f.Choices, site.Text}
	}
	for _, f := range slices.Concat(s.Booking.Fields, s.Booking.PostConversion) {
		if f.ID == id {
			return asked{"What is your " + inWords(id) + "?", nil, f.Type}
		}
	}
	return asked{}
}

// ends are the closing tags behind which a prompt goes on with instructions.
var ends = regexp.MustCompile(`(?i)<\s*/\s*(documents|visitor)\b`)

// data returns a text that others wrote. It cannot close the part of the prompt in which it stands.
func data(text string) string { return ends.ReplaceAllString(text, `<\/$1`) }

// lines writes values one a line, by name.
func lines(values map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		b.WriteString("- " + inWords(name) + ": " + strings.Join(strings.Fields(values[name]), " ") + "\n")
	}
	return b.String()
}

func signalLines(s *site.Site) string {
	var b strings.Builder
	for _, signal := range s.Qualification.InterestSignals.Signals {
		b.WriteString("- " + signal.ID + ": " + signal.When + "\n")
	}
	return b.String()
}

// formLines describes the fields of the call to action's form, with the question if the qualification asks one.
func formLines(s *site.Site) string {
	var b strings.Builder
	for _, f := range s.CTA.FormFields {
		b.WriteString("- " + f.Field + ": " + or(asking(s, f.Field).question, inWords(f.Field)) + "\n")
	}
	return b.String()
}

func missingLines(s *site.Site, collected map[string]string) string {
	var ids []string
	for _, f := range site.Missing(s.Fields(), collected) {
		ids = append(ids, inWords(f.ID))
	}
	return strings.Join(ids, ", ")
}

// inWords writes an id as words.
func inWords(id string) string { return strings.NewReplacer("_", " ", "-", " ").Replace(id) }

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// languageName returns a language as models know it.
func languageName(primary string) string {
	names := map[string]string{
		"en": "English", "fr": "French", "es": "Spanish", "de": "German", "it": "Italian", "pt": "Portuguese", "nl": "Dutch",
	}
	return or(names[primary], "the language with the code "+primary)
}
