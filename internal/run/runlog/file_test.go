package runlog_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
)

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.txt")
	for _, tc := range []struct {
		text string
		err  error
	}{{"one", nil}, {"two", nil}, {"half", os.ErrInvalid}} {
		err := runlog.WriteFile(path, func(w io.Writer) error {
			_, _ = w.Write([]byte(tc.text))
			return tc.err
		})
		if !errors.Is(err, tc.err) {
			t.Errorf("WriteFile of %q: %v", tc.text, err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "two" {
		t.Errorf("the file holds %q, %v", got, err)
	}
	if names := files(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("the folder holds %v", names)
	}
	if err := runlog.WriteFile(os.DevNull, func(w io.Writer) error {
		_, err := io.WriteString(w, "x")
		return err
	}); err != nil {
		t.Errorf("WriteFile of a device: %v", err)
	}
}
