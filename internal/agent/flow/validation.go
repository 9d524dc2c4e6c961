package flow

import (
	"fmt"
	"net/mail"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// ValueType is the type that an answer must have.
type ValueType string

// The value types.
const (
	TextValue   ValueType = "string"
	NumberValue ValueType = "number"
	EmailValue  ValueType = "email"
	PhoneValue  ValueType = "phone"
	DateValue   ValueType = "date"
)

// Validation is what an answer must satisfy.
type Validation struct {
	Required bool      `key:"required" doc:"an empty answer is invalid"`
	Type     ValueType `key:"type" enum:"string,number,email,phone,date" doc:"the type of the answer"`
	// Min and Max bound a number, MinLength and MaxLength the characters of a text.
	Min       *float64 `key:"min" minimum:"-1e15" maximum:"1e15" doc:"smallest number"`
	Max       *float64 `key:"max" minimum:"-1e15" maximum:"1e15" doc:"largest number"`
	MinLength *int     `key:"min_length" minimum:"0" doc:"least number of characters"`
	MaxLength *int     `key:"max_length" minimum:"0" doc:"greatest number of characters"`
	Pattern   *regexp.Regexp
	// ErrorMessage is what the user reads instead of the built-in sentence.
	ErrorMessage string `key:"error_message" doc:"the reply to an invalid answer"`
}

// check returns what to tell the user about an invalid answer, empty for a valid one.
func (v *Validation) check(answer string) string {
	problem := v.problem(strings.TrimSpace(answer))
	if problem != "" && v.ErrorMessage != "" {
		return v.ErrorMessage
	}
	return problem
}

func (v *Validation) problem(answer string) string {
	if answer == "" {
		if v.Required {
			return "Please write an answer."
		}
		return ""
	}
	length := utf8.RuneCountInString(answer)
	switch {
	case v.MinLength != nil && length < *v.MinLength:
		return fmt.Sprintf("Please write at least %d characters.", *v.MinLength)
	case v.MaxLength != nil && length > *v.MaxLength:
		return fmt.Sprintf("Please write at most %d characters.", *v.MaxLength)
	case v.Pattern != nil && !v.Pattern.MatchString(answer):
		return "That does not have the expected form. Please try again."
	}
	return v.typeProblem(answer)
}

func (v *Validation) typeProblem(answer string) string {
	switch v.Type {
	case EmailValue:
		if a, err := mail.ParseAddress(answer); err != nil || a.Address != answer ||
			!strings.Contains(answer[strings.LastIndex(answer, "@"):], ".") {
			return "That is not a valid e-mail address. Please try again."
		}
	case PhoneValue:
		if !phone().MatchString(answer) || digits(answer) < 6 || digits(answer) > 15 {
			return "That is not a valid phone number. Please try again."
		}
	case DateValue:
		if !isDate(answer) {
			return "That is not a date that I understand. Please write it as YYYY-MM-DD."
		}
	}
	if v.Type != NumberValue && v.Min == nil && v.Max == nil {
		return ""
	}
	number, err := parseNumber(answer)
	switch {
	case err != nil || number != number: // NaN is not a number to answer with
		return "That is not a number. Please try again."
	case v.Min != nil && number < *v.Min:
		return fmt.Sprintf("Please give a number of at least %g.", *v.Min)
	case v.Max != nil && number > *v.Max:
		return fmt.Sprintf("Please give a number of at most %g.", *v.Max)
	}
	return ""
}

// phone allows the characters that people put between digits; E.164 has at most 15 digits.
var phone = text.Regexp(`^\+?[0-9 ()./-]+$`)

func digits(s string) int {
	n := 0
	for _, r := range s {
		if r >= '0' && r <= '9' {
			n++
		}
	}
	return n
}

// dateLayouts are the unambiguous forms of a date, and the most common written ones.
var dateLayouts = []string{
	"2006-01-02", "2006-1-2", "2006/01/02", "02.01.2006", "2.1.2006", "01/02/2006", "1/2/2006", "02/01/2006",
	"2/1/2006", "2 January 2006", "2 Jan 2006", "January 2, 2006", "Jan 2, 2006", time.RFC3339,
}

func isDate(s string) bool {
	for _, layout := range dateLayouts {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}
