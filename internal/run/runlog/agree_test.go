package runlog_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// A record that counts other verdicts than its log has is no record of it.
func TestAgree(t *testing.T) {
	const pass, fail = `{"suite":"s","test_id":"a","verdict":"pass"}`, `{"suite":"s","test_id":"b","verdict":"fail"}`
	counted := result.Totals{Tests: 2, Completed: 2, Passed: 1, Failed: 1}
	for name, c := range map[string]struct {
		log  string
		want bool
	}{
		"as counted": {pass + "\n" + fail + "\n", true},
		"a trial": {
			pass + "\n" + fail + "\n" + `{"suite":"s","test_id":"a","trial":1,"verdict":"fail"}` + "\n", true,
		},
		"one less":       {pass + "\n", false},
		"one more":       {pass + "\n" + fail + "\n" + `{"suite":"s","test_id":"c","verdict":"fail"}` + "\n", false},
		"another":        {`{"suite":"s","test_id":"a","verdict":"fail"}` + "\n" + fail + "\n", false},
		"no verdict":     {`{"suite":"s","test_id":"a"}` + "\n" + fail + "\n", false},
		"of this run":    {`{"run_id":"r","suite":"s","test_id":"a","verdict":"pass"}` + "\n" + fail + "\n", true},
		"of another run": {`{"run_id":"q","suite":"s","test_id":"a","verdict":"pass"}` + "\n" + fail + "\n", false},
		"twice":          {`{"suite":"s","test_id":"a","verdict":"fail"}` + "\n" + fail + "\n" + pass + "\n", false},
		"blank lines":    {pass + "\n\n" + fail + "\n\n", true},
		"no records":     {"", false},
		"no log line":    {"?\n" + pass + "\n" + fail + "\n", false},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, runlog.LogFile), []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := runlog.Agree(dir, result.Run{ID: "r", ExitCode: new(0), Totals: counted}); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
