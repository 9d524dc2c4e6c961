package document

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Limits of Markdown, which as a whole has at most text.MaxComment bytes.
const (
	mdRows    = 1_000
	mdTable   = 30_000 // bytes of one table
	mdLines   = 20     // entries of a list on a line each
	mdNames   = 200
	mdReserve = 1_500 // bytes of what must stand at the end
	// maxMessage is how many characters of one message a transcript has.
	maxMessage = 2_000
)

// writer collects Markdown.
type writer struct{ strings.Builder }

// Markdown writes a document for a comment on a pull request. Sections and details that do not fit are named or
// counted.
func Markdown(w io.Writer, d *Document) error {
	b := &writer{}
	b.head(d)
	var left []string
	for i := range d.Sections {
		s := &d.Sections[i]
		if !s.has(InMarkdown) {
			continue
		}
		block := &writer{}
		block.section(s)
		if b.Len()+block.Len() > text.MaxComment-mdReserve {
			left = append(left, s.Title)
			continue
		}
		b.WriteString(block.String())
	}
	if len(left) > 0 {
		b.printf("Left out, since a comment has a limit: %s. The other reports have them.\n\n", md(strings.Join(left,
			", ")))
	}
	if err := b.details(d); err != nil {
		return err
	}
	if d.Signature != "" {
		b.printf("<sub>%s</sub>\n", md(d.Signature))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func md(s string) string { return text.Markdown(line(s)) }

// printf formats into the builder, which takes everything.
func (b *writer) printf(format string, args ...any) { fmt.Fprintf(b, format, args...) }

func (b *writer) head(d *Document) {
	if d.Warning != "" {
		b.printf("> ⚠️ **Warning:** %s\n\n", md(d.Warning))
	}
	switch {
	case d.Headline == "":
	case d.Unfinished:
		// The underline makes it a heading that begins with its first word.
		b.printf("%s\n---\n\n", md(text.Capital(d.Headline)))
	default:
		b.printf("## %s %s\n\n", emoji(d.Verdict), md(text.Capital(d.Headline)))
	}
	answer, named := d.lead()
	if bold := sentence(d.Answer); bold != "" {
		answer = strings.TrimSpace("**" + md(bold) + "** " + md(strings.TrimPrefix(answer, bold)))
	} else {
		answer = md(answer)
	}
	if answer != "" {
		b.printf("%s\n\n", answer)
	}
	for _, f := range named {
		b.printf("**%s** %s\n\n", md(strings.TrimSpace(label(f.Name))), md(f.Value))
	}
	for _, f := range d.About {
		if f.Value != "" {
			b.printf("- %s %s\n", md(f.Name), noted(f))
		}
	}
	if len(d.About) > 0 {
		b.WriteString("\n")
	}
	var facts []string
	for _, c := range d.Counts {
		facts = append(facts, c.Name+" **"+text.Count(c.N)+"**")
	}
	for _, f := range d.facts() {
		if f.Value != "" {
			facts = append(facts, md(f.Name)+" **"+md(f.Value)+"**"+strings.TrimPrefix(noted(f), md(f.Value)))
		}
	}
	if len(facts) > 0 {
		facts[0] = text.Capital(facts[0])
		b.printf("%s\n\n", strings.Join(facts, " · "))
	}
}

// noted returns a value with its note.
func noted(f Fact) string {
	if f.Note == "" {
		return md(f.Value)
	}
	return md(f.Value) + " (" + md(f.Note) + ")"
}

func (b *writer) section(s *Section) {
	if s.Fold {
		b.printf("<details><summary>%s</summary>\n\n", text.MarkdownHTML(line(s.Title)))
	} else {
		b.printf("### %s\n\n", md(s.Title))
	}
	b.content(s)
	if s.Fold {
		b.WriteString("</details>\n\n")
	}
}

func (b *writer) content(s *Section) {
	if s.Lead != "" {
		b.printf("%s\n\n", md(s.Lead))
	}
	for i := range s.Tables {
		b.table(&s.Tables[i])
	}
	for i := range s.Lists {
		b.list(&s.Lists[i])
	}
	for _, note := range s.Notes {
		b.printf("%s\n\n", md(note))
	}
	b.transcript(s.Transcript)
}

func (b *writer) table(t *Table) {
	columns := t.shown()
	if len(columns) == 0 {
		return
	}
	if t.Title != "" {
		b.printf("**%s**\n\n", md(t.Title))
	}
	head, rule := "|", "|"
	for _, c := range columns {
		head, rule = head+" "+md(t.Columns[c].Name)+" |", rule+map[bool]string{true: "--:|",
			false: "---|"}[t.Columns[c].Number]
	}
	b.printf("%s\n%s\n", strings.ReplaceAll(head, "  ", " "), rule)
	written, limit := 0, b.Len()+mdTable
	for i := range t.Rows {
		if written == mdRows || b.Len() > limit {
			break
		}
		row := "|"
		for n, c := range columns {
			row += " "
			if n == 0 && t.Rows[i].Level > 0 {
				row += strings.Repeat("– ", t.Rows[i].Level)
			}
			row += mdCell(&t.Rows[i].Cells[c]) + " |"
		}
		b.WriteString(row + "\n")
		written++
	}
	b.WriteString("\n")
	if left := t.Left + len(t.Rows) - written; left > 0 {
		b.printf("%s\n\n", sentence(md(more(left, t.Noun, t.Elsewhere))))
	}
}

func mdCell(c *Cell) string {
	shown := md(c.Text)
	switch {
	case c.Text == "":
	case c.Code:
		shown = code(c.Text)
	case c.Link != "":
		shown = "[" + shown + "](" + text.MarkdownAddress(c.Link) + ")"
	case c.Strong:
		shown = "**" + shown + "**"
	}
	if c.Verdict != "" {
		shown = strings.TrimSpace(emoji(c.Verdict) + " " + shown)
	}
	if c.Note != "" {
		shown = strings.TrimPrefix(shown+"<br><sub>"+md(c.Note)+"</sub>", "<br>")
	}
	return shown
}

// code returns a text as a code span, which also fits into a cell of a table.
func code(s string) string {
	s = strings.NewReplacer("`", "'", "|", `\|`).Replace(line(s))
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func (b *writer) list(l *List) {
	if l.empty() {
		return
	}
	title := text.Capital(md(l.Title))
	if title != "" {
		title = "**" + title + "**"
	}
	if l.Verdict != "" {
		title = emoji(l.Verdict) + " " + title
	}
	if l.Meaning != "" {
		title += " (" + md(l.Meaning) + ")"
	}
	if l.Count != "" {
		title += ": " + md(l.Count)
	}
	most := mdLines
	if l.isNames() {
		most = mdNames
	}
	shown := l.Entries[:min(len(l.Entries), most)]
	left := l.Left + len(l.Entries) - len(shown)
	if l.isNames() {
		var names []string
		for _, e := range shown {
			name := md(e.Text)
			if e.Link != "" && !strings.HasPrefix(e.Link, "#") { // Markdown has no places within the page
				name = "[" + name + "](" + text.MarkdownAddress(e.Link) + ")"
			}
			names = append(names, name)
		}
		if left > 0 {
			names = append(names, md(more(left, l.Noun, l.Elsewhere)))
		}
		b.printf("%s <details><summary>which</summary>%s</details>\n\n", title, strings.Join(names, ", "))
		return
	}
	if title != "" {
		b.printf("%s\n\n", title)
	}
	for i := range shown {
		b.WriteString("- " + mdEntry(&shown[i]) + "\n")
	}
	if left > 0 {
		b.printf("- %s\n", md(more(left, l.Noun, l.Elsewhere)))
	}
	if len(shown)+left > 0 {
		b.WriteString("\n")
	}
}

func mdEntry(e *Entry) string {
	parts := []string{md(e.Text)}
	switch {
	case e.Code != "" && e.Text != "":
		parts = []string{strings.TrimSpace(code(e.Code)+" "+md(e.Note)) + ":", md(e.Text)}
	case e.Code != "":
		parts = []string{code(e.Code), md(e.Note)}
	case e.Note != "":
		parts = []string{"**" + md(e.Text) + "**", md(e.Note)}
	}
	if e.Verdict != "" {
		parts = slices.Insert(parts, 0, emoji(e.Verdict))
	}
	if e.From != "" {
		parts = append(parts, "<sub>"+md(e.From)+"</sub>")
	}
	return strings.Join(parts, " ")
}

// details writes a folded block for each detail until the report is long enough.
func (b *writer) details(d *Document) error {
	if d.Details == nil {
		return nil
	}
	written := 0
	for s, err := range d.Details {
		if err != nil {
			return err
		}
		block := &writer{}
		block.detail(s)
		if b.Len()+block.Len() > text.MaxComment {
			break
		}
		b.WriteString(block.String())
		written++
	}
	if d.Rest != nil {
		if rest := d.Rest(written); rest != "" {
			b.printf("%s\n\n", sentence(rest))
		}
	}
	return nil
}

func (b *writer) detail(s *Section) {
	name := "<b>" + text.MarkdownHTML(text.OneLine(s.Title, 200)) + "</b>"
	if s.Link != "" {
		name = fmt.Sprintf(`<a href="%s">%s</a>`, html.EscapeString(s.Link), name)
	}
	if s.Verdict != "" {
		name = emoji(s.Verdict) + " " + name
	}
	b.printf("<details><summary>%s %s</summary>\n\n", name, text.MarkdownHTML(line(s.Side)))
	b.content(s)
	b.WriteString("</details>\n\n")
}

// transcript writes messages in a fence that no message can end.
func (b *writer) transcript(messages []chat.Message) {
	if len(messages) == 0 {
		return
	}
	lines := &strings.Builder{}
	for _, m := range messages {
		fmt.Fprintf(lines, "%s: %s", text.OneLine(string(m.Role), 20), text.Beginning(m.Content.String(), maxMessage))
		for _, call := range m.ToolCalls {
			fmt.Fprintf(lines, "\n[calls %s %s]", text.OneLine(call.Name, 100), text.OneLine(string(call.Args), 300))
		}
		lines.WriteString("\n")
	}
	fence := "```"
	for strings.Contains(lines.String(), fence) {
		fence += "`"
	}
	b.printf("%stext\n%s%s\n\n", fence, lines, fence)
}

// emoji returns the sign of a verdict that is visible in a table.
func emoji(v result.Verdict) string {
	switch v {
	case result.Pass:
		return "✅"
	case result.Fail:
		return "❌"
	case result.Error:
		return "⚠️"
	}
	return "➖"
}
