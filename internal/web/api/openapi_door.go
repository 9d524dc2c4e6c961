package api

import (
	"bytes"
	_ "embed" // the page
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
)

//go:embed assets/docs/page.html
var docsTemplate string

// docs serves the document of an API, and a page that shows it.
type docs struct {
	document []byte
	page     []byte
}

// newDocs describes the routes of tables, and its own.
func newDocs(version string, tables ...table) (*docs, error) {
	d := &docs{}
	whole, err := document(version, false, append(tables, d.table())...)
	if err != nil {
		return nil, err
	}
	if d.document, err = json.Marshal(whole); err != nil {
		return nil, fmt.Errorf("write the document of the API: %w", err)
	}
	page, err := template.New("docs").Funcs(template.FuncMap{"json": indented}).Parse(docsTemplate)
	if err != nil {
		return nil, fmt.Errorf("the page of the API: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, whole); err != nil {
		return nil, fmt.Errorf("the page of the API: %w", err)
	}
	d.page = out.Bytes()
	return d, nil
}

func indented(v any) (string, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return string(data), err
}

func (d *docs) table() table {
	return table{
		documentPath: {http.MethodGet: reads(func(w http.ResponseWriter, _ *http.Request) { d.write(w, "application/json", d.document) })},
		docsPath: {http.MethodGet: reads(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
			d.write(w, "text/html; charset=utf-8", d.page)
		})},
	}
}

func (d *docs) write(w http.ResponseWriter, media string, body []byte) {
	w.Header().Set("Content-Type", media)
	_, _ = w.Write(body) // the client has gone
}

// With serves the document and its page, and passes all other paths to next.
func (d *docs) With(next http.Handler) http.Handler {
	routes := d.table().handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == documentPath || r.URL.Path == docsPath {
			routes.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// FullDocument describes everything that a server can serve. It refuses members of answers that are not described.
func FullDocument(version string) (*Document, error) {
	chats := &Chats{}
	return document(version, true, (&Flows{}).table(), (&Events{}).table(), (&Runs{}).table(), (&Tokens{}).table(), (&Lists{}).table(), chats.visitorTable(), chats.testerTable(),
		(&docs{}).table(), metricsTable(nil))
}
