package suite_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests of one scenario are a cluster: those of one entry's users, and the rows of one file among several. An
// author's word takes precedence.
func TestClusters(t *testing.T) {
	rows := "id,input\nr1,Hi\nr2,Ho\n"
	const test = "  - {id: one, input: x, required: true}\n"
	users := "  - {id: users, users: {personas: [a, b], goals: [c, d]}}\n"
	named := "  - {id: named, cluster: mine, users: [{goal: a}, {goal: b}]}\n"
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"users": {
			map[string]string{"suite.yaml": "tests:\n" + test + users + named},
			[]string{"", "users", "users", "users", "users", "mine", "mine"},
		},
		"an only file": {map[string]string{"suite.yaml": "tests: rows.csv\n", "rows.csv": rows}, []string{"", ""}},
		"a file and a test": {
			map[string]string{"suite.yaml": "tests:\n  - rows.csv\n" + test, "rows.csv": rows},
			[]string{"rows.csv", "rows.csv", ""},
		},
		"several files": {
			map[string]string{
				"suite.yaml": "tests: data/*.csv\n", "data/a.csv": rows,
				"data/b.csv": "id,input,cluster\nr3,Hi,mine\nr4,Ho,\n",
			},
			[]string{"data/a.csv", "data/a.csv", "mine", "data/b.csv"},
		},
	} {
		var got []string
		for _, x := range mustLoad(t, tc.files) {
			if got = append(got, x.Cluster); x.Required != (x.ID == "one") {
				t.Errorf("%s: %s is required: %t", name, x.ID, x.Required)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
