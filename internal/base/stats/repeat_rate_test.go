package stats_test

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// taubench are the airline tasks of TestTauBench.
func taubench() (tests []stats.Repeated) {
	for passed, tasks := range []int{14, 9, 6, 2, 4} {
		for range tasks {
			tests = append(tests, stats.Repeated{N: 4, Passed: passed})
		}
	}
	return tests
}

func TestRepeatRates(t *testing.T) {
	for k, want := range [][2]float64{{43. / 140, 0.307143}, {6. / 35, 0.442857}, {9. / 70, 0.535714}, {4. / 35, 0.6}} {
		r := stats.RepeatRateOf(taubench(), nil, k+1, 42)
		if math.Abs(r.PassHat-want[0]) > 1e-12 || math.Abs(r.PassAt-want[1]) > 5e-7 || r.Tests != 35 || r.K != k+1 {
			t.Errorf("k = %d: %+v, want %v", k+1, r, want)
		}
		for _, i := range [][2]float64{r.PassHatInterval, r.PassAtInterval} {
			if i[0] < 0 || i[1] > 1 || i[1]-i[0] < 0.1 || i[1]-i[0] > 0.4 {
				t.Errorf("k = %d: interval %v of 35 tests", k+1, i)
			}
		}
	}
	for _, tc := range []struct {
		name  string
		tests []stats.Repeated
		k     int
		want  stats.RepeatRate
	}{
		{"nothing", nil, 1, stats.RepeatRate{
			K: 1, PassHatInterval: [2]float64{0, 1}, PassAtInterval: [2]float64{0, 1},
		}},
		{"too few trials", []stats.Repeated{{2, 2}}, 3, stats.RepeatRate{
			K: 3, PassHatInterval: [2]float64{0, 1}, PassAtInterval: [2]float64{0, 1},
		}},
		{"no trials", []stats.Repeated{{2, 2}}, 0, stats.RepeatRate{
			PassHatInterval: [2]float64{0, 1}, PassAtInterval: [2]float64{0, 1},
		}},
		{"all pass", []stats.Repeated{{2, 2}, {3, 3}, {1, 0}}, 2, stats.RepeatRate{
			K: 2, Tests: 2, PassHat: 1, PassAt: 1, PassHatInterval: stats.Wilson(2, 2),
			PassAtInterval: stats.Wilson(2, 2),
		}},
		{"all sometimes", []stats.Repeated{{2, 1}, {2, 1}}, 2, stats.RepeatRate{
			K: 2, Tests: 2, PassAt: 1, PassHatInterval: stats.Wilson(0, 2), PassAtInterval: stats.Wilson(2, 2),
		}},
	} {
		if d := cmp.Diff(tc.want, stats.RepeatRateOf(tc.tests, nil, tc.k, 42), published()); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// TestTauBenchExpected has the published figures of tau-bench come out of its rewards (sierra-research/tau-bench @
// 59a200c, MIT).
func TestTauBenchExpected(t *testing.T) {
	folder := filepath.Join("testdata", "taubench")
	file, err := os.Open(filepath.Join(folder, "rewards.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]stats.Repeated{}
	for _, row := range rows[1:] {
		reward, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		was := of[row[0]]
		of[row[0]] = stats.Repeated{N: was.N + 1, Passed: was.Passed + int(reward)}
	}
	var tests []stats.Repeated
	for _, r := range of {
		tests = append(tests, r)
	}
	var expected struct {
		Hat map[string]fraction `json:"pass^k"`
		At  map[string]float64  `json:"pass@k(any of k)"`
	}
	data, err := os.ReadFile(filepath.Join(folder, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	if len(expected.Hat) != 4 || len(tests) != 35 {
		t.Fatalf("%d tests, %d expected values", len(tests), len(expected.Hat))
	}
	for k := 1; k <= 4; k++ {
		r := stats.RepeatRateOf(tests, nil, k, 42)
		if want := expected.Hat[strconv.Itoa(k)].value(t); math.Abs(r.PassHat-want) > 1e-12 {
			t.Errorf("pass^%d = %v, want %v", k, r.PassHat, want)
		}
		if want := expected.At[strconv.Itoa(k)]; math.Abs(r.PassAt-want) > 5e-7 {
			t.Errorf("pass@%d = %v, want %v", k, r.PassAt, want)
		}
	}
}
