package conversation

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Selection says which conversation of a run is meant.
type Selection struct {
	// Test is the id of the test. Suite and Target are needed where several have such a test.
	Test, Suite, Target string
	// Trial is the trial, from 1; 0 is the first that failed, or else the first.
	Trial int
}

// testOf is the record of a test, and the run that it belongs to.
type testOf struct {
	run    *result.Run
	record *result.Test
}

// OfTest finds the conversation of a test among the records of a run, which folder names in errors.
func OfTest(run *result.Run, folder string, records iter.Seq2[*result.Test, error], s Selection) (*Recorded, error) {
	t, err := s.find(folder, records)
	if err != nil {
		return nil, err
	}
	c := &Recorded{
		kind: "test", name: t.TestID, parts: []string{run.ID, t.Suite, t.TestID, t.Target, fmt.Sprint(t.Trial)},
		source: func(int) map[string]any { return sourceOf(run, t) },
		test:   &testOf{run, t},
	}
	c.said, c.turns = utterancesOf(t)
	c.chosen, c.why = len(c.turns), "the last"
	if failed := firstFailed(t); failed > 0 && failed <= len(c.turns) {
		c.chosen, c.why = failed, "the first that failed"
	}
	c.Site, _ = t.Metadata["site_name"].(string)
	return c, nil
}

// find returns the record of the test: of its trials the one that was named, or the first that failed.
func (s Selection) find(folder string, records iter.Seq2[*result.Test, error]) (*result.Test, error) {
	var found []*result.Test
	var known, suites, targets []string
	for t, err := range records {
		switch {
		case err != nil:
			return nil, err
		case t.TestID != s.Test:
			known = append(known, t.TestID)
		case t.Trials != nil: // over its trials; they have records of their own
		case s.Suite != "" && t.Suite != s.Suite || s.Target != "" && t.Target != s.Target ||
			s.Trial != 0 && t.Trial != s.Trial:
		default:
			found = append(found, t)
			suites, targets = append(suites, t.Suite), append(targets, t.Target)
		}
	}
	suites, targets = distinct(suites), distinct(targets)
	switch {
	case len(found) == 0 && s.Suite+s.Target == "" && s.Trial == 0:
		return nil, source.Invalid("the run in %s has no test %q: %s", folder, s.Test,
			source.Suggest(s.Test, distinct(known)))
	case len(found) == 0:
		return nil, source.Invalid(
			"the run in %s has no such record of the test %q: check --suite, --target and --trial", folder, s.Test)
	case len(suites) > 1:
		return nil, source.Invalid("several suites have a test %q: name one with --suite: %s", s.Test,
			strings.Join(suites, ", "))
	case len(targets) > 1:
		return nil, source.Invalid("the test %q ran with several targets: name one with --target: %s", s.Test,
			strings.Join(targets, ", "))
	}
	slices.SortStableFunc(found, func(a, b *result.Test) int { return cmp.Compare(a.Trial, b.Trial) })
	for _, verdict := range []result.Verdict{result.Fail, result.Error} {
		if i := slices.IndexFunc(found, func(t *result.Test) bool { return t.Verdict == verdict }); i >= 0 {
			return found[i], nil
		}
	}
	return found[0], nil
}

// distinct returns texts in order, each once.
func distinct(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }

// sourceOf says where an item of a run comes from.
func sourceOf(run *result.Run, t *result.Test) map[string]any {
	from := map[string]any{"run": run.ID, "suite": t.Suite, "test": t.TestID, "target": t.Target, "verdict": t.Verdict}
	if t.Trial > 0 {
		from["trial"] = t.Trial
	}
	return from
}

// firstFailed returns the first turn that failed, from 1; 0 if none did.
func firstFailed(t *result.Test) int {
	for _, s := range t.Scores {
		var turn int
		if n, err := fmt.Sscanf(s.Name, "turn-%d", &turn); err == nil && n == 1 && s.Verdict == result.Fail {
			return turn
		}
	}
	return 0
}

// utterancesOf returns what was said in a conversation, with what stood before its first turn, and where the turns
// begin.
func utterancesOf(t *result.Test) (said []utterance, turns []int) {
	var users []int
	for _, m := range t.Output {
		if m.Role != chat.User && m.Role != chat.Assistant {
			continue // results of tools are no part of what was said
		}
		if m.Role == chat.User {
			users = append(users, len(said))
		}
		said = append(said, utterance{m.Role, m.Content.String()})
	}
	if earlier := len(users) - len(t.Turns); earlier >= 0 {
		same := func(i int) bool { return said[users[earlier+i]].Content == t.Turns[i].Input.String() }
		for i := 0; i < len(t.Turns) && same(i); i++ {
			turns = append(turns, users[earlier+i])
		}
	}
	if len(turns) == len(t.Turns) {
		return said, turns
	}
	said, turns = nil, nil // the transcript is not that of the turns
	for i := range t.Turns {
		turns = append(turns, len(said))
		said = append(said, utterance{chat.User, t.Turns[i].Input.String()})
		if t.Turns[i].Output != "" {
			said = append(said, utterance{chat.Assistant, t.Turns[i].Output})
		}
	}
	return said, turns
}
