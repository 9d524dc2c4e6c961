package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// axe is the text of the rules. REHEARSE_E2E_NPM is a folder into which the package of package.json was installed;
// without one, this folder is.
var axe = sync.OnceValues(func() (string, error) {
	dir := os.Getenv("REHEARSE_E2E_NPM")
	if dir == "" {
		dir = "."
	}
	text, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return "", fmt.Errorf("the rules of axe are not there; run `npm ci` in e2e: %w", err)
	}
	return string(text), nil
})

// violation is what axe says of a rule that a page breaks.
type violation struct {
	ID, Help string
	Nodes    []struct {
		HTML           string `json:"html"`
		FailureSummary string `json:"failureSummary"`
	}
}

// accessible holds the rules of WCAG 2.2 AA against the page.
func (b *tab) accessible() {
	b.t.Helper()
	text, err := axe()
	if err != nil {
		b.t.Fatal(err)
	}
	value[int](b, text+"\n;0")
	found := value[[]violation](b, `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then((all) => all.violations)`)
	for _, v := range found {
		for _, node := range v.Nodes {
			b.t.Errorf("%s (%s): %.300s\n%s", v.ID, v.Help, node.HTML, node.FailureSummary)
		}
	}
}

// fits holds that nothing has to be scrolled sideways, and that the page has one heading and one main part. The window
// of a telephone grows with what is too wide (innerWidth); the width that the page was laid out for does not.
func (b *tab) fits() {
	b.t.Helper()
	type shape struct{ Width, Window, Headings, Mains int }
	s := value[shape](b, `({width: document.documentElement.scrollWidth, window: document.documentElement.clientWidth, headings: document.querySelectorAll("h1").length,
		mains: document.querySelectorAll("main").length})`)
	if s.Width > s.Window {
		b.t.Errorf("the page is %d wide in a window of %d; the widest: %s", s.Width, s.Window,
			value[string](b, `[...document.querySelectorAll("body *")]
			.filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "." + e.className).slice(0, 8).join(" ")`))
	}
	if s.Headings != 1 || s.Mains != 1 {
		b.t.Errorf("%d headings of the first level and %d main parts", s.Headings, s.Mains)
	}
}

// TestRules holds that the rules find something where there is something to find.
func TestRules(t *testing.T) {
	b := open(t, looks[0])
	b.to("/runs")
	text, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	value[int](b, text+"\n;0")
	found := value[int](b, `(() => {
		const picture = document.createElement("img");
		picture.src = "data:,";
		document.querySelector("main").append(picture);
		return axe.run(document).then((all) => all.violations.length);
	})()`)
	if found == 0 {
		t.Error("axe finds nothing wrong with a picture that has no text")
	}
}
