package report

import "testing"

func TestScores(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{score(0.7999), "0.79"},
		{score(0.8), "0.80"},
		{score(1), "1.00"},
		{score(0.29), "0.29"},
		{signed(0.1), "+0.10"},
		{signed(-0.256), "-0.26"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}
