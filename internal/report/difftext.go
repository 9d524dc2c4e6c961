package report

import (
	"fmt"
	"io"
	"strings"

	"rehearse/internal/report/page"
	"rehearse/internal/report/terminal"
	"rehearse/internal/text"
)

// maxChanges is how many tests of each list a rendering names unless it is verbose.
const maxChanges = 20

// Text writes the comparison for a terminal.
func (d *Diff) Text(w io.Writer, o TextOptions) error {
	p := paint{terminal.New(w, o.Width, o.Colour)}
	if o.Quiet {
		p.summary(d)
	} else {
		d.text(p, o.Verbose)
	}
	return p.Flush()
}

func (p paint) summary(d *Diff) {
	against := ""
	if d.Baseline != "" {
		against = "Against " + text.OneLine(d.Baseline, 60) + ": "
	}
	p.Wrap("", terminal.Bold, against+d.headline())
	if drift := d.drift(); drift != "" {
		p.Wrap("  ", "", drift)
	}
}

func (d *Diff) text(p paint, all bool) {
	p.summary(d)
	for _, list := range d.lists() {
		if len(list.changes) == 0 {
			continue
		}
		sign, colour := terminal.Mark(list.verdict)
		p.Line("  ", p.In(terminal.Bold, list.name))
		for i, c := range list.changes {
			if i == maxChanges && !all {
				p.Line("    … and ", text.Count(len(list.changes)-i), " more")
				break
			}
			p.Wrap("    "+p.In(colour, sign)+" ", "", text.OneLine(c.TestID, 200)+"  "+c.Change())
			p.Wrap("      ", terminal.Dim, text.OneLine(strings.Trim(c.Suite+" · "+c.Target, " ·"), 300))
		}
	}
	if d.Unchanged > 0 {
		p.Line("  ", p.In(terminal.Dim, fmt.Sprintf("%s as good as before", text.Plural(d.Unchanged, "test"))))
	}
}

// Markdown writes the comparison for a comment on a pull request.
func (d *Diff) Markdown(w io.Writer) error {
	b := &strings.Builder{}
	b.WriteString("## Compared with the baseline\n\n")
	d.markdown(b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *Diff) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "**%s**", text.Capital(d.headline()))
	if d.Baseline != "" {
		fmt.Fprintf(b, " since %s", text.Markdown(text.OneLine(d.Baseline, 60)))
	}
	b.WriteString(".")
	if drift := d.drift(); drift != "" {
		fmt.Fprintf(b, " %s.", text.Capital(drift))
	}
	if d.Unchanged > 0 {
		fmt.Fprintf(b, " %s as good as before.", text.Plural(d.Unchanged, "test"))
	}
	b.WriteString("\n\n")
	named := false
	for _, list := range d.lists() {
		for i, c := range list.changes {
			if !named {
				b.WriteString("| | Test | Change | Failure |\n|---|---|---|---|\n")
				named = true
			}
			if i == maxChanges {
				fmt.Fprintf(b, "| | … and %s more | %s | |\n", text.Count(len(list.changes)-i), list.name)
				break
			}
			fmt.Fprintf(b, "| %s %s | %s | %s | %s |\n",
				page.Emoji(list.verdict), list.name, testCell(id{c.Suite, c.TestID, c.Target}), c.Change(), codeCell(c.Codes))
		}
	}
	if named {
		b.WriteString("\n")
	}
}
