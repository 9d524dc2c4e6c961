package retry

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxAsked keeps absurd numbers from overflowing.
const maxAsked = 365 * 24 * time.Hour

// After returns how long a server asks to wait before the next request: the header Retry-After-Ms, which some model
// endpoints send, in milliseconds, else Retry-After as seconds, also with a fraction, or as a date (RFC 9110, section
// 10.2.3). It is 0 where the server does not say, for a date that is over, and for what cannot be read, and at most a
// year.
func After(header http.Header, now time.Time) time.Duration {
	if asked, ok := number(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return asked
	}
	text := header.Get("Retry-After")
	if asked, ok := number(text, time.Second); ok {
		return asked
	}
	if date, err := http.ParseTime(strings.TrimSpace(text)); err == nil {
		return min(max(0, date.Sub(now)), maxAsked)
	}
	return 0
}

func number(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 0) { // also not a number
		return 0, false
	}
	return time.Duration(min(n, float64(maxAsked/unit)) * float64(unit)), true
}
