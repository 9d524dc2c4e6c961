package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// either is a body of any of several kinds.
type either []any

// anyObject is the schema of an object whose members are documented elsewhere.
var anyObject = json.RawMessage(`{"type": "object"}`)

// Document describes the routes of one server (OpenAPI 3.1, https://spec.openapis.org/oas/v3.1.0).
type Document struct {
	OpenAPI    string                              `json:"openapi"`
	Info       map[string]string                   `json:"info"`
	Paths      map[string]map[string]documentRoute `json:"paths"`
	Components documentParts                       `json:"components"`
	// strict rejects members that are not described. Clients must accept them: answers may grow.
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

// document describes the routes of a table.
func document(version string, strict bool, served table) (*Document, error) {
	d := &Document{
		strict:  strict,
		named:   map[string]reflect.Type{},
		OpenAPI: "3.1.0", Info: map[string]string{"title": "rehearse", "version": version},
		Paths: map[string]map[string]documentRoute{},
		Components: documentParts{Schemas: map[string]any{}, Security: map[string]any{
			"token": map[string]string{"type": "http", "scheme": "bearer"},
		}},
	}
	for _, r := range served {
		method, path, _ := strings.Cut(r.pattern, " ")
		described, err := d.describe(method, path, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.pattern, err)
		}
		if d.Paths[path] == nil {
			d.Paths[path] = map[string]documentRoute{}
		}
		d.Paths[path][strings.ToLower(method)] = described
	}
	return d, nil
}

// placeholder matches a parameter of a path.
var placeholder = text.Regexp(`\{(\w+)\}`)

func (d *Document) describe(method, path string, r route) (documentRoute, error) {
	scope := string(r.scope)
	described := documentRoute{
		ID: nameOf(method, path), Summary: r.summary, Scope: scope, Description: "Needs the scope `" + scope + "`.",
		Security: []map[string][]string{{"token": {scope}}},
	}
	if r.public {
		described.Description = "Needs the scope `" + scope + "`, unless the server is open to visitors."
		described.Security = append(described.Security, map[string][]string{})
	}
	var inPath []parameter
	for _, found := range placeholder().FindAllStringSubmatch(path, -1) {
		inPath = append(inPath, parameter{name: found[1]})
	}
	for i, parameters := range [][]parameter{inPath, r.query, r.headers} {
		for _, p := range parameters {
			described.Parameters = append(described.Parameters, documentParameter{
				Name: p.name, In: []string{"path", "query", "header"}[i], Required: i == 0, Description: p.about,
				Schema: textSchema,
			})
		}
	}
	if r.body != nil {
		content, err := d.content(r.body)
		if err != nil {
			return described, err
		}
		described.Body = &documentBody{Required: true, Content: content}
	}
	problem, err := d.schema(runsProblem{})
	if err != nil {
		return described, err
	}
	described.Responses = map[string]documentAnswer{"default": {
		"What went wrong.", map[string]documentMedia{"application/problem+json": {problem}},
	}}
	all := r.answers
	if r.ok != nil {
		all = answers{200: r.ok}
		maps.Copy(all, r.answers)
	}
	for status, body := range all {
		content, err := d.content(body)
		if err != nil {
			return described, err
		}
		described.Responses[strconv.Itoa(status)] = documentAnswer{http.StatusText(status), content}
	}
	return described, nil
}

var textSchema = map[string]any{"type": "string"}

// content describes a body by its media types. A string is the media type of a body that is not JSON, a json.RawMessage
// the schema of one that is; any other value has the type that is sent as JSON. either is one of several, nil no body.
func (d *Document) content(body any) (map[string]documentMedia, error) {
	if body == nil {
		return nil, nil
	}
	kinds, several := body.(either)
	if !several {
		kinds = either{body}
	}
	content := map[string]documentMedia{}
	var schemas []any
	for _, kind := range kinds {
		if media, is := kind.(string); is {
			content[media] = documentMedia{textSchema}
			continue
		}
		s, err := d.schema(kind)
		if err != nil {
			return nil, err
		}
		schemas = append(schemas, s)
	}
	switch len(schemas) {
	case 0:
	case 1:
		content["application/json"] = documentMedia{schemas[0]}
	default:
		content["application/json"] = documentMedia{map[string]any{"anyOf": schemas}}
	}
	return content, nil
}

// schema returns the schema of a value's type, as a reference if the type has a name.
func (d *Document) schema(of any) (any, error) {
	if written, is := of.(json.RawMessage); is {
		return d.published(written)
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
