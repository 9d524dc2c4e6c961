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

// The turns are most of a page. They are written here and not by templates, which take five times as long. Every text
// that is not template.HTML passes through escape, attributes have double quotes, and no address but an image of
// imageOf is written.

// Functions are the parts of a turn that the templates use, beside the functions of the page.
func Functions() template.FuncMap {
	return template.FuncMap{
		"rounded":  rounded,
		"message":  func(m Message) template.HTML { return written(func(b *pageWriter) { b.message(&m) }) },
		"fault":    func(f result.Failure) template.HTML { return written(func(b *pageWriter) { b.fault(&f) }) },
		"graded":   func(i Item) template.HTML { return written(func(b *pageWriter) { b.graded(&i) }) },
		"judged":   func(x []Exchange) template.HTML { return written(func(b *pageWriter) { b.judged(x) }) },
		"exchange": func(t Turn) template.HTML { return written(func(b *pageWriter) { b.exchange(&t) }) },
	}
}

func written(by func(*pageWriter)) template.HTML {
	var b pageWriter
	by(&b)
	return template.HTML(b.String()) //nolint:gosec // escaped when written
}

// escape returns a text as it is written between tags and in attributes.
func escape(s string) string { return html.EscapeString(s) }

// pageWriter is HTML that grows.
type pageWriter struct{ strings.Builder }

func (b *pageWriter) write(pieces ...string) {
	for _, s := range pieces {
		b.WriteString(s)
	}
}

// left writes how many things of a kind the page leaves out; nothing for 0.
func (b *pageWriter) left(n int, what string) {
	if n > 0 {
		b.write(`<p class="left">`, text.Plural(n, what), ` not shown here; results.jsonl has every one.</p>`)
	}
}

// exchange writes a turn with its grades.
func (b *pageWriter) exchange(t *Turn) {
	verdict, number := escape(string(t.Verdict)), strconv.Itoa(t.N)
	b.write(`<section class="turn `, verdict, ` r`, strconv.Itoa(t.Row), `" data-turn="`, number, `" id="`,
		escape(t.ID), `" data-verdict="`, verdict, `" data-score="`, escape(t.Score), `" tabindex="-1">`,
		"\n<h2>Turn ", number,
		` <span class="score `, verdict, `">`)
	if t.Verdict != "" {
		b.write(string(document.Icon(t.Verdict)), " ", escape(rounded(t.Score)))
	}
	b.write("</span></h2>\n<div class=\"sides\">\n<div class=\"talk\">")
	if !t.User.Silent {
		b.message(&t.User)
	}
	for i := range t.Calls {
		b.call(&t.Calls[i])
	}
	b.left(t.CallsLeft, "more call")
	switch {
	case t.NoReply:
		b.write(`<p class="none error">No reply</p>`)
	case !t.Reply.Silent:
		b.message(&t.Reply)
	case !t.User.Silent:
		b.write(`<p class="none">The reply is empty</p>`)
	}
	b.write("\n</div>\n<div class=\"grades\">")
	if t.Item != nil {
		b.graded(t.Item)
	}
	b.judged(t.Judge)
	b.write("</div>\n</div>\n")
	b.changes("state", t.State, t.StateLeft)
	b.changes("facts", t.Learned, t.LearnedLeft)
	if t.StateJSON != "" {
		b.write(`<details class="fold"><summary>the whole state</summary>`)
		b.verbatim("", "state", t.StateJSON)
		b.write("</details>\n")
	}
	if len(t.Facts) > 0 {
		b.write(`<p class="record">`)
		for _, f := range t.Facts {
			b.write(`<span>`, escape(f.Name), " ", escape(f.Value), `</span>`)
		}
		b.write("</p>\n")
	}
	b.write("</section>\n")
}

// call writes a use of a tool.
func (b *pageWriter) call(c *ToolCall) {
	name := escape(c.Name)
	b.write(`<div class="call" data-tool-call="`, name, `"><span class="who">tool</span> <b>`, name, `</b>`)
	if c.Took != "" {
		b.write(` <small>`, escape(c.Took), `</small>`)
	}
	if c.Args != "" {
		b.verbatim(` class="args"`, "arguments", c.Args)
	}
	if c.Result != "" {
		b.write(`<details class="fold" open><summary>result</summary>`)
		b.verbatim("", "result", c.Result)
		b.write(`</details>`)
	}
	b.write(`</div>`)
}

// verbatim writes a text with its lines, in a box of its own that scrolls.
func (b *pageWriter) verbatim(attributes, label, s string) {
	b.write(`<pre`, attributes, ` tabindex="0" role="group" aria-label="`, label, `">`, escape(s), `</pre>`)
}

// fault writes a failure.
func (b *pageWriter) fault(f *result.Failure) {
	code := escape(string(f.Code))
	b.write(`<p class="failure" data-failure data-code="`, code, `"><code>`, code, `</code>`)
	if f.Source != "" {
		b.write(` <small>`, escape(f.Source), `</small>`)
	}
	b.write(` <bdi>`, escape(f.Message), `</bdi></p>`)
}

