// Package apitest holds answers of a server to the document of its API.
package apitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rehearse-dev/rehearse/internal/web/api"
)

// Answers checks answers. Use New. It is safe for concurrent use.
type Answers struct {
	mu       sync.Mutex
	document map[string]any
	compiler *jsonschema.Compiler
	paths    []path
}

type path struct {
	text  string
	match *regexp.Regexp
}

const where = "openapi.json"

// New returns a checker of what this program says of its API.
func New() (*Answers, error) {
	described, err := api.FullDocument("test")
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(described)
	if err != nil {
		return nil, err
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	a := &Answers{compiler: jsonschema.NewCompiler()}
	a.compiler.AssertFormat()
	if err := a.compiler.AddResource(where, read); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &a.document); err != nil {
		return nil, err
	}
	for text := range a.document["paths"].(map[string]any) {
		match := regexp.MustCompile(`^` +
			regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(text), `[^/]+`) + `$`)
		a.paths = append(a.paths, path{text, match})
	}
	return a, nil
}

// Check returns what an answer has that the document does not say. An answer to a path that is nowhere served must be a
// problem.
func (a *Answers) Check(method, at string, status int, header http.Header, body []byte) error {
	if at == "/healthz" || at == "/livez" {
		return nil
	}
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if status >= 400 && media == "application/problem+json" {
		return a.validate("/components/schemas/RunsProblem", body)
	}
	op, found := a.find(strings.ToLower(method), at)
	if !found {
		return fmt.Errorf("%s %s answers %d %s and is not in the document", method, at, status, media)
	}
	pointer := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(op) + "/" + strings.ToLower(method) +
		"/responses/" + strconv.Itoa(status)
	said, ok := lookUp(a.document, "paths", op, strings.ToLower(method), "responses",
		strconv.Itoa(status)).(map[string]any)
	if !ok {
		return fmt.Errorf("%s %s answers %d, which the document does not say", method, op, status)
	}
	content, _ := said["content"].(map[string]any)
	if len(body) == 0 && media == "" {
		return nil
	}
	if _, ok := content[media]; !ok {
		return fmt.Errorf("%s %s answers %d with %q, which the document does not say", method, op, status, media)
	}
	if media != "application/json" {
		return nil
	}
	if err := a.validate(pointer+"/content/application~1json/schema", body); err != nil {
		return fmt.Errorf("%s %s answers %d with what the document does not say: %w: %.2000s", method, op, status,
			err, body)
	}
	return nil
}

// find returns the path of the document that serves a method: the one with the fewest places left open.
func (a *Answers) find(method, at string) (best string, found bool) {
	for _, p := range a.paths {
		if !p.match.MatchString(at) || lookUp(a.document, "paths", p.text, method) == nil {
			continue
		}
		if !found || strings.Count(p.text, "{") < strings.Count(best, "{") {
			best, found = p.text, true
		}
	}
	return best, found
}

func lookUp(in any, keys ...string) any {
	for _, key := range keys {
		object, _ := in.(map[string]any)
		in = object[key]
	}
	return in
}

func (a *Answers) validate(pointer string, body []byte) error {
	a.mu.Lock() // the compiler is not safe for concurrent use
	schema, err := a.compiler.Compile(where + "#" + pointer)
	a.mu.Unlock()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return errors.New("it is no JSON")
	}
	return schema.Validate(value)
}
