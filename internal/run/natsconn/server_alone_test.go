package natsconn_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
)

// TestNeverListened: only a folder that this program has made, and that never had a listener, says that nobody outside
// was ever connected.
func TestNeverListened(t *testing.T) {
	start := func(dir, listen string) bool {
		t.Helper()
		s, err := natsconn.StartServer(t.Context(), natsconn.ServerConfig{Dir: dir, Listen: listen})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.NeverListened()
	}
	alone := t.TempDir()
	for try := range 3 {
		if !start(alone, "") {
			t.Errorf("start %d of a folder without a listener: it counts as one that has listened", try+1)
		}
	}
	if start(alone, "127.0.0.1:0") {
		t.Error("a server that listens says that it never did")
	}
	for try := range 2 {
		if start(alone, "") {
			t.Errorf("start %d after a listener: it is forgotten", try+1)
		}
	}
	open := t.TempDir()
	if start(open, "127.0.0.1:0") || start(open, "") {
		t.Error("a folder that began with a listener: it is forgotten")
	}
	older := t.TempDir() // whose servers left no word of their listeners
	if err := os.MkdirAll(filepath.Join(older, "jetstream"), 0o700); err != nil {
		t.Fatal(err)
	}
	if start(older, "") {
		t.Error("a folder of an earlier version counts as one that never listened")
	}
}
