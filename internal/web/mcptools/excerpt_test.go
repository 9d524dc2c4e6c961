package mcptools

import "testing"

func TestExcerpt(t *testing.T) {
	for _, test := range []struct {
		max    int
		writes []string
		want   string
		left   int
	}{
		{10, nil, "", 0},
		{10, []string{"0123456789"}, "0123456789", 0},
		{10, []string{"01", "234567", "89"}, "0123456789", 0},
		{10, []string{"0123456789a"}, "01234\n[1 bytes left out]\n6789a", 1},
		{10, []string{"0", "123456789a", "b", "cdefghijklmnop"}, "01234\n[16 bytes left out]\nlmnop", 16},
		{4, []string{"aééé"}, "a\n[3 bytes left out]\né", 3},
	} {
		e := excerpt{max: test.max}
		for _, text := range test.writes {
			if n, err := e.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("%q: wrote %d, %v", text, n, err)
			}
		}
		if e.String() != test.want || e.leftOut() != test.left {
			t.Errorf("%q: %q without %d bytes, want %q without %d", test.writes, e.String(), e.leftOut(), test.want,
				test.left)
		}
	}
}
