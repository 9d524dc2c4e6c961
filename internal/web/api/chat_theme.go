package api

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
)

// The surfaces on which text in the site's colour stands, as page.css has them, and the contrast that it needs there
// (WCAG 2.2, 1.4.3).
var (
	lightSurfaces = []string{"#ffffff", "#f6f4f0", "#efece5"}
	darkSurfaces  = []string{"#151412", "#24221f", "#2f2c28"}
)

const enoughContrast = 4.5

// theme is GET /chat/{site_name}/theme.css: the site's colour, made readable on light and on dark surfaces.
func (s *Chats) theme(w http.ResponseWriter, r *http.Request) {
	if found, ok := s.chatSite(w, r); ok {
		serveContent(w, r, mediaTypes[".css"], []byte(themeOf(colorOf(found))))
	}
}

// themeOf returns a style sheet. --brand fills and has --brand-ink on it; --accent is for text, lines and focus.
func themeOf(color string) string {
	brand := parseColor(color)
	return fmt.Sprintf(":root { --brand: %s; --brand-ink: %s; --accent: %s; }\n@media (prefers-color-scheme: dark) "+
		"{ :root { --accent: %s; } }\n", brand, inkOn(brand), readable(brand, lightSurfaces, rgb{}),
		readable(brand, darkSurfaces, rgb{1, 1, 1}))
}

// rgb is a colour of sRGB, each part from 0 to 1.
type rgb [3]float64

func (c rgb) String() string {
	byteOf := func(part float64) int { return int(math.Round(part * 255)) }
	return fmt.Sprintf("#%02x%02x%02x", byteOf(c[0]), byteOf(c[1]), byteOf(c[2]))
}

// parseColor reads #rrggbb, which a site's reader has checked.
func parseColor(text string) (c rgb) {
	for i := range c {
		part, _ := strconv.ParseUint(text[1+2*i:3+2*i], 16, 8)
		c[i] = float64(part) / 255
	}
	return c
}

// inkOn returns white or black, whichever is easier to read on a colour. One of them always has a contrast of more than
// 4.5.
func inkOn(c rgb) rgb {
	if white := (rgb{1, 1, 1}); contrast(white, c) >= contrast(rgb{}, c) {
		return white
	}
	return rgb{}
}

// readable mixes a colour with another one, black or white, until it can be read on all surfaces.
func readable(c rgb, surfaces []string, with rgb) rgb {
	const steps = 50
	for step := range steps {
		mixed := parseColor(mix(c, with, float64(step)/steps).String())
		if readableOn(mixed, surfaces) {
			return mixed
		}
	}
	return with
}

func readableOn(c rgb, surfaces []string) bool {
	for _, surface := range surfaces {
		if contrast(c, parseColor(surface)) < enoughContrast {
			return false
		}
	}
	return true
}

func mix(c, with rgb, share float64) (mixed rgb) {
	for i := range c {
		mixed[i] = c[i]*(1-share) + with[i]*share
	}
	return mixed
}

// contrast is the contrast ratio of two colours, from 1 to 21 (WCAG 2.2, relative luminance).
func contrast(a, b rgb) float64 {
	la, lb := luminance(a), luminance(b)
	return (math.Max(la, lb) + 0.05) / (math.Min(la, lb) + 0.05)
}

func luminance(c rgb) float64 {
	linear := func(part float64) float64 {
		if part <= 0.04045 {
			return part / 12.92
		}
		return math.Pow((part+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}