// graded writes what was found of an item.
func (b *pageWriter) graded(i *Item) {
	b.write("\n")
	for n := range i.Failures {
		b.fault(&i.Failures[n])
	}
	b.left(i.Further, "more failure")
	switch {
	case len(i.Assertions) > 0:
		b.checks(i.Assertions)
	case i.Verdict == result.Pass:
		b.write(`<p class="none">Nothing was asserted</p>`)
	}
	b.left(i.Left, "more assertion")
	b.write("\n")
}

// judged writes what judges were sent and what they answered.
func (b *pageWriter) judged(exchanges []Exchange) {
	for _, x := range exchanges {
		b.write(`<details class="fold" data-judge><summary>prompt and answer of the judge</summary>`)
		if x.Prompt != "" {
			b.verbatim(` data-judge-prompt`, "prompt of the judge", x.Prompt)
		}
		if x.Reply != "" {
			b.verbatim(` data-judge-reply`, "answer of the judge", x.Reply)
		}
		b.write(`</details>`)
	}
}

// changes writes a table of what a turn changed of something.
func (b *pageWriter) changes(of string, rows []Change, left int) {
	if len(rows) == 0 {
		return
	}
	b.write(`<div class="scroll" tabindex="0" role="group" aria-label="Changed `, of,
		`"><table class="delta" data-delta="`, of, `"><caption>`, of, ` changed</caption><thead><tr>`,
		`<th scope="col">Path</th><th scope="col">Change</th>`,
		`<th scope="col">Before</th><th scope="col">After</th></tr></thead><tbody>`, "\n")
	for _, r := range rows {
		path, change := escape(r.Path), escape(r.Change)
		b.write(`<tr data-path="`, path, `" data-change="`, change, `"><th scope="row"><bdi>`, path, `</bdi></th><td>`,
			change, `</td><td><bdi>`, escape(r.Old), `</bdi></td><td><bdi>`, escape(r.New), "</bdi></td></tr>\n")
	}
	b.write(`</tbody></table></div>`)
	b.left(left, "more change")
	b.write("\n")
}

// message writes a message as a bubble.
func (b *pageWriter) message(m *Message) {
	class := "other"
	if m.Role == "user" || m.Role == "assistant" {
		class = m.Role
	}
	role := escape(m.Role)
	b.write(`<div class="bubble `, class, `" data-message data-role="`, role, `"><span class="who">`, role,
		`</span>`)
	for _, p := range m.Parts {
		if p.Image != "" {
			b.write(`<img src="`, escape(string(p.Image)), `" alt="an image in the message">`)
			continue
		}
		b.write(`<div class="prose" dir="auto">`, string(p.Head), `</div>`)
		if p.Plain != "" {
			b.fold("as written", p.Plain)
		}
		if p.Folded != "" {
			b.fold(text.Plural(p.FoldedLen, "more character"), p.Folded)
		}
		b.left(p.Left, "more character")
	}
	b.write(`</div>`)
}

// fold writes characters that a reader unfolds.
func (b *pageWriter) fold(summary string, inside template.HTML) {
	b.write(`<details class="fold"><summary>`, summary, `</summary><div class="prose raw" dir="auto">`, string(inside),
		`</div></details>`)
}

// checks writes the list of an item's checks.
func (b *pageWriter) checks(checks []result.Assertion) {
	b.write(`<ul>`)
	for i := range checks {
		a := &checks[i]
		verdict := document.CheckVerdict(a.Passed)
		b.write(`<li class="`, string(verdict), `" data-grade data-grader="`, escape(a.Grader), `" data-passed="`,
			strconv.FormatBool(a.Passed), `"`)
		if a.Score != nil {
			b.write(` data-score="`, number(*a.Score), `"`)
		}
		b.write(`>`, string(document.Icon(verdict)), `<span dir="auto">`, escape(a.Text), `</span>`)
		if a.Grader != "" {
			b.write(` <small class="grader">`, escape(a.Grader), `</small>`)
		}
		b.quote(a.Evidence, 2000)
		if len(a.Voters) > 0 {
			b.write(`<details class="fold"><summary>`, text.Plural(len(a.Voters), "vote"),
				`</summary><ul class="votes">`)
			for _, v := range a.Voters {
				b.write(`<li><b>`, escape(text.OneLine(v.Model, 80)), `</b> `)
				if v.Score != nil {
					b.write(text.Score(*v.Score, 2))
				} else {
					b.write(`no vote: `, escape(text.OneLine(v.Missing, 200)))
				}
				b.quote(v.Reasoning, 1000)
				b.write(`</li>`)
			}
			b.write(`</ul></details>`)
		}
		b.write(`</li>`)
	}
	b.write(`</ul>`)
}

// quote writes a text of a judge; nothing for an empty one.
func (b *pageWriter) quote(s string, most int) {
	if s != "" {
		b.write(`<q dir="auto">`, escape(text.OneLine(s, most)), `</q>`)
	}
}
