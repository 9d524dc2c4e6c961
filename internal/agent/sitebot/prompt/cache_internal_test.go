package prompt

import "testing"

func TestCacheIsBounded(t *testing.T) {
	var c cache[int, int]
	for i := range 3 * maxKept {
		c.put(i, i)
		c.put(i, -i)
		if got, ok := c.get(i); !ok || got != -i {
			t.Fatalf("get(%d) = %d, %v", i, got, ok)
		}
	}
	if len(c.kept) != maxKept {
		t.Errorf("%d values are kept", len(c.kept))
	}
}
