package stats_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

func TestConsistency(t *testing.T) {
	// Pairs of samples agree with 1, 1/3 and 1; the fourth item has only one.
	c := stats.SelfConsistency(
		[][]string{{"pass", "pass"}, {"pass", "fail", "pass"}, {"fail", "fail", "fail"}, {"pass"}}, 1)
	want := stats.Consistency{
		Items: 3, Unanimous: 2. / 3, UnanimousInterval: stats.Wilson(2, 3), Agreement: 7. / 9,
		AgreementInterval: [2]float64{0, 1},
	}
	if d := cmp.Diff(want, c, published()); d != "" {
		t.Errorf("consistency mismatch (-want +got):\n%s", d)
	}
	sure := stats.SelfConsistency([][]int{{1, 1}, {2, 2}}, 1)
	if sure.Agreement != 1 || sure.AgreementInterval != stats.Wilson(2, 2) {
		t.Errorf("consistency %+v", sure)
	}
	if none := stats.SelfConsistency([][]int{{1}}, 1); none.Items != 0 || none.AgreementInterval != [2]float64{0, 1} {
		t.Errorf("consistency of nothing %+v", none)
	}
	const tie, first, second = stats.Tie, stats.PreferFirst, stats.PreferSecond
	straight := []stats.Preference{first, second, tie, first, first, second, tie, first, first}
	swapped := []stats.Preference{second, first, tie, first, tie, second, second, first}
	got := stats.SwapConsistency(straight, swapped)
	if d := cmp.Diff(stats.Swap{
		N: 8, Consistent: 3, Rate: 3. / 8, Interval: stats.Wilson(3, 8), First: 2, Second: 1, P: 1,
	}, got); d != "" {
		t.Errorf("swap mismatch (-want +got):\n%s", d)
	}
}
