package report_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/report"
)

// Every link is an address with a name behind it: what cannot have one is refused.
func TestCheckAddress(t *testing.T) {
	for address, fits := range map[string]bool{
		"": true, "https://ci.example/runs/7": true, "http://ci.example:8080/": true,
		"https://show.example/?https://ci.example/7": true,
		"https://ci.example/#runs":                   false, "https://ci.example/7#": false,
		"https://ada:pass@ci.example": false, "ci.example/7": false, "javascript:alert(1)": false,
		"file:///runs": false,
	} {
		if err := report.CheckAddress(address); (err == nil) != fits {
			t.Errorf("%q: %v", address, err)
		}
	}
}
