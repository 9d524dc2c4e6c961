package frame

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/draw"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
)

//go:embed assets/view.css
var ownStyle string

//go:embed assets/page.js
var script string

//go:embed frame.html.tmpl
var source string

// asset is a file that pages load.
type asset struct{ kind, text string }

// keep makes a text an asset and returns its address, which names its content.
func (f *Frame) keep(name, kind, text string) string {
	sum := sha256.Sum256([]byte(text))
	at := "/assets/" + hex.EncodeToString(sum[:8]) + "/" + name
	f.assets[at] = asset{kind, text}
	return at
}

// asset answers for an asset, and reports whether it was one.
func (f *Frame) asset(w http.ResponseWriter, r *http.Request) bool {
	found, ok := f.assets[r.URL.Path]
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	w.Header().Set("Content-Type", found.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write([]byte(found.text)) // whoever has gone needs no style
	return true
}

// styleSheet is that of the reports and what only these pages need.
func styleSheet() string {
	var rows strings.Builder
	for i := range maxRows {
		fmt.Fprintf(&rows, ".beside .r%d { grid-row: %d; }\n", i+1, i+1)
	}
	return document.Style() + transcript.Style + draw.StyleSheet() + ownStyle + rows.String()
}

// maxRows is how many rows conversations have that stand side by side: no style may stand in a page itself.
const maxRows = 301

// parse parses the frame's templates with those of the pages.
func parse(pages string, functions template.FuncMap) *template.Template {
	return document.Parse("", source+transcript.Source+pages, template.FuncMap{"join": strings.Join},
		transcript.Functions(), functions)
}
