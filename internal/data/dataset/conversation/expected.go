package conversation

import (
	"encoding/json"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Origin reads again what a run was made of.
type Origin struct {
	// Suites reads the suites of a file.
	Suites func(file string) ([]*suite.Suite, error)
	// Records reads the items of a dataset.
	Records func(name string) ([]dataset.Record, error)
}

// Expected returns what was expected of a turn, as it stands in an item, or nil where nothing was or it is not known.
// The results of a run do not tell it: it is looked up in what was run. unread are the suites and datasets that cannot
// be read any more.
func (c *Recorded) Expected(turn int, from Origin) (expected json.RawMessage, unread []string) {
	if c.test == nil {
		return nil, nil
	}
	ofItems := len(c.test.run.Command) > 0 && c.test.run.Command[0] == "e2e"
	for _, name := range c.test.run.Suites {
		var err error
		if ofItems {
			expected, err = c.ofItem(name, from)
		} else {
			expected, err = c.ofSuite(name, turn, from)
		}
		switch {
		case err != nil:
			unread = append(unread, name)
		case expected != nil:
			return expected, unread
		}
	}
	return nil, unread
}

// ofItem returns what an item expects that was evaluated.
func (c *Recorded) ofItem(name string, from Origin) (json.RawMessage, error) {
	records, err := from.Records(name)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(records, func(r dataset.Record) bool { return r.ID == c.test.record.TestID }); i >= 0 {
		return records[i].Expected, nil
	}
	return nil, nil
}

// ofSuite returns what the suites of a file expect of a turn.
func (c *Recorded) ofSuite(file string, turn int, from Origin) (json.RawMessage, error) {
	suites, err := from.Suites(file)
	if err != nil {
		return nil, err
	}
	for _, s := range suites {
		if response := expectedIn(s, c.test.record, turn); response != "" {
			return dataset.Response(response), nil
		}
	}
	return nil, nil
}

// expectedIn returns what a suite expects of a turn of a test. Where several suites had one name, the record has that
// of the file.
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
