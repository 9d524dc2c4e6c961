package replay

import (
	"fmt"
	"strings"
)

// hearing counts the turns of a lane for which the log is in another state than before in the session, and those of
// them that the lane has no words for: it repeats what it has said for another logged state, or what the user says.
type hearing struct{ moves, empty int }

// mostlyEmpty is the share of such turns above which the states of a lane are not believed.
const mostlyEmpty = 0.5

// hear counts the turns of a lane beside the logged ones. States are what an agent says of itself, so that one that
// guesses them, or always tells the commonest, could follow the log and answer anything.
func (h *hearing) hear(lane, observed *Variation) {
	if lane.NoStates || observed == nil {
		return
	}
	moved := false
	stateOf := make(map[string]string, len(lane.Turns)) // the logged one, by the words that the lane said first for it
	for i := range min(len(lane.Turns), len(observed.Turns)) {
		t, logged := &lane.Turns[i], observed.Turns[i].State
		words := strings.TrimSpace(t.Bot)
		moved = moved || logged != observed.Turns[0].State
		if words == "" || t.Invented { // not taken, a call of a tool, or a guard's to find; or the log is left
			continue
		}
		where, said := stateOf[words]
		if !said {
			stateOf[words] = logged
		}
		if !moved {
			continue
		}
		if h.moves++; said && where != logged || words == strings.TrimSpace(t.User) {
			h.empty++
		}
	}
}

func (h hearing) share() float64 { return float64(h.empty) / float64(max(h.moves, 1)) }

// emptyWords says that the words of the candidate do not bear out its states, where those of the baseline do.
func (f *findings) emptyWords() []Reason {
	is, was := f.heard[Candidate].share(), f.heard[Baseline].share()
	if is <= mostlyEmpty || was > mostlyEmpty {
		return nil
	}
	return []Reason{{"power", StateProgression, fmt.Sprintf(
		"the candidate repeats itself or the user in %.1f %% of the turns in which the log goes on to another state "+
			"(the baseline in %.1f %%), so that its words do "+
			"not bear out the states that it tells: read the sessions, "+
			"or accept it with --margin state_progression_match=100pp", 100*is, 100*was)}}
}
