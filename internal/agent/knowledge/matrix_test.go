package knowledge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestDot(t *testing.T) {
	for size := range 40 {
		a, b, want := make([]float32, size), make([]float32, size), 0.0
		for i := range size {
			a[i], b[i] = rand.Float32(), rand.Float32()
			want += float64(a[i]) * float64(b[i])
		}
		if got := dot(a, b); math.Abs(float64(got)-want) > 1e-4 {
			t.Errorf("of %d numbers: %v, want %v", size, got, want)
		}
	}
}

func TestNearestKeepsTheBest(t *testing.T) {
	rows := vectorRows{size: 1}
	for i := range 100 {
		base := int64(1 + i%2)
		rows.passages, rows.numbers = append(rows.passages, base<<baseShift|int64(i)),
			append(rows.numbers, float32((i*37)%100-20))
	}
	var got string
	for _, n := range rows.nearest([]float32{1}, []int64{2}, 4) {
		got += fmt.Sprint(n.cosine, " ")
	}
	if got != "79 77 75 73 " {
		t.Errorf("nearest: %s", got)
	}
	if n := len(rows.nearest([]float32{-1}, []int64{1, 2}, 50)); n != 20 {
		t.Errorf("%d point the other way, want 20", n)
	}
}

func BenchmarkNearest(b *testing.B) {
	for _, n := range []int{10_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rows := vectorRows{size: 384, numbers: make([]float32, n*384)}
			for i := range rows.numbers {
				rows.numbers[i] = rand.Float32() - 0.5
			}
			for i := range n {
				rows.passages = append(rows.passages, 1<<baseShift|int64(i))
			}
			for b.Loop() {
				rows.nearest(rows.numbers[:384], []int64{1}, fuseDepth)
			}
		})
	}
}
