package draw

import (
	"math"
	"strconv"
	"testing"
)

// luminance is the relative luminance of a colour like #1d1c19. Source: WCAG 2.2, W3C Recommendation (2023).
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	sum := 0.0
	for i, share := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			sum += share * c / 12.92
		} else {
			sum += share * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}

// TestContrast holds WCAG 2.2 AA: 4.5 to 1 for text, 3 to 1 for lines that carry meaning.
func TestContrast(t *testing.T) {
	for name, s := range map[string]scheme{"light": light, "dark": dark} {
		check := func(what, a, b string, want float64) {
			x, y := luminance(t, a), luminance(t, b)
			if ratio := (max(x, y) + 0.05) / (min(x, y) + 0.05); ratio < want {
				t.Errorf("%s: %s is %.2f to 1, want %.1f", name, what, ratio, want)
			}
		}
		for i, tone := range s.tones {
			n := Tone(i).String()
			check(n+" name", tone.text, tone.fill, 4.5)
			check(n+" note", tone.soft, tone.fill, 4.5)
			check(n+" outline", tone.line, s.page, 3)
			check(n+" edge", s.edges[i], s.page, 3)
			check(n+" word", s.words[i], s.page, 4.5)
		}
	}
}
