package verify

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Text writes in which fields rebuilt states differ, with what explains it, and the totals.
func Text(out io.Writer, all []Comparison) error {
	for i := range all {
		c := &all[i]
		if len(c.Differences) == 0 {
			continue
		}
		for _, d := range c.Differences {
			fmt.Fprintf(out, "%s  %s: %s when played, %s when rebuilt\n", c.ID, d.Field, clippedJSON(d.Natural),
				clippedJSON(d.Rebuilt))
		}
		for _, b := range c.Blocked {
			fmt.Fprintf(out, "%s  turn %d was not answered when played: the abuse gate closed (%s)\n", c.ID,
				b.Turn, b.Why)
		}
		if len(c.Lost) > 0 {
			fmt.Fprintf(out, "%s  no history tells: %s\n", c.ID, strings.Join(c.Lost, ", "))
		}
	}
	t := Count(all)
	_, err := fmt.Fprintf(out, "%s: %d the same, %d different, %d that no chatbot could have led\n",
		text.Plural(t.Items, "item"), t.Same, t.Different, t.Unplayable)
	return err
}

// clippedJSON shows a value of a state, cut short.
func clippedJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "unreadable"
	}
	const most = 200
	if len(data) > most {
		return strings.ToValidUTF8(string(data[:most]), "") + "…"
	}
	return string(data)
}
