package variants

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// mdSideBySide writes the sessions that differ most.
func mdSideBySide(b *strings.Builder, r *replay.Report) {
	written := 0
	for _, p := range mostDifferent(r.Sessions) {
		if written == maxSideBySide || p.Dropped != "" || unlike(p) == 0 {
			return // what follows is less different still
		}
		block := mdSession(p)
		if b.Len()+len(block) > text.MaxComment {
			return
		}
		if written == 0 {
			b.WriteString("### The sessions that differ most\n\n")
		}
		b.WriteString(block)
		written++
	}
}

func mdSession(p *replay.Pair) string {
	b := &strings.Builder{}
	lanes := lanesOf(p)
	about := make([]string, 0, len(lanes))
	for _, l := range lanes {
		about = append(about, strings.ToLower(text.MarkdownHTML(laneWord(l.Name)))+" "+laneSummary(p, l))
	}
	fmt.Fprintf(b, "<details><summary><b>%s</b> · %s</summary>\n\n", text.MarkdownHTML(text.OneLine(p.SessionID, 100)), strings.Join(about, " · "))
	b.WriteString("| User |")
	for _, l := range lanes {
		fmt.Fprintf(b, " %s |", text.Markdown(laneWord(l.Name)))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(lanes)) + "\n")
	turns := turnsOf(lanes)
	for n := range min(turns, maxSideBySideRows) {
		b.WriteString(mdRow(lanes, n))
	}
	if left := turns - maxSideBySideRows; left > 0 {
		fmt.Fprintf(b, "\n… and %s.\n", text.Plural(left, "more turn"))
	}
	b.WriteString("\n</details>\n\n")
	return b.String()
}

func mdRow(lanes []*replay.Variation, n int) string {
	said, cells := "", &strings.Builder{}
	for i, l := range lanes {
		t := turnOf(l, n)
		if t == nil {
			cells.WriteString(" – |")
			continue
		}
		user := text.OneLine(t.User, maxSideBySideText)
		if t.Invented {
			user = "(simulated) " + user
		}
		fmt.Fprint(cells, " ")
		switch {
		case said == "":
			said = user
		case said != user:
			fmt.Fprintf(cells, "*%s*<br>", text.Markdown("user: "+user))
		}
		state := text.Markdown(text.OneLine(t.State, 60))
		if logged := turnOf(lanes[0], n); i > 0 && logged != nil && logged.State != t.State {
			state = "**≠ " + state + "**"
		}
		fmt.Fprintf(cells, "%s<br><sub>%s", text.Markdown(text.OneLine(t.Bot, maxSideBySideText)), state)
		if !t.Supported && i > 0 {
			cells.WriteString(" · not supported")
		}
		cells.WriteString("</sub> |")
	}
	return "| " + text.Markdown(said) + " |" + cells.String() + "\n"
}

// laneSummary says how a session went in a lane.
func laneSummary(p *replay.Pair, l *replay.Variation) string {
	s := "not completed"
	switch {
	case l.Name == replay.Observed:
		s = outcomeWord(p.Outcome)
	case l.Error != "":
		s = "failed"
	case l.Endless:
		s = "end not told"
	case l.Completed:
		s = "completed"
	}
	return s + " in " + text.Plural(len(l.Turns), "turn")
}
