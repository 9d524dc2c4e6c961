package runspec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Age is a time.Duration that may also be written in days, such as "30d".
type Age time.Duration

const day = 24 * time.Hour

// String writes the age as Go writes durations.
func (a Age) String() string { return time.Duration(a).String() }

// MarshalText writes the age as Go writes durations.
func (a Age) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads an age such as "30d" or "36h". It is not negative.
func (a *Age) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		if err == nil && !(n <= float64(math.MaxInt64/int64(day))) {
			err = strconv.ErrRange
		}
		read = time.Duration(n * float64(day))
	}
	if err != nil || read < 0 {
		return fmt.Errorf("age %q: write a number and a unit, such as 30d or 36h", text)
	}
	*a = Age(read)
	return nil
}

// Set reads the value of a flag.
func (a *Age) Set(text string) error { return a.UnmarshalText([]byte(text)) }

// Type names the value of a flag.
func (*Age) Type() string { return "age" }
