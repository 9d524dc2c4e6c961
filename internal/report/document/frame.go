package document

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"regexp"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

//go:embed frame.html.tmpl
var frameSource string

//go:embed frame.css
var frameStyle string

// Parse parses the pieces of a page, which can use those of the frame, with the frame's style sheet and its own. The
// policy allows the page's one style sheet, by its hash, and pictures that are in the page itself. Nothing else is
// loaded or run, whatever a transcript manages to put there. More are functions that the page uses beside the frame's
// own.
func Parse(style, source string, more ...template.FuncMap) *template.Template {
	style = regexp.MustCompile(`(?s)/\*.*?\*/\s*`).ReplaceAllString(frameStyle+style, "")
	hash := sha256.Sum256([]byte(style))
	source = strings.NewReplacer(
		"[style]", style, "[style hash]", "sha256-"+base64.StdEncoding.EncodeToString(hash[:]),
	).Replace(frameSource + source)
	pieces := template.New("page").Funcs(template.FuncMap{
		"count": text.Count, "many": text.Plural, "percent": text.Percent, "between": text.PercentRange,
		"score": func(x float64) string { return text.Score(x, 2) }, "took": text.Milliseconds, "capital": text.Capital,
		"line": text.OneLine,
		"word": VerdictWord,
		"icon": Icon, "check": CheckVerdict,
	})
	for _, functions := range more {
		pieces.Funcs(functions)
	}
	return template.Must(pieces.Parse(source))
}

// VerdictWord is a verdict as a word on the page.
func VerdictWord(v result.Verdict) string {
	switch v {
	case result.Pass:
		return "passed"
	case result.Fail:
		return "failed"
	case result.Error:
		return "error"
	case result.Ungraded:
		return "not graded"
	}
	return "skipped"
}

// CheckVerdict is the verdict of a check.
func CheckVerdict(passed bool) result.Verdict {
	if passed {
		return result.Pass
	}
	return result.Fail
}

// Icon is a verdict as a picture, with its word for those who do not see it.
func Icon(v result.Verdict) template.HTML {
	name := template.HTMLEscapeString(string(v))
	return template.HTML(`<svg class="icon ` + name + `" aria-hidden="true" focusable="false"><use href="#i-` + name +
		`"/></svg><span class="said-only">` + VerdictWord(v) + `</span>`) //nolint:gosec // escaped above
}

// Filter is one choice of what is shown.
type Filter struct {
	ID, Label string
	Count     int
}

// Bar is an interval from 0 to 100 with the rate in it, in units of its drawing.
type Bar struct{ Low, Width, At float64 }

// BarOf draws a rate and its interval, shares of 1.
func BarOf(rate float64, interval [2]float64) Bar {
	return Bar{Low: Round(100 * interval[0]), Width: Round(100 * (interval[1] - interval[0])), At: Round(100 * rate)}
}

// Round rounds a coordinate that is not negative to two digits.
func Round(x float64) float64 { return float64(int(x*100+0.5)) / 100 }

// Style returns the frame's style sheet, for pages that link to it.
func Style() string { return frameStyle }
