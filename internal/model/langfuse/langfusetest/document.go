package langfusetest

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Published is the part of Langfuse's published API that the server knows, as YAML.
//
//go:embed openapi.yml
var Published []byte

// document is the published API.
type document struct{ spec *openapi3.T }

// load reads the document once for all servers, which only read it.
var load = sync.OnceValues(func() (*document, error) {
	spec, err := openapi3.NewLoader().LoadFromData(Published)
	if err != nil {
		return nil, err
	}
	for _, schema := range spec.Components.Schemas {
		for _, property := range schema.Value.Properties {
			allowNull(property)
		}
	}
	return &document{spec}, nil
})

// allowNull lets a property that may have any type be null, too. That is what OpenAPI 3.0.3 says of a schema without a
// type, and what Langfuse sends; the validator takes nullable to be false.
func allowNull(property *openapi3.SchemaRef) {
	s := property.Value
	if property.Ref == "" && s.Type == nil && len(s.AllOf)+len(s.OneOf)+len(s.AnyOf)+len(s.Enum) == 0 {
		s.Nullable = true
	}
}

// call is a request and its answer under check.
type call struct {
	input *openapi3filter.RequestValidationInput
	path  string
	body  []byte
}

// call begins the check of a request that matched a path of the document.
func (d *document) call(r *http.Request, path string, body []byte) *call {
	item := d.spec.Paths.Value(path)
	c := &call{path: path, body: body}
	if item == nil || item.GetOperation(r.Method) == nil {
		return c
	}
	operation := item.GetOperation(r.Method)
	params := map[string]string{}
	for _, p := range operation.Parameters {
		if p.Value.In == openapi3.ParameterInPath {
			params[p.Value.Name] = r.PathValue(p.Value.Name)
		}
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	options := &openapi3filter.Options{
		MultiError: true, IncludeResponseStatus: true, RejectWhenRequestBodyNotSpecified: len(body) > 0,
		SkipSettingDefaults: true,
		AuthenticationFunc:  openapi3filter.NoopAuthenticationFunc, // the server looks at the keys itself
	}
	// its own text has the whole schema in it
	options.WithCustomSchemaErrorFunc(func(err *openapi3.SchemaError) string {
		text := "/" + strings.Join(err.JSONPointer(), "/") + ": " + err.Reason
		if err.Origin != nil { // which of several schemas, and why
			text += " (" + err.Origin.Error() + ")"
		}
		return text
	})
	c.input = &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params,
		Route:   &routers.Route{Spec: d.spec, Path: path, PathItem: item, Method: r.Method, Operation: operation},
		Options: options,
	}
	return c
}

// request checks the request. The document allows keys and parameters that it does not name; a client has no reason to
// send any.
func (c *call) request(ctx context.Context) error {
	if c.input == nil {
		return fmt.Errorf("there is no %s", c.path)
	}
	if err := openapi3filter.ValidateRequest(ctx, c.input); err != nil {
		return err
	}
	operation := c.input.Route.Operation
	for name := range c.input.Request.URL.Query() {
		if operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, name) == nil {
			return fmt.Errorf("there is no parameter %q", name)
		}
	}
	if operation.RequestBody == nil {
		return nil
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(c.body, &body); err != nil {
		return err
	}
	known := operation.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties
	for name := range body {
		if known[name] == nil {
			return fmt.Errorf("there is no key %q", name)
		}
	}
	return nil
}

// answer checks the answer.
func (c *call) answer(ctx context.Context, status int, data []byte) error {
	if c.input == nil {
		return nil
	}
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: c.input, Status: status, Header: http.Header{"Content-Type": {"application/json"}},
		Options: c.input.Options,
	}
	return openapi3filter.ValidateResponse(ctx, answer.SetBodyBytes(data))
}
