package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/dataset"
	"rehearse/internal/evaluation"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/source"
	"rehearse/internal/suite"
)

// fromRun finds the conversation of a test in a run.
func (f *addFlags) fromRun(ctx context.Context, env *Env) (*recorded, error) {
	dir, err := env.findRun(ctx, f.run, "", ".")
	if err != nil {
		return nil, err
	}
	run, err := runlog.ReadRun(dir)
	if err != nil {
		return nil, usage("cannot read the run: %w", err)
	}
	t, err := f.find(dir)
	if err != nil {
		return nil, err
	}
	c := &recorded{
		kind: "test", name: t.TestID, parts: []string{run.ID, t.Suite, t.TestID, t.Target, fmt.Sprint(t.Trial)},
		source: func(int) map[string]any { return sourceOf(&run, t) },
	}
	c.said, c.turns = saidIn(t)
	c.chosen, c.why = len(c.turns), "the last"
	if failed := firstFailed(t); failed > 0 && failed <= len(c.turns) {
		c.chosen, c.why = failed, "the first that failed"
	}
	c.site, _ = t.Metadata["site_name"].(string)
	c.expected = func(turn int) json.RawMessage { return f.reference(ctx, env, &run, t, turn) }
	return c, nil
}

// find returns the record of the test: of its trials the one that was named, or the first that failed.
func (f *addFlags) find(dir string) (*result.Test, error) {
	var found []*result.Test
	var known, suites, targets []string
	for t, err := range runlog.Read(dir) {
		switch {
		case err != nil:
			return nil, outcome(err)
		case t.TestID != f.test:
			known = append(known, t.TestID)
		case t.Trials != nil: // over its trials; they have records of their own
		case f.suite != "" && t.Suite != f.suite || f.target != "" && t.Target != f.target || f.trial != 0 && t.Trial != f.trial:
		default:
			found = append(found, t)
			suites, targets = append(suites, t.Suite), append(targets, t.Target)
		}
	}
	suites, targets = distinct(suites), distinct(targets)
	switch {
	case len(found) == 0 && f.suite+f.target == "" && f.trial == 0:
		return nil, usage("the run in %s has no test %q: %s", dir, f.test, source.Suggest(f.test, distinct(known)))
	case len(found) == 0:
		return nil, usage("the run in %s has no such record of the test %q: check --suite, --target and --trial", dir, f.test)
	case len(suites) > 1:
		return nil, usage("several suites have a test %q: name one with --suite: %s", f.test, strings.Join(suites, ", "))
	case len(targets) > 1:
		return nil, usage("the test %q ran with several targets: name one with --target: %s", f.test, strings.Join(targets, ", "))
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

// saidIn returns what was said in a conversation, with what stood before its first turn, and where the turns begin.
func saidIn(t *result.Test) (said []utterance, turns []int) {
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

// reference returns what the test expected of a turn, which no result tells: it is looked up in what was run, as far as that is still there.
func (f *addFlags) reference(ctx context.Context, env *Env, run *result.Run, t *result.Test, turn int) json.RawMessage {
	if f.expected != "" {
		return nil
	}
	if len(run.Command) > 0 && run.Command[0] == "e2e" {
		return itemExpectation(ctx, env, run, t.TestID)
	}
	for _, file := range run.Suites {
		suites, problems, err := evaluation.Load([]string{file}, env.LookupEnv)
		if err != nil || len(problems) > 0 {
			fmt.Fprintf(env.Stderr, "rehearse: %s cannot be read any more, so that it is not known what was expected\n", harmless(file))
			continue
		}
		for _, s := range suites {
			if response := expectedIn(s, t, turn); response != "" {
				expected, _ := plainJSON(map[string]string{"response": response}) // a text always encodes
				return expected
			}
		}
	}
	return nil
}

// expectedIn returns what a suite expects of a turn of a test. Where several suites had one name, the record has that of the file.
func expectedIn(s *suite.Suite, t *result.Test, turn int) string {
	if s.Name != t.Suite && s.File != t.Suite {
		return ""
	}
	for found, err := range s.Tests() {
		if err == nil && found.ID == t.TestID && turn <= len(found.Turns) {
			return found.Turns[turn-1].Expected
		}
	}
	return ""
}

// itemExpectation returns what an item expects that was evaluated.
func itemExpectation(ctx context.Context, env *Env, run *result.Run, id string) json.RawMessage {
	for _, name := range run.Suites {
		records, _, err := openDataset(ctx, env, name)
		if err != nil {
			fmt.Fprintf(env.Stderr, "rehearse: %s cannot be read any more, so that it is not known what was expected\n", harmless(name))
			continue
		}
		if i := slices.IndexFunc(records, func(r dataset.Record) bool { return r.ID == id }); i >= 0 {
			return records[i].Expected
		}
	}
	return nil
}
