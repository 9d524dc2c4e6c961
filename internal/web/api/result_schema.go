package api

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// ResultSchema returns the JSON Schema (2020-12) of a line of results.jsonl. It is made of the Go types that write the
// line, as the answers of the API are.
func ResultSchema() ([]byte, error) {
	s, err := jsonschema.For[result.Test](&jsonschema.ForOptions{TypeSchemas: written()})
	if err != nil {
		return nil, fmt.Errorf("make the schema of results: %w", err)
	}
	s.Schema, s.ID = "https://json-schema.org/draft/2020-12/schema", "urn:rehearse:schema:result"
	s.Title, s.Description = "rehearse result",
		"A line of results.jsonl: a test, or a trial of one, with what was said and how it was graded"
	data, err := json.MarshalIndent(s, "", "  ")
	return append(data, '\n'), err
}
