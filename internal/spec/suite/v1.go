package suite

import (
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Version1 is what a v1 suite has as its version: the first dialect, in JSON or YAML.
const Version1 = "v1"

// defaultsV1 is what a v1 suite says once for all of its tests.
type defaultsV1 struct {
	// maxTurns bounds the turns of a test; 0 is no bound.
	maxTurns int
	stop     bool
	// criteria are the names of the criteria whose mean assistant_quality_min bounds.
	criteria source.Node
}

// isV1 reports whether a suite is of the v1 dialect: it has a suite_id, says so, or has a version and tests with the
// keys of that dialect.
func (l *loader) isV1(n source.Node) bool {
	if n.Has("suite_id") || n.Field("version").Scalar == Version1 {
		return true
	}
	for test := range l.list.All() {
		_, isTest := test.Get("test_id")
		return n.Has("version") && isTest
	}
	return false
}

// suiteKeysV1 are the keys of a v1 suite.
type suiteKeysV1 struct {
	Version     string      `key:"version" schema:"v1"`
	SuiteID     string      `key:"suite_id" notblank:"true" doc:"a name"`
	Description string      `key:"description"`
	Metadata    mapping     `key:"metadata"`
	Defaults    source.Node `key:"defaults" schema:"v1_defaults"`
	Stubs       Stubs       `key:"stubs"`
	Tests       source.Node `key:"tests" schema:"v1_tests"`
}

// suiteV1 reads the top level of a v1 suite. It has no placeholders, since recorded users may say anything.
func (l *loader) suiteV1(n source.Node, s *Suite) {
	switch version := n.Field("version"); {
	case !n.Has("version"):
		n.Field("suite_id").Report(`write version: "v1" above it; a conversation suite has a name in place of suite_id`,
			"a suite with a suite_id needs a version")
		return
	case version.Scalar != Version1:
		version.Report(`write version: "v1"; a conversation suite has no version`, "unknown version %q", version.Scalar)
		l.list = source.Packed{} // of a dialect that is not known
		return
	}
	l.v1 = &defaultsV1{}
	s.Execution.ShortCircuit = new(true)
	keys := suiteKeysV1{SuiteID: s.Name}
	source.Decode(n, &keys)
	s.Name, s.Description, s.Metadata, l.stubs, l.tests = keys.SuiteID, keys.Description, keys.Metadata,
		keys.Stubs, keys.Tests
	if n.Has("defaults") {
		l.readDefaults(keys.Defaults, s)
	}
	switch {
	case !n.Has("tests"):
		n.Report("add `tests:` with a list of {test_id, turns}", "a suite needs tests")
	case l.tests.Kind != source.List:
		l.tests.Report("write a list of tests", "expected tests, got %s", l.tests.Kind)
	case l.list.Len() == 0:
		l.tests.Report("add a test: {test_id: …, turns: […]}", "the list of tests is empty")
	}
}

// defaultKeysV1 are the keys of the defaults of a v1 suite.
type defaultKeysV1 struct {
	MaxTurns  int           `key:"max_turns" minimum:"1"`
	Stop      bool          `key:"stop_on_failure"`
	Retries   *int          `key:"retries" minimum:"0"`
	Timeout   time.Duration `key:"timeout"`
	Threshold *float64      `key:"threshold" minimum:"0" maximum:"1"`
	Judge     struct {
		Model    string      `key:"model" notblank:"true" doc:"a model such as gpt-5"`
		Criteria source.Node `key:"criteria" schema:"texts"`
	} `key:"llm_judge"`
}

func (l *loader) readDefaults(n source.Node, s *Suite) {
	var keys defaultKeysV1
	source.Decode(n, &keys)
	l.v1.maxTurns, l.v1.stop, l.v1.criteria = keys.MaxTurns, keys.Stop, keys.Judge.Criteria
	s.Execution.Retries, s.Execution.Timeout, s.Execution.Threshold = keys.Retries, keys.Timeout, keys.Threshold
	if model := n.Field("llm_judge").Field("model"); model.Kind != source.Null {
		s.Judge.Model, s.Judge.Provider = strings.TrimSpace(keys.Judge.Model), "openai"
	}
	if keys.Judge.Criteria.Kind != source.Null {
		keys.Judge.Criteria.Texts()
	}
}
