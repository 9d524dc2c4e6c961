package suite_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

// TestSchemaOfAssertionsIsMadeOfTheKinds keeps the file that the program carries the same as what the kinds of graders
// say of themselves.
func TestSchemaOfAssertionsIsMadeOfTheKinds(t *testing.T) {
	const file = "assertion.schema.json"
	made, err := json.MarshalIndent(grader.Schemas(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	made = append(made, '\n')
	if golden.Update() {
		if err := os.WriteFile(file, made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(kept), string(made)); d != "" {
		t.Errorf("%s mismatch (-kept +made), UPDATE_GOLDEN=1 rewrites it:\n%s", file, d)
	}
}
