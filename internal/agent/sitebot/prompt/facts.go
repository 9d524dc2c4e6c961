package prompt

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// facts are what prompts say of one site at every turn, and what was made for that site before. Only the caches change.
type facts struct {
	site *site.Site
	// texts are the values of the variables that depend on the site alone.
	texts  map[string]string
	fields []site.Field
	// requested are the fields of the qualification and of the booking, by id.
	requested map[string]requestedField

	nodes, skills cache[string, prepared]
	schemas       cache[schemaKey, json.RawMessage]
}

type schemaKey struct{ node, field string }

func factsOf(s *site.Site) *facts {
	return &facts{site: s, texts: siteTexts(s), fields: s.Fields(), requested: requestedFieldsOf(s)}
}

func siteTexts(s *site.Site) map[string]string {
	texts := map[string]string{
		"site": s.Name, "company": s.Company.Name, "cta_url": s.CTA.URL,
		"asset": or(s.ContentGating.Asset, "more material"), "signals": signalLines(s), "fields": formLines(s),
		"days": dayLines(s),
	}
	for name, text := range texts {
		texts[name] = or(strings.TrimSpace(text), none)
	}
	texts["company_description"] = s.Company.Description // stands in running text
	return texts
}

// requestedFieldsOf returns the fields that a site requests, by their ids.
func requestedFieldsOf(s *site.Site) map[string]requestedField {
	all := map[string]requestedField{}
	for _, id := range s.FieldIDs() {
		all[id] = requestedFieldOf(s, id)
	}
	for _, f := range slices.Concat(s.Booking.Fields, s.Booking.PostConversion) {
		all[f.ID] = requestedFieldOf(s, f.ID)
	}
	return all
}

// requestedField is the definition of a field that a site requests.
type requestedField struct {
	question string
	choices  []string
	kind     site.FieldType
}

func requestedFieldOf(s *site.Site, id string) requestedField {
	if f, ok := s.Field(id); ok {
		return requestedField{f.Question, f.Choices, site.Text}
	}
	for _, f := range slices.Concat(s.Booking.Fields, s.Booking.PostConversion) {
		if f.ID == id {
			return requestedField{"What is your " + inWords(id) + "?", nil, f.Type}
		}
	}
	return requestedField{}
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
		b.WriteString("- " + f.Field + ": " + or(requestedFieldOf(s, f.Field).question, inWords(f.Field)) + "\n")
	}
	return b.String()
}

// dayLines describes the days of a booking, with the question.
func dayLines(s *site.Site) string {
	var b strings.Builder
	for _, id := range dayFields(s) {
		b.WriteString("- " + id + ": " + requestedFieldOf(s, id).question + "\n")
	}
	return b.String()
}

// calendarDays is how many days a prompt lists: this week and the next two.
const calendarDays = 21

// calendarLines lists the days from today on with the day of the week, so that a model need not calculate.
func calendarLines(today time.Time) string {
	var b strings.Builder
	for i := range calendarDays {
		b.WriteString(today.AddDate(0, 0, i).Format("- Monday 2006-01-02\n"))
	}
	return b.String()
}

// Vars are what a node knows at this turn. What is left empty reads "none" in the prompt. What the site says is filled
// in from the site.
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
	// Today is set where form_field_extractor reads days: the day of the site. MonthFirst is the order of its figures.
	Today      time.Time
	MonthFirst bool
	// More is the id of what is asked for once a booking is complete.
	More string
	// Problem says in words why a value that the visitor gave was not taken.
	Problem string
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
	// Summary is what the beginning of the conversation was summed up as.
	Summary string
}

// none stands for what is empty, so that a sentence of a prompt is never left hanging.
const none = "none"

// variables are the names that a template may use, besides the slots.
var variables = []string{
	"action", "asset", "choices", "collected", "company", "company_description", "cta_url", "detected", "dialog",
	"docs", "field", "field_type", "fields", "intent", "language", "missing", "more", "problem", "profile", "question",
	"signals", "site", "skills", "summary", "turn", "values",
}

// inWords writes an id as words.
func inWords(id string) string { return separators.Replace(id) }

var separators = strings.NewReplacer("_", " ", "-", " ")

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// languageName returns a language as models know it.
func languageName(primary string) string {
	if name, ok := languageNames[primary]; ok {
		return name
	}
	return "the language with the code " + primary
}

var languageNames = map[string]string{
	"en": "English", "fr": "French", "es": "Spanish", "de": "German", "it": "Italian", "pt": "Portuguese",
	"nl": "Dutch",
}
