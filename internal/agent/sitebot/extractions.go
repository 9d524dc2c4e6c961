package sitebot

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/value"
)

// findings are what a visitor's message gives for the fields of a booking.
type findings struct {
	// values are those that are new or other than the kept ones, by field.
	values map[string]string
	// holds is true where the message holds a value of a field, be it kept already.
	holds bool
	// refused says why a day of the message is none that can be kept.
	refused value.Refusal
}

// find searches the visitor's message for values of fields. Asked is the field of the last question; empty for none.
// Typed fields are searched for in the whole message, one after the other, and free text only fills the requested one.
func (r *rules) find(b *Booking, fields []site.BookingField, asked string, s *State) findings {
	f := findings{values: map[string]string{}}
	message := s.Input
	text := value.In(message, site.Negates)
	address, hasAddress := text.Email()
	if hasAddress {
		f.keep(b, fields, site.Email, asked, message, address)
	}
	if typed(fields, site.Date) || typed(fields, site.Phone) { // a day is no number to call
		day, refused := text.Date(r.calendar)
		switch {
		case day.Value != "":
			f.keep(b, fields, site.Date, asked, message, day)
		case typed(fields, site.Date):
			f.refused = refused
		}
		f.speak(b, fields, asked, s, text)
		if number, ok := text.Phone(r.Region); ok {
			f.keep(b, fields, site.Phone, asked, message, number)
		}
	}
	if t, ok := fieldOf(fields, asked); ok && t.Type == site.Text && !f.correct(b) {
		if said := freeText(message, text.Rest()); said != "" {
			f.values[asked], f.holds = said, true
			if b.Converted && site.Declines(said) {
				f.values[asked] = site.Declined
			}
		}
	}
	return f
}

// speak notes the days that the message names in words.
func (f *findings) speak(b *Booking, fields []site.BookingField, asked string, s *State, text *value.Text) {
	for _, field := range fields {
		day, ok := s.Spoken.Days[field.ID]
		if !ok || field.Type != site.Date {
			continue
		}
		from, to, found := text.Find(day.Words)
		if !found {
			continue
		}
		text.Remove(from, to)
		f.keep(b, []site.BookingField{field}, site.Date, asked, s.Input, value.Found{
			Value: day.Value, From: from, To: to,
		})
	}
	field, _ := fieldOf(fields, asked)
	unread := s.Spoken.Refused == value.Unclear && field.Type != site.Date // the message may be about something else
	if typed(fields, site.Date) && len(s.Spoken.Days) == 0 && !unread && f.refused == value.Accepted {
		f.refused = s.Spoken.Refused
	}
}

// keep notes a typed value for the field that it is for: the one that was asked, else the first without a value, else
// the one that it corrects. Once a booking is complete a correction goes before a question that was not asked yet. A
// question corrects nothing.
func (f *findings) keep(b *Booking, fields []site.BookingField, of site.FieldType, asked, message string,
	found value.Found) {
	var empty, kept []string
	for _, field := range fields {
		switch {
		case field.Type != of:
			continue
		case field.ID == asked && b.Values[field.ID] == "":
			empty = append([]string{field.ID}, empty...)
		case b.Values[field.ID] == "":
			empty = append(empty, field.ID)
		case b.Values[field.ID] == found.Value:
			kept = append([]string{""}, kept...) // there is nothing to correct
		default:
			kept = append(kept, field.ID)
		}
	}
	f.holds = f.holds || len(empty)+len(kept) > 0
	switch {
	case len(empty) > 0 && (empty[0] == asked || len(kept) == 0 || kept[0] != "" && !b.Converted):
		f.values[empty[0]] = found.Value
	case len(kept) > 0 && kept[0] != "" && !isQuestion(message, found.To):
		f.values[kept[0]] = found.Value
	}
}

// correct reports whether they correct a value of a booking.
func (f *findings) correct(b *Booking) bool {
	for id := range f.values {
		if b.Values[id] != "" {
			return true
		}
	}
	return false
}

// typed reports whether one of some fields has a type.
func typed(fields []site.BookingField, of site.FieldType) bool {
	return slices.ContainsFunc(fields, func(f site.BookingField) bool { return f.Type == of })
}

// fieldOf returns the field with an id.
func fieldOf(fields []site.BookingField, id string) (site.BookingField, bool) {
	i := slices.IndexFunc(fields, func(f site.BookingField) bool { return f.ID == id })
	if i < 0 {
		return site.BookingField{}, false
	}
	return fields[i], true
}

// freeText returns what a message says as free text; or nothing where it asks, or says nothing else. Where typed fields
// have taken something, it is the clauses that they have left whole: of "Ada Lovelace, ada@x.com" the name, and nothing
// of "please write to ada@x.com".
func freeText(message string, rest []string) string {
	if question(message) {
		return ""
	}
	if len(rest) == 1 {
		return strings.TrimSpace(rest[0])
	}
	var said []string
	for i, piece := range rest {
		clauses := strings.Split(clauseEnds.Replace(piece), "\n")
		if i > 0 {
			clauses = clauses[1:]
		}
		if i < len(rest)-1 && len(clauses) > 0 {
			clauses = clauses[:len(clauses)-1]
		}
		for _, clause := range clauses {
			clause = strings.Trim(clause, " \t\r.:!()<>\"'-–")
			if clause != "" && !site.Accepts(clause) && !site.Declines(clause) {
				said = append(said, clause)
			}
		}
	}
	return strings.Join(said, ", ")
}

// clauseEnds writes the end of each clause as a new line.
var clauseEnds = strings.NewReplacer(",", "\n", ";", "\n", ". ", "\n", "! ", "\n")

// isQuestion reports whether the sentence that goes on at a place of a message is a question.
func isQuestion(message string, from int) bool {
	rest := message[from:]
	for i, r := range rest {
		switch r {
		case '?', '？', '؟':
			return true
		case '!', '。', '\n':
			return false
		case '.':
			if next := rest[i+1:]; next == "" || strings.ContainsAny(next[:1], " \t\r\n") {
				return false
			}
		}
	}
	return false
}
