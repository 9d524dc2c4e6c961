package transcript

import (
	"html"
	"html/template"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Messages and checks are most of a page. They are written here and not by templates, which take five times as long.
// Every text that is not template.HTML passes through escape, attributes stand in double quotes, and no address but an
// image of imageOf is written.

// escape returns a text as it stands between tags and in attributes.
func escape(s string) string { return html.EscapeString(s) }

// messageHTML returns a message as a bubble.
func messageHTML(m Message) template.HTML {
	var b strings.Builder
	class := "other"
	if m.Role == "user" || m.Role == "assistant" {
		class = m.Role
	}
	role := escape(m.Role)
	write(&b, `<div class="bubble `, class, `" data-message data-role="`, role, `"><span class="who">`, role,
		`</span>`)
	for _, p := range m.Parts {
		if p.Image != "" {
			write(&b, `<img src="`, escape(string(p.Image)), `" alt="an image in the message">`)
			continue
		}
		write(&b, `<div class="prose" dir="auto">`, string(p.Head), `</div>`)
		if p.Plain != "" {
			fold(&b, "as written", p.Plain)
		}
		if p.Folded != "" {
			fold(&b, text.Plural(p.FoldedLen, "more character"), p.Folded)
		}
		if p.Left > 0 {
			write(&b, `<p class="left">`, text.Plural(p.Left, "more character"),
				` not shown here; results.jsonl has every one.</p>`)
		}
	}
	b.WriteString(`</div>`)
	return template.HTML(b.String()) //nolint:gosec // escaped above
}

// fold writes characters that a reader unfolds.
func fold(b *strings.Builder, summary string, inside template.HTML) {
	write(b, `<details class="fold"><summary>`, summary, `</summary><div class="prose raw" dir="auto">`, string(inside),
		`</div></details>`)
}

// checksHTML returns the list of an item's checks.
func checksHTML(checks []result.Assertion) template.HTML {
	var b strings.Builder
	b.WriteString(`<ul>`)
	for i := range checks {
		a := &checks[i]
		verdict := document.CheckVerdict(a.Passed)
		write(&b, `<li class="`, string(verdict), `" data-grade data-grader="`, escape(a.Grader), `" data-passed="`,
			strconv.FormatBool(a.Passed), `"`)
		if a.Score != nil {
			write(&b, ` data-score="`, number(*a.Score), `"`)
		}
		write(&b, `>`, string(document.Icon(verdict)), `<span dir="auto">`, escape(a.Text), `</span>`)
		if a.Grader != "" {
			write(&b, ` <small class="grader">`, escape(a.Grader), `</small>`)
		}
		quote(&b, a.Evidence, 2000)
		if len(a.Voters) > 0 {
			write(&b, `<details class="fold"><summary>`, text.Plural(len(a.Voters), "vote"),
				`</summary><ul class="votes">`)
			for _, v := range a.Voters {
				write(&b, `<li><b>`, escape(text.OneLine(v.Model, 80)), `</b> `)
				if v.Score != nil {
					b.WriteString(text.Score(*v.Score, 2))
				} else {
					write(&b, `no vote: `, escape(text.OneLine(v.Missing, 200)))
				}
				quote(&b, v.Reasoning, 1000)
				b.WriteString(`</li>`)
			}
			b.WriteString(`</ul></details>`)
		}
		b.WriteString(`</li>`)
	}
	b.WriteString(`</ul>`)
	return template.HTML(b.String()) //nolint:gosec // escaped above
}

// quote writes a text of a judge; nothing for an empty one.
func quote(b *strings.Builder, s string, most int) {
	if s != "" {
		write(b, `<q dir="auto">`, escape(text.OneLine(s, most)), `</q>`)
	}
}

func write(b *strings.Builder, pieces ...string) {
	for _, s := range pieces {
		b.WriteString(s)
	}
}
