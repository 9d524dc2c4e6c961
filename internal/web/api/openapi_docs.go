package api

import (
	"bytes"
	_ "embed" // the page
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

//go:embed assets/docs/page.html
var docsTemplate string

// docsRoutes returns the routes that serve the document of an API and a page that shows it.
func docsRoutes(document, page []byte) table {
	return table{
		{
			pattern: "GET /openapi.json", scope: access.Read, summary: "This document", ok: anyObject,
			handle: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(document) // fails if the client has gone
			},
		},
		{
			pattern: "GET /docs", scope: access.Read, summary: "This document as a page",
			ok: "text/html",
			handle: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = w.Write(page) // fails if the client has gone
			},
		},
	}
}

// newDocs returns docsRoutes with a document of the routes of served and of its own.
func newDocs(version string, served table) (table, error) {
	whole, err := document(version, false, slices.Concat(served, docsRoutes(nil, nil)))
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("write the document of the API: %w", err)
	}
	page, err := template.New("docs").Funcs(template.FuncMap{"json": func(v any) (string, error) {
		data, err := json.MarshalIndent(v, "", "  ")
		return string(data), err
	}}).Parse(docsTemplate)
	if err != nil {
		return nil, fmt.Errorf("the page of the API: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, whole); err != nil {
		return nil, fmt.Errorf("the page of the API: %w", err)
	}
	return docsRoutes(data, out.Bytes()), nil
}

// allRoutes are the routes of a server that serves everything. Their handlers do not work.
func allRoutes() table {
	return slices.Concat((&Flows{}).table(), (&Events{}).table(), (&Runs{}).table(), (&Tokens{}).table(),
		(&Lists{}).table(), (&Chats{}).table(), docsRoutes(nil, nil), metricsRoutes(nil))
}

// FullDocument describes everything that a server can serve. It rejects members of answers that it does not describe.
func FullDocument(version string) (*Document, error) { return document(version, true, allRoutes()) }
