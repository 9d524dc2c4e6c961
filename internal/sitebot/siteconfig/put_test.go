package siteconfig_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPutReplaces(t *testing.T) {
	p := table(t)
	put(t, p, "Acme.example", "language: fr\naliases: [old.example]")
	put(t, p, "", `{"site": "ACME.example.", "aliases": ["new.example"], "cta": {"min_turn": 3}}`)
	library, err := p.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := library.Find("new.example")
	if err != nil || len(library.Sites()) != 1 || s.Language != "en" || s.CTA.MinTurn != 3 {
		t.Errorf("%v %v", err, s)
	}
}

func TestPutRefuses(t *testing.T) {
	p := table(t)
	put(t, p, "taken.example", "aliases: [also.example]")
	insert(t, p, "broken.example", `{"sight": 1}`) // keeps no other site from being written
	for _, c := range []struct{ name, file, want string }{
		{"a.example", "site: b.example", `[a.example]: site: the configuration is of "b.example" (store it under that name)`},
		{"a.example", "\n\ncompanny: {}", `[a.example]: companny: unknown key`},
		{"", "language: en", "[]:1:1: a site needs a name"},
		{"", "site: a.example\ncta: {min_turn: x}", "[]:2:17: cta.min_turn: expected a whole number"},
		{"a.example", "aliases: [also.example]", `[a.example]: aliases[0]: "also.example" is a name of the site in ` + p.Table + "[taken.example] too"},
		{"a.example", "{", "[a.example]:"},
		{"a.example", "", "[a.example]: "},
		{"a/b", "language: en", "is not the name of a site"},
		{"a.example", "company: {description: " + strings.Repeat("x", 2<<20) + "}", "larger than 1 MB"},
		{"a.example", "company: {name: \"a\\0b\"}", ""},
	} {
		err := p.Put(t.Context(), c.name, []byte(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Put(%q, %.40q): %.300v, want %s", c.name, c.file, err, c.want)
		}
	}
	put(t, p, "broken.example", "language: en")
	if diff := cmp.Diff([]string{"broken.example", "taken.example"}, names(t, p)); diff != "" {
		t.Error(diff)
	}
}

// TestPutNumbers stores what YAML writes otherwise than JSON.
func TestPutNumbers(t *testing.T) {
	p := table(t)
	put(t, p, "acme.example", "cta: {min_turn: 0x10}\nqualification: {interest_signals: {threshold: 0b1_0}}\nsuggestions: {answers: false}")
	library, err := p.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := library.Sites()[0]
	if s.CTA.MinTurn != 16 || s.Qualification.InterestSignals.Threshold != 2 || s.Suggestions.Answers {
		t.Errorf("%+v", s)
	}
}
