package transcript_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/report/markdown"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
)

// Whatever a grader decided on can be seen: also where it is markup that the rendered text does not show, and behind
// the beginning of a long message.
func TestEvidenceOfAMessage(t *testing.T) {
	long := strings.Repeat("é", 20_000)
	for _, tc := range []struct {
		name, said  string
		from, to    int
		as          transcript.Messages
		head, plain string // what is marked
		folded      string
	}{
		{"in bold", "a **b**", 4, 5, transcript.Rendered, "b", "", ""},
		{"the signs around it", "a **b**", 2, 4, transcript.Rendered, "", "**", ""},
		{"on a page by itself", "a **b**", 2, 4, transcript.Both, "", "**", ""},
		{"in raw text", "a **b**", 2, 4, transcript.Raw, "**", "", ""},
		{"behind the fold", long + " no", 20_001, 20_003, transcript.Rendered, "", "", "no"},
		{"across the fold", long + "no", 19_999, 20_001, transcript.Raw, "é", "", "n"},
	} {
		part := transcript.MessageOf("assistant", chat.Content{Text: tc.said},
			[]markdown.Mark{{From: tc.from, To: tc.to, Grader: "contains"}}, tc.as).Parts[0]
		for name, pair := range map[string][2]string{
			"head":   {string(part.Head), tc.head},
			"plain":  {string(part.Plain), tc.plain},
			"folded": {string(part.Folded), tc.folded},
		} {
			marked := ""
			if _, rest, found := strings.Cut(pair[0], `<mark data-evidence data-grader="contains">`); found {
				marked, _, _ = strings.Cut(rest, "</mark>")
			}
			if marked != pair[1] {
				t.Errorf("%s, %s: %q is marked, want %q", tc.name, name, marked, pair[1])
			}
		}
	}
}
