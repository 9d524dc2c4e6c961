package variants_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/reporttest"
)

// TestReplayHoldsNothingHostile looks at what a browser, a Markdown renderer and a terminal would see, whatever the
// texts say.
func TestReplayHoldsNothingHostile(t *testing.T) {
	page := replayText(t, ".html", hostileReplay(t))
	allowed := regexp.MustCompile(`^(!doctype|/?(html|head|meta|title|style|body|svg|symbol|path|use|rect|line|header|main|section|footer|nav|div|p|a|h[123]|span|b|i|bdi|small|code|time|dl|dt|dd|ul|ol|li|caption|details|summary|input|label|table|thead|tbody|tr|th|td))$`)
	acting := regexp.MustCompile(`(?i)\s(on\w+|style|srcset|src|formaction|action|srcdoc|xlink:href)\s*=|=[^"]|'`)
	for _, tag := range reporttest.Tags(page) {
		name, attributes, _ := strings.Cut(strings.Trim(tag, "<>/"), " ")
		if !allowed.MatchString(strings.ToLower(name)) {
			t.Errorf("unexpected tag %s", tag)
		}
		if acting.MatchString(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(" "+attributes, `""`)) {
			t.Errorf("attribute that acts: %s", tag)
		}
		for _, link := range regexp.MustCompile(`(?i)\shref\s*=\s*"([^"]*)"`).
			FindAllStringSubmatch(" "+attributes, -1) {
			if !regexp.MustCompile(`^#[a-z][A-Za-z0-9:._-]*$`).MatchString(link[1]) {
				t.Errorf("link to %q: %s", link[1], tag)
			}
		}
	}
	shown := `"'><script>alert(12)</script><img src=x onerror=alert(13)>javascript:alert(14)\x1b[31m\u202e`
	if !strings.Contains(html.UnescapeString(page), shown) || strings.Contains(page, "ZgotmplZ") {
		t.Error("the hostile text is not shown as it is")
	}

	md := replayText(t, ".md", hostileReplay(t))
	for _, tag := range reporttest.Tags(md) {
		if !regexp.MustCompile(`^</?(sub|br|details|summary|b)>$`).MatchString(tag) {
			t.Errorf("unexpected tag in Markdown: %s", tag)
		}
	}
	if strings.Contains(md, "@everyone") || strings.Contains(md, "`x`") && !strings.Contains(md, "\\`x\\`") {
		t.Error("Markdown mentions somebody, or holds code")
	}
	for _, kind := range []string{".html", ".md", ".txt"} {
		if strings.ContainsAny(replayText(t, kind, hostileReplay(t)), "\x1b\u202e") {
			t.Errorf("%s holds characters that act", kind)
		}
	}
}

func TestReplayHTMLPolicy(t *testing.T) {
	page := replayText(t, ".html", replayed(t))
	for _, want := range []string{"default-src 'none'; style-src 'sha256-", "base-uri 'none'; form-action 'none'"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, never := range []string{"<script", "@import", "url(", "<link", "<iframe", "unsafe-inline", " style=",
		"http:", "https:"} {
		if strings.Contains(strings.ToLower(page), never) {
			t.Errorf("the page holds %s", never)
		}
	}
}

// A session that left the log's path shows where, what is grey, what is missing and what was said by nobody.
func TestReplayHTMLTellsWhatHappened(t *testing.T) {
	r := replayed(t)
	candidate := &r.Sessions[1].Variations[2]
	candidate.Turns = append(candidate.Turns, candidate.Turns[4])
	simulated := &candidate.Turns[4]
	simulated.Invented, simulated.User = true, "I mean tomorrow"
	page := replayText(t, ".html", r)
	for _, want := range []string{
		"leaves the log’s path here", "Candidate · not supported", "turn 5 · simulated user",
		"same reply as in the log", "not in the log",
		"<b>missing</b>", "<b>wrong</b>", "<b>extra</b>", "≠ log",
		"Left out: <bdi>candidate: turn 1: the model did not answer within 30 s",
		"other path from turn 2", "<h1>Do not ship</h1>", "Specification’s rules: not passed", "69 of 118 sessions",
		"<b>alike</b>", "data: 3 equal, 1 wrong", "data: 2 equal, 2 missing, 1 extra", "supported 40.0%",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestReplayHTMLOfMuch(t *testing.T) {
	r := replayed(t)
	sample := r.Sessions[1]
	r.Sessions = nil
	for i := range 520 {
		p := sample
		p.SessionID = fmt.Sprintf("s%d-", i)
		p.Variations = append([]replay.Variation(nil), sample.Variations...)
		for j := range p.Variations {
			l := &p.Variations[j]
			l.Turns = append([]replay.VariationTurn(nil), l.Turns...)
			for k := range l.Turns {
				l.Turns[k].Bot = strings.Repeat("<long>", 250) + l.Name
			}
		}
		r.Sessions = append(r.Sessions, p)
	}
	page := replayText(t, ".html", r)
	if n := strings.Count(page, `class="test pair `); n != 500 || len(page) > 6<<20 {
		t.Errorf("%d sessions in %d MB", n, len(page)>>20)
	}
	for _, want := range []string{"Too much for this page", "500 of 520 sessions are on this page",
		"more characters</summary>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if md := replayText(t, ".md", r); len(md) > 65_000 {
		t.Errorf("%d bytes of Markdown", len(md))
	}
}

// A lane that is missing, or has no turns, leaves no hole.
func TestReplayOfBrokenSessions(t *testing.T) {
	for name, spoil := range map[string]func(*replay.Pair){
		"no lanes":       func(p *replay.Pair) { p.Variations = nil },
		"no log":         func(p *replay.Pair) { p.Variations = p.Variations[1:] },
		"no turns":       func(p *replay.Pair) { p.Variations[0].Turns, p.Variations[2].Turns = nil, nil },
		"no metrics":     func(p *replay.Pair) { p.Variations[2].Metrics = nil },
		"far divergence": func(p *replay.Pair) { p.Variations[2].Metrics.FirstDivergence = new(99) },
	} {
		r := replayed(t)
		spoil(&r.Sessions[1])
		for kind := range replayWriters {
			if text := replayText(t, kind, r); text == "" {
				t.Errorf("%s: %s is empty", name, kind)
			}
		}
	}
}
