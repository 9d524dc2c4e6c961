package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/pagestest"
)

// oddIDs are ids that mean something else in an address.
var oddIDs = []string{
	"a/b", "a%2Fb", "what?", "#piece", ".", "..", "~..", "~", "a//b", "../../../etc/passwd", "a b", " lead", "nul\x00x",
	"line\nbreak", "<b>x</b>", "a&b=c;d", "+", "%", `a\b`, "\u202eabc", "👩‍👩‍👧", "javascript:alert(1)",
}

// asBrowser returns the address that a browser asks for when a page has a link: steps are gone, escaped ones too.
func asBrowser(t *testing.T, link string) string {
	t.Helper()
	path, query, _ := strings.Cut(link, "?")
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		switch strings.ReplaceAll(strings.ToLower(part), "%2e", ".") {
		case ".":
		case "..":
			parts = parts[:max(0, len(parts)-1)]
		default:
			parts = append(parts, part)
		}
	}
	u, err := url.Parse(strings.Join(parts, "/") + "?" + query)
	if err != nil {
		t.Fatal(err)
	}
	return u.String()
}

// Links and forms lead to the test whose they are, whatever its id is.
func TestOddIDs(t *testing.T) {
	s, _ := withStore(t)
	var tests []*result.Test
	for _, id := range oddIDs {
		x := talked(id)
		x.Scores[1].Assertions = []result.Assertion{{Text: "Is kind", Passed: true, Grader: "rubrics"}}
		tests = append(tests, x)
	}
	s.put(result.Run{ID: "one", Suites: []string{"shop"}, Targets: []string{"x"}}, tests...)
	run, judge := s.get(http.StatusOK, "/runs/one?per=500"), s.get(http.StatusOK, "/judge?run=one&per=500")
	b := s.browser()
	for _, id := range oddIDs {
		page := asBrowser(t, rowOf(run, id).One("<a>").Attr["href"])
		answer, _ := s.answer(http.MethodGet, page, nil, nil)
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%q: %s is %s", id, page, answer.Status)
			continue
		}
		if shown := s.get(http.StatusOK, page); shown.One("<main>").Attr["data-test"] !=
			strings.ReplaceAll(id, "\x00", "\ufffd") {
			t.Errorf("%q leads to %q", id, shown.One("<main>").Attr["data-test"])
		}
		form := rowOf(judge, id).One("data-form=label")
		if form.Attr["action"] != asBrowser(t, form.Attr["action"]) &&
			form.Attr["action"]+"?" != asBrowser(t, form.Attr["action"]) {
			t.Errorf("%q: a browser takes %s for something else", id, form.Attr["action"])
		}
		if status, to := b.send(page, "override", map[string]string{
			"verdict": "fail", "comment": "of " + url.QueryEscape(id), "author": "Ada",
		}); status != http.StatusSeeOther {
			t.Errorf("%q: override %d to %s", id, status, to)
		}
		if said := s.get(http.StatusOK, page).One("data-annotation=override").Words(); !strings.Contains(said, "of "+
			url.QueryEscape(id)) {
			t.Errorf("%q: said of it: %q", id, said)
		}
		if status, _ := b.send("/judge?run=one&labelled=no&per=1", "label", map[string]string{
			"label": "pass", "author": "Ada",
		}); status != http.StatusSeeOther {
			t.Errorf("%q: label %d", id, status)
		}
		if label := rowOf(s.get(http.StatusOK, "/judge?run=one&per=500"), id).Attr["data-label"]; label != "pass" {
			t.Errorf("%q has the label %q", id, label)
		}
	}
}

// rowOf returns the row of a test by its id.
func rowOf(page *pagestest.Node, id string) *pagestest.Node {
	for _, row := range page.All("data-row", "data-test") {
		if row.Attr["data-test"] == strings.ReplaceAll(id, "\x00", "\ufffd") { // as attributes have it
			return row
		}
	}
	return &pagestest.Node{Attr: map[string]string{}}
}
