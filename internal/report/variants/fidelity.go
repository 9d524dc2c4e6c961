package variants

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/page"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// fidelityView says how like the real users the simulated one is, and how much it spoke.
type fidelityView struct {
	Sign result.Verdict
	Said string
	Rows []fidelityRow
	// Spoken are the messages of each lane.
	Spoken []spokenRow
}

type fidelityRow struct {
	Name, Meaning, Value string
	Overall              bool
	Bar                  page.Bar
}

type spokenRow struct {
	Lane                                     string
	Messages, Simulated, Invented, Elsewhere string
}

// fidelityOf is nil in other modes.
func fidelityOf(r *replay.Report) *fidelityView {
	if r.Run.Mode != replay.Simulated || r.Run.Sessions == 0 {
		return nil
	}
	v := &fidelityView{Sign: result.Skip, Said: "How like the real users it is was not measured: the fidelity is unknown."}
	if f := r.Fidelity; f != nil {
		v.Sign = signOf(f.Overall >= f.Floor)
		v.Said = fidelitySentence(f)
		for _, part := range fidelityParts(f) {
			v.Rows = append(v.Rows, fidelityRow{
				part.name, part.meaning, fmt.Sprintf("%.2f", part.value), part.name == "Overall", page.BarOf(part.value, [2]float64{0, min(max(part.value, 0), 1)}),
			})
		}
	}
	for _, lane := range []string{replay.Baseline, replay.Candidate} {
		s, has := r.Simulated[lane]
		if !has {
			continue
		}
		v.Spoken = append(v.Spoken, spokenRow{
			laneWord(lane), text.Count(s.Messages), ofAll(s.Simulated, s.Messages), ofAll(s.Invented, s.Messages), ofAll(s.Unvisited, s.Messages),
		})
	}
	return v
}

func fidelitySentence(f *replay.Fidelity) string {
	return fmt.Sprintf("The simulated user talked to the logged bot in %s, from the first message. Its fidelity is %.2f, and %.3g is needed for a verdict.",
		text.Plural(f.Sessions, "session"), f.Overall, f.Floor)
}

type fidelityPart struct {
	name, meaning string
	value         float64
}

func fidelityParts(f *replay.Fidelity) []fidelityPart {
	return []fidelityPart{
		{"Overall", "the least of the four", f.Overall},
		{"Kinds", "messages are of the same kinds", f.Kinds},
		{"Fields", "the logged data is given", f.Fields},
		{"Length", "conversations are as long", f.Length},
		{"End", "they end where the log ends", f.End},
	}
}

// FidelityWords says how like the real users a simulated one is; nil is not known.
func FidelityWords(f *replay.Fidelity) string {
	if f == nil {
		return "How like the real users the simulated one is, its fidelity, is not kept with this replay."
	}
	var parts []string
	for _, part := range fidelityParts(f)[1:] {
		parts = append(parts, fmt.Sprintf("%s: %.2f", part.meaning, part.value))
	}
	return fidelitySentence(f) + " It is the least of four: " + strings.Join(parts, ", ") + "."
}

// ofAll writes a count with its share.
func ofAll(n, all int) string {
	if all == 0 {
		return text.Count(n)
	}
	return text.Count(n) + " (" + quantity(float64(n)/float64(all), replay.Share) + ")"
}
