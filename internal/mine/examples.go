package mine

import (
	"strconv"

	"rehearse/internal/source"
)

// ReadExamples reads Options.Examples from a flag: a number, or "all".
func ReadExamples(flag string) (int, error) {
	if flag == "all" {
		return All, nil
	}
	n, err := strconv.Atoi(flag)
	if err != nil || n < 0 {
		return 0, source.Invalid("--examples %q is no number: write 1, 20 or all", flag)
	}
	return n, nil
}

// choose returns the examples of each transition that leaves a state, the most frequent first: at most most of them, or All.
//
// A text that users said on several transitions becomes an example of the most frequent one, and of none when the session stayed more often
// after it. The same example at two options would be a tie, which the lexical model does not break. On the STAR corpus this gives 393
// correct next states of 1,000; examples on every transition give 352.
func choose(s *state, steps []step, most int) [][]string {
	owner, best := map[string]int{}, map[string]int{}
	for i, m := range steps {
		for key, said := range m.said.byKey {
			if said.count > best[key] {
				owner[key], best[key] = i, said.count
			}
		}
	}
	chosen := make([][]string, len(steps))
	for i, m := range steps {
		for _, said := range m.said.ranked() {
			if most != All && len(chosen[i]) == most {
				break
			}
			if owner[said.key] == i && said.count >= s.stayed.count(said.key) {
				chosen[i] = append(chosen[i], said.shown)
			}
		}
	}
	return chosen
}
