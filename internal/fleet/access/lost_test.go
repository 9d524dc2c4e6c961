package access

import (
	"path/filepath"
	"testing"
)

// TestLostTokensCloseTheServer checks that a server with a Mark is not open again once its tokens are gone.
func TestLostTokensCloseTheServer(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "data", "mark")
	expect := func(c Config, configured, lost bool) {
		t.Helper()
		c.Mark = mark
		a := New(c)
		if got, err := a.Configured(); got != configured || err != nil || a.Lost() != lost {
			t.Errorf("configured %v, want %v; lost %v, want %v; error %v", got, configured, a.Lost(), lost, err)
		}
	}
	expect(Config{Store: newMemory()}, false, false)
	expect(Config{Token: "secret"}, true, false)
	expect(Config{Store: newMemory()}, true, true)
	unwritable := New(Config{Token: "secret", Mark: filepath.Join(mark, "below")})
	if _, err := unwritable.Configured(); err == nil {
		t.Error("a token that is not remembered is not an error")
	}
}
