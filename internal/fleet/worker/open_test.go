package worker_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/fleet/worker"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Files that cannot be written, as on a full disk, are an error, and nothing of them stays.
func TestUnpackWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	spec := runspec.Spec{
		Schema: 1,
		Files:  map[string]runspec.File{"a": {Content: []byte("a")}, "a/b": {Content: []byte("a is no folder")}},
	}
	o, err := worker.Unpack(t.Context(), dir, spec, nil, wire.Options{})
	if o != nil || err == nil {
		t.Errorf("unpacked as %v, %v", o, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v stays in %s, %v", left, filepath.Base(dir), err)
	}
}
