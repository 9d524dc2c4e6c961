package target_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/eval/target"
)

// A folder of here is named by a path, whatever its name looks like; other places keep their names.
func TestSpelled(t *testing.T) {
	for dir, want := range map[string]string{
		"sites": "./sites", "site.yaml": "./site.yaml", "a/sites": "a/sites", "../sites": "../sites",
		"/sites": "/sites", "": "", "postgres://h/d": "postgres://h/d",
	} {
		c := target.SiteConfig{Dir: dir, Prompts: dir, Name: "sites"}
		got, _ := target.SiteOf(target.Spelled(target.OfSite(c)))
		if got.Dir != want || got.Prompts != want || got.Name != "sites" {
			t.Errorf("%q: %+v", dir, got)
		}
	}
}
