package runspec_test

import (
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

func TestAge(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30d": 30 * 24 * time.Hour, "0.5d": 12 * time.Hour, "36h": 36 * time.Hour, "1h30m": 90 * time.Minute, "0s": 0,
		"0d": 0, "": -1, "d": -1, "30": -1, "-1d": -1, "-1h": -1, "NaNd": -1, "Infd": -1, "1e30d": -1, "200000d": -1,
		"1d12h": -1,
	} {
		var got runspec.Age
		err := got.UnmarshalText([]byte(text))
		if (err == nil) != (want >= 0) || err == nil && time.Duration(got) != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

// A webhook decides nothing, and is an address that can be asked.
func TestWebhook(t *testing.T) {
	base := `{"schema": 1, "suites": ["a"]`
	plain, err := runspec.Read([]byte(base + "}"))
	if err != nil {
		t.Fatal(err)
	}
	hooked, err := runspec.Read(
		[]byte(base + `, "webhook": {"url": "https://ci.example/hook", "on": ["finish", "regression"]}}`))
	if err != nil || hooked.Fingerprint() != plain.Fingerprint() {
		t.Errorf("%v: the fingerprint changes", err)
	}
	for _, hook := range []string{
		`{}`, `{"url": ""}`, `{"url": "ftp://x"}`, `{"url": "https://"}`, `{"url": "/x"}`, `{"url": "https://u:p@x"}`,
		`{"url": "https://x", "on": ["start"]}`, `{"url": "https://x", "of": []}`, `"https://x"`,
	} {
		if _, err := runspec.Read([]byte(base + `, "webhook": ` + hook + `}`)); err == nil {
			t.Errorf("%s is taken", hook)
		}
	}
}
