package pages_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// loggedIn returns tests in the order of a log, which is that in which they ended. Their places in the run are those of
// the list.
func loggedIn(random *rand.Rand, tests []*result.Test) []*result.Test {
	logged := make([]*result.Test, len(tests))
	for i, at := range random.Perm(len(tests)) {
		logged[i] = tests[at]
		logged[i].Position = at + 1
	}
	return logged
}

// comparedByCommand returns what `rehearse compare` finds between the runs a and b of a folder.
func comparedByCommand(t *testing.T, root string) *result.Comparison {
	t.Helper()
	var sides [2]compare.Side
	for i, name := range []string{"a", "b"} {
		var err error
		if sides[i], err = compare.Open(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	told, err := compare.Runs(sides[0], sides[1], compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return told
}

// The page says what the command says, to the last digit, whatever order the logs have: with enough tests for an
// interval of random halves, among them some that are not compared, and some that one run lacks.
func TestCompareSaysWhatTheCommandSays(t *testing.T) {
	s := newSite(t)
	random := rand.New(rand.NewPCG(3, 4))
	for which, id := range []string{"a", "b"} {
		var tests []*result.Test
		for i := range 300 {
			score := float64(random.IntN(9)) / 8
			v := result.Fail
			if score >= 0.5 {
				v = result.Pass
			}
			x := rated(fmt.Sprint("t", i), "t", v, score, float64(100+random.IntN(900)))
			switch {
			case i%31 == 7:
				x.Verdict, x.Score = result.Error, 0
			case i%37 == 5:
				x.Quarantined = &quarantine.Terms{Owner: "o", Until: "2026-10-01", Reason: "r"}
			case i%41 == which:
				continue
			}
			tests = append(tests, x)
		}
		s.put(result.Run{
			ID: id, Targets: []string{"t"}, StartedAt: now.Add(time.Duration(which-3) * time.Hour), ExitCode: new(1),
			ExitReason: result.ReasonFailed,
		}, loggedIn(random, tests)...)
	}
	told := comparedByCommand(t, s.root)
	var all sync.WaitGroup // who come while it is being made wait for the same
	for range 4 {
		all.Go(func() { _, _ = s.answer("GET", "/compare?a=a&b=b", nil, nil) })
	}
	page := s.get(200, "/compare?a=a&b=b")
	all.Wait()
	score := page.One("data-metric=score").Attr
	want := fmt.Sprint(*told.Paired.MeanDifference, told.Paired.Interval[0], told.Paired.Interval[1], told.Paired.N)
	if got := strings.Join([]string{
		score["data-diff"], score["data-low"], score["data-high"], score["data-n"],
	}, " "); got != want {
		t.Errorf("the page says %s, the command %s", got, want)
	}
	if words := page.One("class=lead").Words(); !strings.Contains(words, told.Verdict) {
		t.Errorf("the page says %q, the command %s", words, told.Verdict)
	}
	for name, list := range map[string][]result.Change{
		"regressed": told.Unconfirmed, "still_failing": told.StillFailing, "not_graded": told.NotGraded,
		"redefined": told.Redefined, "fixed": told.Fixed, "moved": told.Moved, "new": told.New, "gone": told.Gone,
		"unchanged": told.Unchanged,
	} {
		if got, want := page.One("data-section=" + name).Attr["data-count"], fmt.Sprint(len(list)); got != want {
			t.Errorf("%s: the page has %s tests, the command %s", name, got, want)
		}
	}
}
