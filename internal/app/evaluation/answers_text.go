package evaluation

import (
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// Text writes how good the answers are, and whether that is enough for a least share. It writes nothing when none was
// graded.
func (a Answers) Text(out io.Writer, least float64) {
	if a.Graded == 0 {
		return
	}
	interval, verdict := a.Interval(), "enough"
	if a.Share() < least {
		verdict = "too few"
	}
	fmt.Fprintf(out, "\ngood answers  %d of %d = %.2f (95 %% interval %.2f–%.2f), %s for %.2f\n",
		a.Good, a.Graded, a.Share(), interval[0], interval[1], verdict, least)
	if a.Dimensions == nil {
		return
	}
	var means []string
	for _, name := range grader.Dimensions() {
		means = append(means, fmt.Sprintf("%s %.2f", name, a.Dimensions[name]))
	}
	fmt.Fprintln(out, "mean scores   "+strings.Join(means, ", "))
}
