package pages_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/pagestest"
)

func warned(page *pagestest.Node, words string) bool {
	for _, w := range page.All("data-warning") {
		if strings.Contains(w.Words(), words) {
			return true
		}
	}
	return false
}

// There is no rate over several targets, also where the record of the run does not tell them apart.
func TestNoRateOverTargetsThatARecordLeavesOut(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{
		ID: "r", Targets: []string{"t", "u"}, PassRate: rateOf(0.5),
		Totals:     result.Totals{Planned: 2, Completed: 2, Tests: 2, Passed: 1, Failed: 1, MeanScore: new(0.5)},
		ExitReason: result.ReasonFailed, ExitCode: new(1),
	}, rated("a", "t", result.Pass, 1, 10), rated("a", "u", result.Fail, 0, 10))
	for path, want := range map[string]string{
		"/runs": "", "/runs/r": "pass_rate@t=1 pass_rate@u=0", "/runs/r/matrix": "pass_rate@t=1 pass_rate@u=0",
	} {
		got := figures(s.get(200, path))
		for _, name := range []string{"pass_rate", "mean_score"} {
			if rate, ok := got[name]; ok {
				t.Errorf("%s: %s is %s", path, name, rate)
			}
		}
		if want != "" && "pass_rate@t="+got["pass_rate@t"]+" pass_rate@u="+got["pass_rate@u"] != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// A copy of a run that has the run's id and other figures is told of.
func TestTwins(t *testing.T) {
	s := newSite(t)
	ended := now.Add(-time.Hour)
	for folder, verdict := range map[string]result.Verdict{"a": result.Pass, "b": result.Fail, "copy": result.Pass} {
		s.put(result.Run{ID: folder, Targets: []string{"t"}, EndedAt: ended}, rated("x", "t", verdict, 0, 10))
		id := map[string]string{"a": "one", "b": "one", "copy": "two"}[folder]
		s.change(folder, `"run_id": "`+folder+`"`, `"run_id": "`+id+`"`)
	}
	s.put(result.Run{ID: "two", Targets: []string{"t"}, EndedAt: ended}, rated("x", "t", result.Pass, 0, 10))
	for path, want := range map[string]int{"/runs": 1, "/runs/one": 1, "/runs/two": 0} {
		page := s.get(200, path)
		if got := len(page.All("data-warning")); got != want ||
			want > 0 && !warned(page, "The folder b is also one of run one, with other figures") {
			t.Errorf("%s: %d warnings: %s", path, got, page.One("data-warning").Words())
		}
	}
}

// change writes something else into the record of a run.
func (s *site) change(folder, old, changed string) {
	s.t.Helper()
	file := filepath.Join(s.root, folder, runlog.RunFile)
	data, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		s.t.Fatalf("%s is not in %s", old, data)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), old, changed, 1)), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// Of many folders that cannot be read some are named, and the others are counted.
func TestManyUnreadableFolders(t *testing.T) {
	s := newSite(t)
	for i := range 30 {
		dir := filepath.Join(s.root, fmt.Sprint("broken", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, runlog.RunFile), []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page := s.get(200, "/runs")
	if n := len(page.All("data-warning")); n != 21 || !warned(page, "10 more folders") {
		t.Errorf("%d warnings", n)
	}
}

// Records with very many failures, codes and tags make pages of a bounded size, which say what they leave out.
func TestManyFailures(t *testing.T) {
	s := newSite(t)
	x := failed(test("s", "x", "t", "Hi", "Yes"), result.QualityJudgeFail, "no")
	for i := range 10_000 {
		f := result.Failure{Code: result.Code(fmt.Sprint("CODE_", i)), Turn: 1, Message: strings.Repeat("m", 300)}
		x.Failures, x.Scores[0].Failures = append(x.Failures, f), append(x.Scores[0].Failures, f)
		x.Failures, x.Tags = append(x.Failures, result.Failure{Code: f.Code, Message: f.Message + "!"}),
			append(x.Tags, fmt.Sprint("tag", i))
	}
	s.put(result.Run{ID: "r", Targets: []string{"t"}, ExitReason: result.ReasonDied}, x)
	if row := s.get(200, "/runs/r?verdict=fail").One("data-row=test"); len(row.All("<code>")) != 20 ||
		strings.Count(row.Attr["data-codes"], " ") != 10_000 {
		t.Errorf("%d codes", len(row.All("<code>")))
	}
	page := s.get(200, "/runs/r/tests/x")
	if said := page.One("<main>").Words(); len(page.All("data-failure")) != 600 ||
		!strings.Contains(said, "9,701 more failures") || !strings.Contains(said, "9,700 more failures") {
		t.Errorf("%d failures: %.300s", len(page.All("data-failure")), said)
	}
}
