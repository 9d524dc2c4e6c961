package grader

import (
	"context"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

// Replies made to be awkward are graded by every kind that reads text, and soon: at this size anything
// much worse than linear would be felt.
func TestHostileReplies(t *testing.T) {
	size := 128 << 10
	if race.Enabled {
		size = 16 << 10
	}
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	replies := map[string]string{
		"letters":  repeat("a"),
		"words":    repeat("ab cd "),
		"spaces":   repeat(" "),
		"broken":   repeat("\xff\xfe"),
		"numbers":  "[" + repeat("1,") + "1]",
		"exponent": "[" + repeat("1e300,") + "1]",
		"digits":   repeat("9"),
		"deep":     strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		"deeper":   repeat("["),
		"objects":  "[" + repeat(`{"a":"x"},`) + "1]",
		"keys":     "{" + manyKeys(size) + `"z":1}`,
	}
	s := New(Config{})
	for _, yaml := range []string{
		"{type: icontains, value: zz}", "{type: contains_all, value: [a, b, c]}", "{type: iequals, value: x}",
		"{type: ends_with, value: zz}", "{type: regex, value: '(a*)*(b|cd)+$'}", "{type: word_count, max: 5}",
		"{type: levenshtein, value: abcabc}", "{type: rouge, value: ab cd ef}", "{type: bleu, value: ab cd ef}",
		"{type: similar, method: lexical, value: ab cd ef}",
		"{type: is_json}",
		"{type: is_json, schema: {items: {type: string}, uniqueItems: true, propertyNames: {maxLength: 1}}}",
		"{type: json_path, path: $..a, equals: 1}", "{type: json_path, path: '$[*]', min: 5}",
		"{type: field_accuracy, fields: [{path: a, expected: 1}]}",
		"{type: expression, value: 'output contains \"zz\"'}",
	} {
		check := one(t, s, yaml)
		for name, text := range replies {
			g, err := check.Grader.Grade(context.Background(), reply(text))
			if err != nil {
				t.Errorf("%s of %s: %v", yaml, name, err)
				continue
			}
			sound(t, g)
			if len(g.Reason) > 2000 || len(g.Assertions[0].Evidence) > 1000 {
				t.Errorf("%s of %s: %d bytes of reason", yaml, name, len(g.Reason))
			}
		}
	}
}

// A reply that is too large to be checked against a schema in reasonable memory is left undecided.
func TestSchemaOfHugeReply(t *testing.T) {
	check := one(t, New(Config{}), "{type: is_json, schema: {type: array}}")
	_, err := check.Grader.Grade(context.Background(), reply("["+strings.Repeat(" ", maxSchemaBytes)+"]"))
	if err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("error %v", err)
	}
}

func manyKeys(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(`"k`)
		b.WriteString(strings.Repeat("a", i%40))
		b.WriteString(decimal(float64(i)))
		b.WriteString(`":1,`)
	}
	return b.String()
}
