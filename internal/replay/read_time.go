package replay

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// layouts are the forms in which stores and exports write times; without a zone it is UTC.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999-07",
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
	// BigQuery, SQL Server, Snowflake
	"2006-01-02 15:04:05.999999999 UTC", "2006-01-02 15:04:05.999999999 Z07:00", "2006-01-02 15:04:05.999999999 Z0700",
	"2006-01-02 15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999Z0700",
}

// parseTime reads the time of a row: a text, or a number since 1970.
func parseTime(data json.RawMessage) (time.Time, error) {
	text := strings.TrimSpace(string(data))
	if strings.HasPrefix(text, `"`) && json.Unmarshal(data, &text) != nil {
		text = ""
	}
	if text == "" || text == "null" {
		return time.Time{}, errNoTime
	}
	return ReadTime(text)
}

var errNoTime = BadRow(NoTime, "it has no timestamp")

// ReadTime reads a time that every store can keep, to the microsecond: a text, or a number since 1970. Its error is a
// RowError.
func ReadTime(text string) (time.Time, error) {
	t, err := readTime(strings.TrimSpace(text))
	if err == nil && (t.Year() < 0 || t.Year() > maxYear) {
		return time.Time{}, BadRow(BadTime, "its timestamp is not in the years 0 to %d", maxYear)
	}
	return t, err
}

func readTime(text string) (time.Time, error) {
	if number, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(number) &&
		!strings.ContainsAny(text, "xXpP_") {
		return epochTime(text, number)
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC().Truncate(time.Microsecond), nil
		}
	}
	return time.Time{}, BadRow(BadTime, "its timestamp %.40q is no time such as 2026-01-31T12:00:00Z", text)
}

// epochTime reads seconds since 1970 below 10^11, milliseconds below 10^14, else microseconds.
func epochTime(text string, number float64) (time.Time, error) {
	size := math.Abs(number)
	if size > math.MaxInt64/2 {
		return time.Time{}, BadRow(BadTime,
			"its timestamp %.40s is no number of seconds, milliseconds or microseconds since 1970", text)
	}
	micros := 1.0
	switch {
	case size < 1e11:
		micros = 1e6
	case size < 1e14:
		micros = 1e3
	}
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMicro(whole * int64(micros)).UTC(), nil
	}
	return time.UnixMicro(int64(math.Round(number * micros))).UTC(), nil
}
