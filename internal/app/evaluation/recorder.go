package evaluation

import (
	"crypto/sha256"
	"fmt"
	"iter"

	"github.com/rehearse-dev/rehearse/internal/run/fingerprint"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// recorder keeps records in the log with their fingerprints, counts them and tells the sink of them. One goroutine uses
// it.
type recorder struct {
	log  *runlog.Log
	sink Sink
	// store, if set, keeps the records before the log does.
	store  func(records []*result.Test, lines [][]byte) error
	prints *fingerprints
	// open has what is known of tests that have begun; ended says of units, by their numbers, that they have a record
	// now.
	open  map[result.Key]begun
	ended []bool
	// all is the fingerprint of the run, empty until every test has begun.
	all     string
	records result.Tallies
}

// begun is what records get of a test that has begun: its fingerprint, how it is compared, and where it was written.
type begun struct {
	fingerprint string
	definition  string
	cluster     string
	required    bool
	trials      int
	source      *result.Source
	number      int
	position    int
	quarantined *quarantine.Terms
}

// fill writes what is known of a test into a record of it.
func (b begun) fill(t *result.Test) {
	t.Fingerprint, t.Definition, t.Source, t.Position, t.Quarantined = b.fingerprint, b.definition, b.source,
		b.position, b.quarantined
	t.Cluster, t.Required = b.cluster, b.required
	if t.Trials != nil {
		t.Trials.Planned = b.trials
	}
}

// begunOf returns what records get of a test.
func (k *recorder) begunOf(u orchestrator.Unit) (test begun, err error) {
	test = begun{
		cluster: u.Test.Cluster, required: u.Test.Required, trials: u.Test.Execution.Trials.Count,
		source: k.prints.e.sourceOf(u.Test), number: u.Number, position: u.Position,
		quarantined: k.prints.e.quarantined(u.Test),
	}
	test.fingerprint, test.definition, err = k.prints.of(u)
	return test, err
}

// printed yields the units and remembers their fingerprints.
func (k *recorder) printed(units iter.Seq2[orchestrator.Unit, error]) iter.Seq2[orchestrator.Unit, error] {
	return func(yield func(orchestrator.Unit, error) bool) {
		h := sha256.New()
		for u, err := range units {
			key := result.Key{}
			if err == nil {
				key = keyOf(u)
				k.open[key], err = k.begunOf(u)
			}
			if err != nil {
				yield(u, err)
				return
			}
			fmt.Fprintln(h, key.Suite, key.TestID, k.prints.files.WithoutPath(key.Target, ""), k.open[key].fingerprint)
			if !yield(u, nil) {
				return
			}
		}
		k.all = fingerprint.Short(h)
	}
}

// fingerprint returns the fingerprint of the whole run, also of a stopped one.
func (k *recorder) fingerprint(p *plan) (string, error) {
	if k.all == "" {
		for _, err := range k.printed(p.units()) {
			if err != nil {
				return "", err
			}
		}
	}
	return k.all, nil
}

// Append implements orchestrator.Results.
func (k *recorder) Append(records ...*result.Test) error {
	lines := make([][]byte, len(records))
	for i, t := range records {
		k.open[conversationKey(t)].fill(t)
		var err error
		if lines[i], err = k.log.Line(t); err != nil {
			return err
		}
	}
	if k.store != nil {
		if err := k.store(records, lines); err != nil {
			return err
		}
	}
	for i, t := range records {
		if err := k.log.Write(lines[i]); err != nil {
			return err
		}
		k.records.Add(t)
		if t.Trial == 0 {
			k.end(conversationKey(t))
		}
		k.sink.Store(t)
	}
	return nil
}

// end forgets what is known of a test, but for that it has a record.
func (k *recorder) end(test result.Key) {
	b, open := k.open[test]
	if !open {
		return
	}
	if b.number >= len(k.ended) {
		k.ended = append(k.ended, make([]bool, b.number+1-len(k.ended))...)
	}
	k.ended[b.number] = true
	delete(k.open, test)
}

// has reports whether a unit has a record.
func (k *recorder) has(u orchestrator.Unit) bool { return u.Number < len(k.ended) && k.ended[u.Number] }
