package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Where the document of the API is, and the page that shows it.
const (
	documentPath = "/openapi.json"
	docsPath     = "/docs"
)

// operation documents a route: what it takes and how it answers. Errors are problem documents everywhere and are not listed.
type operation struct {
	summary string
	// query and headers are the parameters that a request may have.
	query, headers []parameter
	// body is a value of the type that the request's body has; nil for none. A json.RawMessage is the schema itself.
	body    any
	answers []answer
}

// parameter is a text that a request may have; the path's are always required.
type parameter struct{ name, about string }

// answer is one way in which a route answers.
type answer struct {
	status int
	media  string
	// of is a value of the type that the body has; nil for one that is no JSON, or for none where media is empty.
	of any
}

// gives is an answer in JSON.
func gives(status int, of any) answer { return answer{status, "application/json", of} }

// sends is an answer in another media type.
func sends(media string) answer { return answer{status: http.StatusOK, media: media} }

// Document is the description of an API (OpenAPI 3.1, https://spec.openapis.org/oas/v3.1.0), of what one server serves.
type Document struct {
	OpenAPI    string                              `json:"openapi"`
	Info       map[string]string                   `json:"info"`
	Paths      map[string]map[string]documentRoute `json:"paths"`
	Components documentParts                       `json:"components"`
	// strict refuses members that the program does not write. Clients must expect more: answers may grow.
	strict bool
	// named has the type behind the name of each schema.
	named map[string]reflect.Type
}

type documentParts struct {
	Schemas  map[string]any `json:"schemas"`
	Security map[string]any `json:"securitySchemes"`
}

// documentRoute is a path with a method.
type documentRoute struct {
	ID          string                    `json:"operationId"`
	Summary     string                    `json:"summary"`
	Description string                    `json:"description"`
	Scope       string                    `json:"x-scope"`
	Security    []map[string][]string     `json:"security"`
	Parameters  []documentParameter       `json:"parameters,omitempty"`
	Body        *documentBody             `json:"requestBody,omitempty"`
	Responses   map[string]documentAnswer `json:"responses"`
}

type documentParameter struct {
	Name        string         `json:"name"`
	In          string         `json:"in"`
	Required    bool           `json:"required,omitempty"`
	Description string         `json:"description,omitempty"`
	Schema      map[string]any `json:"schema"`
}

type documentBody struct {
	Required bool                     `json:"required"`
	Content  map[string]documentMedia `json:"content"`
}

type documentAnswer struct {
	Description string                   `json:"description"`
	Content     map[string]documentMedia `json:"content,omitempty"`
}

type documentMedia struct {
	Schema any `json:"schema"`
}

// document describes the routes of tables. A route that nobody has documented is an error.
func document(version string, strict bool, tables ...table) (*Document, error) {
	d := &Document{
		strict:  strict,
		named:   map[string]reflect.Type{},
		OpenAPI: "3.1.0", Info: map[string]string{"title": "rehearse", "version": version},
		Paths: map[string]map[string]documentRoute{},
		Components: documentParts{Schemas: map[string]any{}, Security: map[string]any{
			"token": map[string]string{"type": "http", "scheme": "bearer"},
		}},
	}
	known := operations()
	for _, t := range tables {
		for path, methods := range t {
			for method, r := range methods {
				o, ok := known[method+" "+path]
				if !ok {
					return nil, fmt.Errorf("%s %s is served and not documented", method, path)
				}
				described, err := d.describe(method, path, r, o)
				if err != nil {
					return nil, fmt.Errorf("%s %s: %w", method, path, err)
				}
				if d.Paths[path] == nil {
					d.Paths[path] = map[string]documentRoute{}
				}
				d.Paths[path][strings.ToLower(method)] = described
			}
		}
	}
	return d, nil
}

// placeholder matches what a path leaves open.
var placeholder = regexp.MustCompile(`\{(\w+)\}`)

func (d *Document) describe(method, path string, r route, o operation) (documentRoute, error) {
	scope := string(r.scope)
	described := documentRoute{
		ID: nameOf(method, path), Summary: o.summary, Scope: scope, Description: "Needs the scope `" + scope + "`.",
		Security: []map[string][]string{{"token": {scope}}}, Responses: map[string]documentAnswer{},
	}
	if r.public {
		described.Description = "Needs the scope `" + scope + "`, unless the server is open to visitors."
		described.Security = append(described.Security, map[string][]string{})
	}
	text := map[string]any{"type": "string"}
	for _, found := range placeholder.FindAllStringSubmatch(path, -1) {
		described.Parameters = append(described.Parameters, documentParameter{Name: found[1], In: "path", Required: true, Schema: text})
	}
	for _, p := range o.query {
		described.Parameters = append(described.Parameters, documentParameter{Name: p.name, In: "query", Description: p.about, Schema: text})
	}
	for _, p := range o.headers {
		described.Parameters = append(described.Parameters, documentParameter{Name: p.name, In: "header", Description: p.about, Schema: text})
	}
	if o.body != nil {
		schema, err := d.schema(o.body)
		if err != nil {
			return described, err
		}
		described.Body = &documentBody{Required: true, Content: map[string]documentMedia{mediaOf(o.body): {schema}}}
	}
	for _, a := range append(o.answers, answer{media: "application/problem+json", of: runsProblem{}}) {
		status, about := "default", "What went wrong."
		if a.status > 0 {
			status, about = strconv.Itoa(a.status), http.StatusText(a.status)
		}
		all := described.Responses[status]
		all.Description = about
		if a.media != "" {
			schema, err := d.schema(a.of)
			if err != nil {
				return described, err
			}
			if all.Content == nil {
				all.Content = map[string]documentMedia{}
			}
			all.Content[a.media] = documentMedia{schema}
		}
		described.Responses[status] = all
	}
	return described, nil
}

// bytesBody is the body of a request that is no JSON.
type bytesBody struct{}

func mediaOf(body any) string {
	if _, is := body.(bytesBody); is {
		return "application/octet-stream"
	}
	return "application/json"
}

// schema returns the schema of a value's type, as a reference where the type has a name.
func (d *Document) schema(of any) (any, error) {
	switch written := of.(type) {
	case nil, bytesBody:
		return map[string]any{"type": "string"}, nil
	case json.RawMessage:
		return d.published(written)
	case anyOf:
		return d.alternatives(written)
	}
	t := reflect.TypeOf(of)
	name := componentName(t)
	if name != "" && d.Components.Schemas[name] != nil {
		if d.named[name] != t {
			return nil, fmt.Errorf("the document has one name for two types: %s for %s and %s", name, t, d.named[name])
		}
		return map[string]string{"$ref": "#/components/schemas/" + name}, nil
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: written()})
	if !d.strict {
		open(s)
	}
	if err != nil || name == "" {
		return s, err
	}
	d.Components.Schemas[name], d.named[name] = s, t
	return map[string]string{"$ref": "#/components/schemas/" + name}, nil
}

// anyOf is a body of any of several types.
type anyOf []any

// alternatives returns the schema of a value of any of several types.
func (d *Document) alternatives(of anyOf) (any, error) {
	var all []any
	for _, one := range of {
		s, err := d.schema(one)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return map[string]any{"anyOf": all}, nil
}

// nameOf makes the name of an operation: getRunsResults of GET /api/v1/runs/{run_id}/results.
func nameOf(method, path string) string {
	var name strings.Builder
	name.WriteString(strings.ToLower(method))
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/api/v1"), "/") {
		part = strings.Trim(part, "{}")
		for word := range strings.FieldsFuncSeq(part, func(r rune) bool { return r == '_' || r == '.' }) {
			name.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return name.String()
}
