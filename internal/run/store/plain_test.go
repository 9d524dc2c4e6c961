package store_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// FuzzPlainJSON holds that JSON stays JSON, that it is in its last form, and that nothing changes without need.
func FuzzPlainJSON(f *testing.F) {
	for _, seed := range []string{
		`null`, ` {"a":[1,-2.5e-3,true,"x"]} `, `"\u0000\\u0000\ud83d\ude00\ud83d"`, "\"\xff\xc3\"",
		`[1e1001,1E+1000,` + strings.Repeat("9", 1001) + `]`, `"\ud800`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, ok := store.PlainJSON(raw)
		trimmed := strings.Trim(string(raw), " \t\r\n")
		if want := json.Valid(raw) || trimmed == ""; ok != want {
			t.Fatalf("%q: %t, want %t", raw, ok, want)
		}
		if !ok || text == "" {
			return
		}
		if !json.Valid([]byte(text)) || !utf8.ValidString(text) {
			t.Fatalf("%q became %q", raw, text)
		}
		if again, _ := store.PlainJSON([]byte(text)); again != text {
			t.Fatalf("%q became %q, and that %q", raw, text, again)
		}
		if utf8.Valid(raw) && !strings.Contains(trimmed, `\u`) && !strings.ContainsAny(trimmed, "eE") &&
			len(trimmed) < 1000 && text != trimmed {
			t.Fatalf("%q became %q", raw, text)
		}
	})
}
