package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/page"
	"github.com/rehearse-dev/rehearse/internal/report/terminal"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxChanges is how many tests of each list a rendering names.
const maxChanges = 20

// ComparisonText writes a comparison for a terminal; quiet leaves out the tests.
func ComparisonText(w io.Writer, c *result.Comparison, o TextOptions) error {
	p := paint{Printer: terminal.New(w, o.Width, o.Colour)}
	p.comparison(c, "", o.Quiet)
	return p.Flush()
}

// comparison writes what changed; gate says what it means for the exit code, if it does.
func (p paint) comparison(c *result.Comparison, gate string, quiet bool) {
	against := ""
	if c.Baseline.RunID != "" {
		against = "Against " + text.OneLine(c.Baseline.RunID, 60) + ": "
	}
	p.Wrap("", terminal.Bold, against+changes(c))
	for _, remark := range remarks(c, gate) {
		p.Wrap("  ", "", text.OneLine(remark, 500))
	}
	if quiet {
		return
	}
	for _, list := range listsOf(c) {
		if len(list.changes) == 0 {
			continue
		}
		sign, colour := terminal.Mark(list.verdict)
		p.Line("  ", p.In(terminal.Bold, list.name))
		for i, x := range list.changes {
			if i == maxChanges {
				p.Line("    … and ", text.Count(len(list.changes)-i), " more")
				break
			}
			p.Wrap("    "+p.In(colour, sign)+" ", "", text.OneLine(x.TestID, 200)+"  "+text.OneLine(changed(x), 200))
			p.Wrap("      ", terminal.Dim, text.OneLine(strings.Trim(x.Suite+" · "+x.Target, " ·"), 300))
		}
	}
	if n := len(c.Unchanged); n > 0 {
		p.Line("  ", p.In(terminal.Dim, fmt.Sprintf("%s as good as before", text.Plural(n, "test"))))
	}
}

// ComparisonMarkdown writes a comparison for a comment on a pull request.
func ComparisonMarkdown(w io.Writer, c *result.Comparison) error {
	b := &strings.Builder{}
	b.WriteString("## Compared with the baseline\n\n")
	mdComparison(b, c, "")
	_, err := io.WriteString(w, b.String())
	return err
}

func mdComparison(b *strings.Builder, c *result.Comparison, gate string) {
	fmt.Fprintf(b, "**%s**", text.Capital(changes(c)))
	if c.Baseline.RunID != "" {
		fmt.Fprintf(b, " since %s", text.Markdown(text.OneLine(c.Baseline.RunID, 60)))
	}
	b.WriteString(".")
	for _, remark := range remarks(c, gate) {
		fmt.Fprintf(b, " %s.", text.Markdown(text.Capital(text.OneLine(remark, 500))))
	}
	if n := len(c.Unchanged); n > 0 {
		fmt.Fprintf(b, " %s as good as before.", text.Plural(n, "test"))
	}
	b.WriteString("\n\n")
	named := false
	for _, list := range listsOf(c) {
		for i, x := range list.changes {
			if !named {
				b.WriteString("| | Test | Change | Failure |\n|---|---|---|---|\n")
				named = true
			}
			if i == maxChanges {
				fmt.Fprintf(b, "| | … and %s more | %s | |\n", text.Count(len(list.changes)-i), list.name)
				break
			}
			fmt.Fprintf(b, "| %s %s | %s | %s | %s |\n", page.Emoji(list.verdict), list.name,
				testCell(id{x.Suite, x.TestID, x.Target}), text.Markdown(text.OneLine(changed(x), 200)), codeCell(x.Codes))
		}
	}
	if named {
		b.WriteString("\n")
	}
}
