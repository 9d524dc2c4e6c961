package prompt

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// values gives templates the values of their variables at one turn.
type values struct {
	vars           Vars
	facts          *facts
	requestedField requestedField
	skills         string
}

// of returns the value of a variable.
func (v *values) of(name string) string {
	if name == "skills" {
		return v.skills
	}
	if name == "fields" && !v.vars.Today.IsZero() {
		name = "days"
	}
	if text, ok := v.facts.texts[name]; ok {
		return text
	}
	return or(strings.TrimSpace(v.atTurn(name)), none)
}

// atTurn returns the value of a variable that does not depend on the site alone. Only what a template uses is put into
// words.
func (v *values) atTurn(name string) string {
	switch name {
	case "action":
		return v.vars.Action
	case "calendar":
		return calendarLines(v.vars.Today)
	case "choices":
		return or(strings.Join(v.requestedField.choices, ", "), "any")
	case "collected":
		return data(lines(v.vars.Collected))
	case "detected":
		return data(strings.Join(v.vars.Detected, ", "))
	case "dialog":
		return data(v.vars.Dialog)
	case "docs":
		return data(v.vars.Docs)
	case "field":
		return inWords(v.vars.Field)
	case "field_type":
		return string(v.requestedField.kind)
	case "intent":
		return v.vars.Intent
	case "language":
		return languageName(v.facts.site.LanguageFor(v.vars.Language))
	case "missing":
		return missing(v.facts.fields, v.vars.Collected)
	case "more":
		return inWords(v.vars.More)
	case "order":
		if v.vars.MonthFirst {
			return "month"
		}
		return "day"
	case "problem":
		return v.vars.Problem
	case "profile":
		return data(v.vars.Profile)
	case "question":
		return v.requestedField.question
	case "summary":
		return data(v.vars.Summary)
	case "today":
		return v.vars.Today.Format("Monday 2006-01-02")
	case "turn":
		return strconv.Itoa(v.vars.Turn)
	case "values":
		return data(lines(v.vars.Values))
	}
	return ""
}

// ends are the closing tags behind which a prompt goes on with instructions.
var ends = regexp.MustCompile(`(?i)<\s*/\s*(documents|visitor)\b`)

// data returns a text that others wrote. It cannot close the part of the prompt in which it stands.
func data(text string) string {
	if !strings.Contains(text, "<") {
		return text // most texts, and the search is dear
	}
	return ends.ReplaceAllString(text, `<\/$1`)
}

// Earlier returns the part of a system text that stands for turns which are not among the messages.
func Earlier(summary string) string {
	return "\n\n# Earlier in this conversation\n\nThe messages begin later. What was said before, in short:\n\n" +
		"<visitor>\n" + data(summary) + "\n</visitor>"
}

// maxValue bounds what a prompt shows of one value, in characters. A value of free text may be as long as a message.
const maxValue = 1000

// clipped returns the beginning of a value.
func clipped(value string) string {
	if len(value) <= maxValue {
		return value
	}
	n := 0
	for at := range value {
		if n == maxValue {
			return value[:at] + "…"
		}
		n++
	}
	return value
}

// lines writes values one a line, by name.
func lines(values map[string]string) string {
	names := make([]string, 0, 16) // room for most forms without asking for memory
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		b.WriteString("- ")
		b.WriteString(inWords(name))
		b.WriteString(": ")
		b.WriteString(clipped(strings.Join(strings.Fields(values[name]), " ")))
		b.WriteString("\n")
	}
	return b.String()
}

// missing names the fields without a value.
func missing(fields []site.Field, collected map[string]string) string {
	var ids []string
	for _, f := range site.Missing(fields, collected) {
		ids = append(ids, inWords(f.ID))
	}
	return strings.Join(ids, ", ")
}
