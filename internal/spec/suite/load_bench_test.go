package suite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// conversations writes a suite of so many conversations of four turns.
func conversations(n int) string {
	var b strings.Builder
	b.WriteString("name: parcels\ntests:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - id: conversation-%06d\n    mode: conversation\n    input:\n      - role: system\n"+
			"        content: You answer for a parcel service.\n    turns:\n", i)
		for j := range 4 {
			fmt.Fprintf(&b,
				"      - input: My parcel %06d has not come yet, and I have asked %d times now.\n        assertions:\n",
				i, j)
			fmt.Fprintf(&b, "          - type: contains\n            value: parcel %06d\n          - type: contains\n"+
				"            value: %d times\n", i, j)
		}
	}
	return b.String()
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{200, 2000} {
		path := filepath.Join(b.TempDir(), "suite.yaml")
		if err := os.WriteFile(path, []byte(conversations(n)), 0o600); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := suite.Load(path, suite.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTests decodes the tests of a loaded suite, as every pass over them does.
func BenchmarkTests(b *testing.B) {
	path := filepath.Join(b.TempDir(), "suite.yaml")
	if err := os.WriteFile(path, []byte(conversations(2000)), 0o600); err != nil {
		b.Fatal(err)
	}
	s, err := suite.Load(path, suite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range s.Tests() {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
