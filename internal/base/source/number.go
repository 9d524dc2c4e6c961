package source

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// maxHexDigits bounds a number in another base than ten that no machine word holds.
const maxHexDigits = 1_000

// decimalNumber matches a decimal number as people write it, YAML's forms +5, .5 and 5. included.
var decimalNumber = text.Regexp(`^([+-]?)(\d*)(\.\d*)?([eE][+-]?\d+)?$`)

// wholeNumber matches a whole number in YAML's core schema (https://yaml.org/spec/1.2.2/#1032-tag-resolution).
var wholeNumber = text.Regexp(`^[+-]?\d+$`)

// exactNumber returns the number that a scalar writes as an int, a float64 or, where neither holds the number that was
// written (whole numbers of more than 64 bits, 1e400), as a json.Number.
func exactNumber(scalar string) any {
	if i, err := strconv.Atoi(scalar); err == nil {
		return i
	}
	plain := strings.ReplaceAll(scalar, "_", "")
	f, ok := Value{Kind: Number, Scalar: plain}.Float()
	switch parts := decimalNumber().FindStringSubmatch(plain); {
	case parts != nil && (parts[3] == "" && parts[4] == "" || !ok):
		return jsonNumber(parts)
	case ok:
		return f
	case len(plain) <= maxHexDigits: // 0x…, too large for 64 bits
		if i, whole := new(big.Int).SetString(plain, 0); whole {
			return json.Number(i.String())
		}
	}
	return scalar // no parser takes it for a number
}

// jsonNumber returns a matched decimal number in the form of JSON, which knows no sign +, no zeros in front and no bare
// point.
func jsonNumber(parts []string) any {
	whole := strings.TrimLeft(parts[2], "0")
	if whole == "" {
		whole = "0"
	}
	fraction := parts[3]
	if fraction == "." {
		fraction = ""
	}
	text := strings.TrimPrefix(parts[1], "+") + whole + fraction + parts[4]
	if i, err := strconv.Atoi(text); err == nil {
		return i
	}
	return json.Number(text)
}
