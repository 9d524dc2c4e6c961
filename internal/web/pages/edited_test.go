package pages_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/pagestest"
)

// Somebody makes a failure of a pass in the middle of a long log, to which another record is appended, between two
// looks: no page shows the pass any more. A page that finds out says that it comes again.
func TestEditedRecordIsShownNowhere(t *testing.T) {
	for name, path := range map[string]string{
		"run": "/runs/r?q=", "filtered": "/runs/r?verdict=pass", "matrix": "/runs/r/matrix",
		"compare": "/compare?a=before&b=r", "baseline": "/compare?a=r&b=before", "conversation": "/runs/r/tests/m",
		"compare-conversation": "/compare/tests/m?a=before&b=r", "judge": "/judge?run=r", "search": "/search?q=needle",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			of := func(id string, said string) *result.Test {
				x := rated(id, "t", result.Pass, 1, 10)
				x.Turns[0].Output = said
				x.Scores = []result.Score{{
					Name: "turn-1", Verdict: result.Pass, Score: 1,
					Assertions: []result.Assertion{{Text: "kind", Passed: true, Grader: "rubrics"}},
				}}
				return x
			}
			long := strings.Repeat("word ", 1_200_000)
			s.put(result.Run{ID: "before", Targets: []string{"t"}, StartedAt: now.Add(-time.Hour * 9)},
				of("m", "before"))
			s.put(result.Run{ID: "r", Targets: []string{"t"}, ExitReason: result.ReasonDied}, of("a", long),
				of("m", "a needle"), of("z", long[:100_000]))
			s.get(200, path)
			log := filepath.Join(s.root, "r", runlog.LogFile)
			data, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.Index(data, []byte(`"test_id":"m"`))
			end := at + bytes.IndexByte(data[at:], '\n')
			record := bytes.ReplaceAll(bytes.ReplaceAll(data[at:end], []byte(`"verdict":"pass"`),
				[]byte(`"verdict":"fail"`)), []byte(`"passed":true`), []byte(`"passed":null`))
			last := data[bytes.LastIndexByte(data[:len(data)-1], '\n')+1:]
			edited := bytes.Join([][]byte{
				data[:at], record, data[end:], bytes.Replace(last, []byte(`"test_id":"z"`), []byte(`"test_id":"n"`), 1),
			}, nil)
			if err := os.WriteFile(log, edited, 0o644); err != nil {
				t.Fatal(err)
			}
			for try := range 3 {
				answer, text := s.answer("GET", path, nil, nil)
				if answer.StatusCode == 200 {
					page, err := pagestest.Parse(text)
					if err != nil {
						t.Fatal(err)
					}
					for _, row := range page.All("data-test=m") {
						shown := row.Attr["data-verdict"]
						switch name { // of a comparison the other run has the test as well
						case "compare":
							shown = row.Attr["data-b"]
						case "baseline":
							shown = row.Attr["data-a"]
						}
						if shown == "pass" {
							t.Errorf("%s shows %v", path, row.Attr)
						}
					}
					for _, cell := range page.All("<td>", "data-verdict=pass") {
						if strings.Contains(cell.One("<a>").Attr["href"], "/tests/m") {
							t.Error("the matrix shows a pass")
						}
					}
					return
				}
				if answer.StatusCode != 503 || try > 1 {
					t.Fatalf("%s: %d %s", path, answer.StatusCode, text)
				}
			}
		})
	}
}
