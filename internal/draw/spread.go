package draw

// spread returns places near the wanted ones, in the same order and at least the distances apart: apart[i] lies before place i.
// The weighted sum of squared deviations is the least possible: isotonic regression by pooling adjacent violators.
// Source: R. E. Barlow and H. D. Brunk, The Isotonic Regression Problem and Its Dual, JASA 67 (1972).
// are in each other's way. Source: R. E. Barlow and H. D. Brunk, The Isotonic Regression Problem and Its Dual, JASA 67 (1972).
func spread(wanted, weights []float64, apart []int) []float64 {
	type pool struct {
		mean, weight float64
		size         int
	}
	var pools []pool
	offset := 0.0
	places := make([]float64, len(wanted))
	for i, x := range wanted {
		offset += float64(apart[i])
		places[i] = offset
		last := pool{x - offset, weights[i], 1}
		for len(pools) > 0 && pools[len(pools)-1].mean > last.mean {
			before := pools[len(pools)-1]
			pools = pools[:len(pools)-1]
			sum := before.weight + last.weight
			// The conversions prevent fused operations, so that a picture has the same bytes on every processor.
			last.mean = (float64(before.mean*before.weight) + float64(last.mean*last.weight)) / sum
			last.weight, last.size = sum, before.size+last.size
		}
		pools = append(pools, last)
	}
	i := 0
	for _, p := range pools {
		for range p.size {
			places[i] += p.mean
			i++
		}
	}
	return places
}
