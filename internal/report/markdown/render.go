package markdown

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// messages parses CommonMark with tables and strikethrough. Without parsers for HTML, addresses and reference
// definitions, these stay text, and no word of a message disappears.
var messages = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewEmphasisParser(), 500),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
	),
	parser.WithParagraphTransformers(util.Prioritized(narrowTables{extension.NewTableParagraphTransformer()}, 200)),
)

func parse(s string) ast.Node { return messages.Parse(text.NewReader([]byte(s))) }

// The parser fills each row of a table up to the width of the header. These bound the columns of a table, and its lines
// times the columns of its widest one.
const (
	maxColumns = 50
	maxCells   = 10_000
)

// narrowTables leaves paragraphs with wider rows or with more cells as they are.
type narrowTables struct{ parser.ParagraphTransformer }

func (t narrowTables) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	columns := 0
	for _, line := range node.Lines().Sliced(0, node.Lines().Len()) {
		columns = max(columns, bytes.Count(line.Value(reader.Source()), []byte("|")))
	}
	if columns > maxColumns || columns*node.Lines().Len() > maxCells {
		return
	}
	t.ParagraphTransformer.Transform(node, reader, pc)
}

// The parser takes time in the square of the inline signs in a paragraph and of the depth of blocks. At these bounds
// that is 25 ms.
const (
	maxSigns  = 2_000 // of a text
	maxIndent = 200   // bytes of blanks, bullets, numbers and quotation signs before a line's words
	maxDepth  = 24    // elements within each other; deeper ones are left out, and their text stays
)

// bounded reports whether a text can be parsed in little time.
func bounded(s string) bool {
	signs := 0
	for line := range strings.Lines(s) {
		if len(line)-len(strings.TrimLeft(line, " \t>-+*0123456789.)")) > maxIndent {
			return false
		}
		for _, c := range []byte(line) {
			if strings.IndexByte("*_`~[", c) >= 0 {
				signs++
			}
		}
	}
	return signs <= maxSigns
}

func (w *writer) children(n ast.Node, depth int) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c, depth)
	}
}

// element writes a node's children in an element.
func (w *writer) element(name string, n ast.Node, depth int) {
	if depth >= maxDepth {
		w.children(n, depth)
		return
	}
	w.tag("<" + name + ">")
	w.children(n, depth+1)
	name, _, _ = strings.Cut(name, " ")
	w.tag("</" + name + ">")
}

// elements are the names of the elements for nodes that are nothing but their children.
var elements = map[ast.NodeKind]string{
	ast.KindHeading: "h3", ast.KindBlockquote: "blockquote", ast.KindListItem: "li", ast.KindCodeSpan: "code",
	tables.KindStrikethrough: "del", tables.KindTable: "table", tables.KindTableRow: "tr",
}

func (w *writer) node(n ast.Node, depth int) {
	switch n := n.(type) {
	case *ast.Text:
		w.inline(n)
	case *ast.Paragraph:
		if n.PreviousSibling() == nil && n.Parent().Kind() == ast.KindListItem {
			w.children(n, depth) // also in a list with blank lines between its items
		} else {
			w.element("p", n, depth)
		}
	case *ast.ThematicBreak:
		w.tag("<hr>")
	case *ast.Emphasis:
		w.element([]string{"em", "strong"}[n.Level-1], n, depth)
	case *ast.Link:
		w.children(n, depth)
		w.address(n, n.Destination, n.Title)
	case *ast.Image:
		w.children(n, depth)
		w.address(n, n.Destination, n.Title)
	case *ast.List:
		name := "ul"
		if n.IsOrdered() {
			if name = "ol"; n.Start != 1 {
				name = fmt.Sprintf(`ol start="%d"`, n.Start)
			}
		}
		w.element(name, n, depth)
	case *ast.CodeBlock:
		w.code(nil, n.Lines())
	case *ast.FencedCodeBlock:
		w.code(n.Info, n.Lines())
	case *tables.TableHeader:
		w.tag("<thead>")
		w.element("tr", n, depth)
		w.tag("</thead>")
	case *tables.TableCell:
		w.cell(n, depth)
	default:
		if name, ok := elements[n.Kind()]; ok {
			w.element(name, n, depth)
		} else {
			w.children(n, depth)
		}
	}
}

// inline writes text without the backslashes before punctuation, and its line break.
func (w *writer) inline(n *ast.Text) {
	from, to := n.Segment.Start, n.Segment.Stop
	for i := from; i+1 < to && !n.IsRaw(); i++ {
		if w.source[i] == '\\' && util.IsPunct(w.source[i+1]) {
			w.text(from, i)
			i++
			from = i
		}
	}
	w.text(from, to)
	if n.SoftLineBreak() || n.HardLineBreak() {
		w.tag("<br>")
	}
}

// address writes the address of a link and its title behind the link's words, unless they are the address.
func (w *writer) address(n ast.Node, destination, title []byte) {
	label, address := strings.TrimPrefix(w.source[n.Pos():], "!"), string(destination)
	if len(title) == 0 && (address == "" || strings.HasPrefix(label, "["+address+"]")) {
		return
	}
	if n.HasChildren() {
		w.words(" ")
	}
	w.words("(")
	w.following(address)
	if len(title) > 0 {
		w.words(` "`)
		w.following(string(title))
		w.words(`"`)
	}
	w.words(")")
}

// following writes a text that stands soon after what was written last, with its marks.
func (w *writer) following(s string) {
	if i := strings.Index(w.source[w.end:], s); i >= 0 {
		w.text(w.end+i, w.end+i+len(s))
	} else {
		w.words(s)
	}
}

// code writes lines as they are, below the language that a fence names.
func (w *writer) code(language *ast.Text, lines *text.Segments) {
	w.tag("<pre>")
	if language != nil {
		w.tag("<em>")
		w.text(language.Segment.Start, language.Segment.Stop)
		w.tag("</em>")
		w.words("\n")
	}
	w.tag("<code>")
	for i, line := range lines.Sliced(0, lines.Len()) {
		if i > 0 {
			w.words("\n")
		}
		if line.Padding > 0 {
			w.words(strings.Repeat(" ", line.Padding))
		}
		w.text(line.Start, line.Start+len(strings.TrimRight(w.source[line.Start:line.Stop], "\r\n")))
	}
	w.tag("</code></pre>")
}

// cell writes a cell of a table. The last one of a row has also what the row has more, so that nothing is lost.
func (w *writer) cell(n *tables.TableCell, depth int) {
	name := "td"
	if n.Parent().Kind() == tables.KindTableHeader {
		name = "th"
	}
	w.tag("<" + name + ">")
	w.children(n, depth)
	if n.NextSibling() == nil && n.Lines().Len() > 0 {
		from := n.Lines().At(0).Stop
		rest, _, _ := strings.Cut(w.source[from:], "\n")
		if more := strings.Trim(rest, "| \t\r"); more != "" {
			w.words(" | ")
			from += strings.Index(rest, more)
			w.text(from, from+len(more))
		}
	}
	w.tag("</" + name + ">")
}
