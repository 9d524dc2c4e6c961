package setup

import "testing"

func TestBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"64MiB": 64 << 20, "8GiB": 8 << 30, "8 GB": 8e9, "1": 1, "1.5KiB": 1536, "0": 0, "-1": 0, "": 0, "MiB": 0, "8XB": 0, "99999EiB": 0,
	} {
		if got, err := Bytes(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
}
