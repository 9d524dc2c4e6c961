package suite_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "suite")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	path := filepath.Join(dir, "parcels.eval.yaml")
	text := `
tests:
  - id: late
    mode: conversation
    vars: {days: 3}
    turns:
      - input: My parcel is {{ days }} days late.
        assertions: [Says that it is sorry]
      - input: When will it come?
  - id: hello
    input: Hello!
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	s, err := suite.Load(path, suite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Name, s.Count)
	for test, err := range s.Tests() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(test.ID, len(test.Turns), test.Turns[0].Input)
	}
	// Output:
	// parcels 2
	// late 2 My parcel is 3 days late.
	// hello 1 Hello!
}
