package evaluation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/run/fingerprint"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// fingerprintVersion changes when equal inputs no longer give equal records.
const fingerprintVersion = 1

// fingerprints hash everything that decides a record: the settled test, the content of every file that it or its target
// names, and the definitions of target and judge. No path is part of it but those that the author wrote. It is used by
// one goroutine.
type fingerprints struct {
	e     *Evaluation
	files *fingerprint.Files
	// parts has the hashes of targets and judges, which many tests share.
	parts map[string]string
}

func newFingerprints(e *Evaluation) *fingerprints {
	return &fingerprints{e: e, files: fingerprint.New(e.setup.Files), parts: map[string]string{}}
}

// settled is a test as far as it decides its record. Workers, budget and cache do not, unless trials share verdicts.
type settled struct {
	Version    int
	Test       suite.Test
	Turns      []json.RawMessage
	Assertions json.RawMessage
	Files      []fingerprint.Content
	Target     string
	Judge      string
	User       *settledUser `json:",omitempty"`
}

// assertion is an assertion with its parameters as plain values.
type assertion struct {
	suite.Assertion
	Params any
	// Dir and Vars decide nothing by themselves: files and variables are filled in.
	Dir, Vars string
}

// of returns the fingerprint of a test with a target, and the hash of its definition.
func (f *fingerprints) of(u orchestrator.Unit) (whole, definition string, err error) {
	t := *u.Test
	s := settled{Version: fingerprintVersion}
	x := t.Execution
	t.Execution = suite.Execution{
		Threshold: x.Threshold, Trials: x.Trials, Retries: x.Retries, Timeout: x.Timeout,
		ConversationTimeout: x.ConversationTimeout, ShortCircuit: x.ShortCircuit, Strict: x.Strict,
	}
	if x.Cache == suite.CacheShared {
		t.Execution.Cache = x.Cache
	}
	t.Turns = slices.Clone(t.Turns)
	for i := range t.Turns {
		plain, err := f.plain(t.Turns[i].Assertions, &s.Files)
		if err != nil {
			return "", "", err
		}
		s.Turns = append(s.Turns, plain)
		t.Turns[i].Assertions = nil
	}
	if s.Assertions, err = f.plain(t.Assertions, &s.Files); err != nil {
		return "", "", err
	}
	if s.User, err = f.user(u.Test, &s.Files); err != nil {
		return "", "", err
	}
	t.Assertions, t.User, t.EveryTurn = nil, nil, nil
	s.Test = t
	if s.Target, err = f.target(u.Test.Suite, u.Target); err != nil {
		return "", "", err
	}
	if f.e.needsOf(u.Test).judge {
		if s.Judge, err = f.judge(u.Test.Suite); err != nil {
			return "", "", err
		}
	}
	if definition, err = f.definitionOf(s); err != nil {
		return "", "", err
	}
	whole, err = f.sum(s)
	return whole, definition, err
}

// definitionOf returns the hash of what the author of a test wrote: what is said to the agent and how it is graded,
// with the files that this names. Settings that say how often, how long, with whom or how strictly it is run are not
// part of it, nor are names.
func (f *fingerprints) definitionOf(s settled) (string, error) {
	t := s.Test
	t.Execution = suite.Execution{ShortCircuit: t.Execution.ShortCircuit}
	t.Suite, t.ID, t.Tags, t.Metadata, t.Cluster, t.Required = "", "", nil, nil, "", false
	t.DependsOn, t.OnDependencyFailure = nil, ""
	s.Test, s.Target, s.Judge = t, "", ""
	if s.User != nil {
		user := *s.User
		user.Player, s.User = "", &user
	}
	return f.sum(s)
}

// plain returns assertions with their parameters as plain values, in JSON, and adds the files that they name.
func (f *fingerprints) plain(assertions []suite.Assertion, files *[]fingerprint.Content) (json.RawMessage, error) {
	var all []assertion
	for _, a := range assertions {
		params := a.Params.Any()
		*files = append(*files, f.files.Named(params, a.Dir)...)
		all = append(all, assertion{Assertion: a, Params: params})
	}
	data, err := json.Marshal(all) // once for both hashes
	if err != nil {
		return nil, fmt.Errorf("fingerprint: %w", err)
	}
	return data, nil
}

// target returns the hash of a target's definition.
func (f *fingerprints) target(suiteName, name string) (string, error) {
	if r := f.e.regraded; r != nil { // its replies are those of the record
		return cmp.Or(r.run.Fingerprint, r.run.ID), nil
	}
	return f.part("target "+suiteName+"\x00"+name, suiteName, func(at *wire.Setup) (any, error) {
		return at.Definition(name)
	})
}

// judge returns the hash of the definition of a suite's judge.
func (f *fingerprints) judge(suiteName string) (string, error) {
	return f.part("judge "+suiteName, suiteName, func(at *wire.Setup) (any, error) {
		return at.JudgeDefinition(f.e.judging(f.e.suiteNamed(suiteName)))
	})
}

// judges returns the judges of all suites by their names, also where no test needs one. One that cannot be described
// has only a name.
func (f *fingerprints) judges() map[string]result.JudgeIdentity {
	all := make(map[string]result.JudgeIdentity, len(f.e.suites))
	for _, s := range f.e.suites {
		at, judging := f.e.setups[s.Name], f.e.judging(s)
		j := result.JudgeIdentity{Name: at.JudgeName(judging)}
		if definition, err := at.JudgeDefinition(judging); err == nil {
			// without it the name decides
			j.Definition, _ = f.files.Definition(f.e.setup.Secrets(), definition, f.e.dir(at))
		}
		all[s.Name] = j
	}
	return all
}

// part returns the hash of a definition with the content of the files that it names, once for each key.
func (f *fingerprints) part(key, suiteName string, define func(*wire.Setup) (any, error)) (string, error) {
	if done, ok := f.parts[key]; ok {
		return done, nil
	}
	at := f.e.setups[suiteName]
	definition, err := define(at)
	definition = []any{definition, f.e.Made}
	if err != nil {
		return "", err
	}
	done, err := f.files.Definition(f.e.setup.Secrets(), definition, f.e.dir(at))
	f.parts[key] = done
	return done, err
}

// sum returns the hash of a value's JSON without secrets.
func (f *fingerprints) sum(value any) (string, error) {
	return fingerprint.Sum(f.e.setup.Secrets(), value)
}

// dir returns the folder in which the names of files in a configuration start.
func (e *Evaluation) dir(at *wire.Setup) string {
	if at.Config().Path == "" {
		return "."
	}
	return filepath.Dir(at.Config().Path)
}

// keyOf returns the key of the record of a unit.
func keyOf(u orchestrator.Unit) result.Key {
	return result.Key{Suite: u.Test.Suite, TestID: u.Test.ID, Target: u.Target}
}
