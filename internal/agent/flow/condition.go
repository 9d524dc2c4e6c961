package flow

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ConditionType is a kind of condition.
type ConditionType string

// The condition types.
const (
	Always   ConditionType = "always"
	Equals   ConditionType = "equals"
	Contains ConditionType = "contains"
	Matches  ConditionType = "matches"
	Exists   ConditionType = "exists"
	And      ConditionType = "and"
	Or       ConditionType = "or"
	Not      ConditionType = "not"
)

var conditionTypes = []string{
	string(Always), string(Equals), string(Contains), string(Matches), string(Exists), string(And), string(Or),
	string(Not),
}

// Operator compares a field with a value; the zero value is that of the condition's type.
type Operator string

// The operators.
const (
	Equal        Operator = "eq"
	NotEqual     Operator = "ne"
	Greater      Operator = "gt"
	GreaterEqual Operator = "gte"
	Less         Operator = "lt"
	LessEqual    Operator = "lte"
	In           Operator = "in"
	NotIn        Operator = "not_in"
)

// operators are the spellings that authors use.
var operators = map[string]Operator{
	"eq": Equal, "==": Equal, "=": Equal, "equals": Equal, "ne": NotEqual, "!=": NotEqual, "not_equals": NotEqual,
	"gt": Greater, ">": Greater, "gte": GreaterEqual, ">=": GreaterEqual,
	"lt": Less, "<": Less, "lte": LessEqual, "<=": LessEqual, "in": In, "not_in": NotIn,
}

// Condition decides a transition from the user's message and the collected fields.
type Condition struct {
	Type ConditionType `key:"type" enum:"always,equals,contains,matches,exists,and,or,not" doc:"the comparison"`
	// Field is the field to compare; empty means the user's message.
	Field    string `key:"field" alias:"target" doc:"the field or fact (default: the user's message)"`
	Operator Operator
	// Values are compared one by one. One match is enough; for ne and not_in, none may match.
	Values []string
	// CaseSensitive makes upper and lower case differ. By default they do not.
	CaseSensitive bool `key:"case_sensitive" doc:"upper and lower case differ"`
	// Of are the conditions of and, or and not; not is true unless all of them hold.
	Of []*Condition

	patterns []*regexp.Regexp
}

// messageFields are the names by which a condition may call the user's message.
var messageFields = []string{"input", "message", "user_input", "user_message", "text"}

// fieldName returns the field's name, empty for the user's message.
func fieldName(name string) string {
	if slices.Contains(messageFields, strings.ToLower(name)) {
		return ""
	}
	return NormalKey(name)
}

// fields looks up a collected field by its normal key.
type fields func(name string) (value string, ok bool)

// holds reports whether the condition holds.
func (c *Condition) holds(message string, collected fields) bool {
	switch c.Type {
	case Always:
		return true
	case And:
		return !slices.ContainsFunc(c.Of, func(of *Condition) bool { return !of.holds(message, collected) })
	case Or:
		return slices.ContainsFunc(c.Of, func(of *Condition) bool { return of.holds(message, collected) })
	case Not:
		return slices.ContainsFunc(c.Of, func(of *Condition) bool { return !of.holds(message, collected) })
	}
	value, ok := message, true
	if c.Field != "" {
		value, ok = collected(c.Field)
	}
	switch c.Type {
	case Exists:
		return ok && strings.TrimSpace(value) != ""
	case Contains:
		return ok && slices.ContainsFunc(c.Values, func(v string) bool {
			return strings.Contains(c.fold(value), c.fold(v))
		})
	case Matches:
		return ok && slices.ContainsFunc(c.patterns, func(re *regexp.Regexp) bool { return re.MatchString(value) })
	}
	return c.compares(value, ok)
}

// compares applies an equality operator. A field that was not collected equals nothing.
func (c *Condition) compares(value string, ok bool) bool {
	equal := ok && slices.ContainsFunc(c.Values, func(v string) bool { return c.same(value, v) })
	switch c.Operator {
	case NotEqual, NotIn:
		return !equal
	case Greater, GreaterEqual, Less, LessEqual:
		return ok && slices.ContainsFunc(c.Values, func(v string) bool { return c.ordered(value, v) })
	}
	return equal
}

// same compares numbers as numbers and everything else as text.
func (c *Condition) same(a, b string) bool {
	x, errX := parseNumber(a)
	y, errY := parseNumber(b)
	if errX == nil && errY == nil && !math.IsNaN(x) && !math.IsNaN(y) { // "nan" is a word and equals itself
		return x == y
	}
	return c.fold(strings.TrimSpace(a)) == c.fold(strings.TrimSpace(b))
}

func (c *Condition) ordered(a, b string) bool {
	x, errX := parseNumber(a)
	y, errY := parseNumber(b)
	order := strings.Compare(c.fold(a), c.fold(b)) // ISO dates compare correctly as text
	if errX == nil && errY == nil {
		order = 0
		if x < y {
			order = -1
		} else if x > y {
			order = 1
		}
	}
	switch c.Operator {
	case Greater:
		return order > 0
	case GreaterEqual:
		return order >= 0
	case Less:
		return order < 0
	}
	return order <= 0
}

func (c *Condition) fold(s string) string {
	if c.CaseSensitive {
		return s
	}
	return strings.ToLower(s)
}

func parseNumber(s string) (float64, error) { return strconv.ParseFloat(strings.TrimSpace(s), 64) }
