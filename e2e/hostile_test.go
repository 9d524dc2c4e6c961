package e2e

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// hostile is an agent whose replies try to become more than text.
const hostile = `rules:
  - when: {user: "markup"}
    reply: |
      <script>window.taken = 1</script><img src="http://outside.example/x.png" onerror="window.taken = 1"><svg onload="window.taken = 1"></svg>
      [press](javascript:window.taken=1) ![picture](http://outside.example/y.png) <iframe src="http://outside.example/"></iframe>
      <form action="http://outside.example/"><button>Send</button></form> <style>body { display: none }</style> <base href="http://outside.example/">
  - when: {user: "direction"}
    reply: "\u202etxet desrever\u202c and \u2066more\u2069, \u0007 a bell, \u0000 nothing"
  - when: {user: "long"}
    reply: "` + "${word}" + `"
default: {reply: "Yes."}
`

// TestHostile opens conversations that were written to break the pages: nothing of them runs, loads, leads away, or
// makes the page wider.
func TestHostile(t *testing.T) {
	word := strings.Repeat("W", 4000)
	write(t, "hostile/agent.yaml", strings.ReplaceAll(hostile, "${word}", word))
	write(t, "hostile/suite.yaml", `name: "<b onmouseover=window.taken=1>suite</b>`+word[:150]+`"
tests:
  - {id: "<img src=x onerror=window.taken=1>", input: "some markup", tags: ["<script>window.taken=1</script>"], assertions: [{type: contains, value: "</script><script>window.taken=1</script>"}]}
  - {id: direction, input: direction, assertions: [{type: contains, value: "\u202eno"}]}
  - {id: `+"long-"+word[:200]+`, input: "a long word", assertions: [{type: not_contains, value: WWWW, name: long-`+
		word[:300]+`}]}
`)
	out := filepath.Join(site.dir, ".rehearse", "runs", "hostile")
	write(t, "hostile/calm.yaml", "default: {reply: Yes.}")
	rehearse(t, 1, "run", "hostile/suite.yaml", "--target", "scripted:hostile/calm.yaml", "--quiet", "--out",
		".rehearse/runs/calm")
	rehearse(t, 1, "run", "hostile/suite.yaml", "--target", "scripted:hostile/agent.yaml", "--quiet", "--out",
		".rehearse/runs/hostile")
	rehearse(t, 1, "run", "hostile/suite.yaml", "--target", "scripted:hostile/agent.yaml", "--quiet", "--out",
		".rehearse/runs/again", "--baseline", ".rehearse/runs/calm", "--ignore-target")
	pages := []string{
		"/runs", "/search?q=W*", "/runs/latest", "/runs/latest/matrix",
		"/compare?a=latest&b=latest", "file://" + filepath.ToSlash(out) + "/report.html",
		"file://" + filepath.ToSlash(filepath.Join(filepath.Dir(out), "again")) + "/report.html",
	}
	for _, id := range []string{"<img src=x onerror=window.taken=1>", "direction", "long-" + word[:200]} {
		pages = append(pages, "/runs/latest/tests/"+url.PathEscape(id),
			"/runs/latest/tests/"+url.PathEscape(id)+"?view=raw")
	}
	for _, l := range []look{{width: 1280}, {width: 400, dark: true}} {
		for i, at := range pages {
			name, _, _ := strings.Cut(at, "W")
			t.Run(l.String()+"/"+filepath.Base(name), func(t *testing.T) {
				b := open(t, l)
				b.to(at)
				b.fits()
				b.accessible()
				if value[int](b, `window.taken || 0`) != 0 {
					t.Error("a text of the conversation has run")
				}
				if away := value[string](b,
					`[...document.querySelectorAll("[href], [src], [action]")].map((e) => e.href || e.src || e.action)
					.filter((to) => typeof to == "string" && !to.startsWith(location.origin) && !to.startsWith("file:") && !to.startsWith("data:")).join(" ")`); away != "" {
					t.Errorf("the page leads to %s", away)
				}
				if i == 7 {
					b.keep("hostile-"+l.String(), true)
				}
			})
		}
	}
}
