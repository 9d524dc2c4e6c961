package document

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed document.html.tmpl
var pageSource string

//go:embed document.css
var pageStyle string

// Limits of a list on a page: names, and entries on a line each.
const (
	pageNames = 25_000
	pageLines = 200
	openNames = 24 // that are shown without a click
)

// ParsePage parses the template of a document's page, with what its Body needs: templates, their style and functions.
func ParsePage(style, source string, more ...template.FuncMap) *template.Template {
	more = append(more, template.FuncMap{
		"page":  func(s Section) bool { return s.has(OnPage) },
		"shown": shownOf, "number": func(t Table, column int) bool { return t.Columns[column].Number },
		"more": moreLeft,
	})
	return Parse(pageStyle+style, pageSource+source, more...)
}

// HTML writes a document as one self-contained page with a template that ParsePage made: no script, nothing from the
// network, every text escaped.
func HTML(w io.Writer, d *Document, pieces *template.Template) error {
	if err := pieces.ExecuteTemplate(w, "document-top", d); err != nil {
		return err
	}
	if d.Body != nil {
		if err := d.Body(w); err != nil {
			return err
		}
	}
	return pieces.ExecuteTemplate(w, "document-bottom", d)
}

// shownList is a list as far as a page shows it.
type shownList struct {
	List
	Names, Unfolded bool
}

func shownOf(l List) shownList {
	s := shownList{List: l, Names: l.isNames()}
	most := pageLines
	if s.Names {
		most = pageNames
	}
	shown := min(len(l.Entries), most)
	s.Unfolded = l.Open || s.Names && len(l.Entries) <= openNames
	s.Entries, s.Left = l.Entries[:shown], l.Left+len(l.Entries)-shown
	return s
}

func moreLeft(left int, noun, elsewhere string) string {
	if left <= 0 {
		return ""
	}
	return sentence(more(left, noun, elsewhere))
}
