package suite

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Version1 is what a v1 suite has as its version: the dialect of S1, in JSON or YAML.
const Version1 = "v1"

// defaultsV1 is what a v1 suite says once for all of its tests.
type defaultsV1 struct {
	// maxTurns bounds the turns of a test; 0 is no bound.
	maxTurns int
	stop     bool
	// criteria are the names of the criteria whose mean assistant_quality_min bounds.
	criteria source.Node
}

// isV1 reports whether a suite is of the v1 dialect: it has a suite_id, says so, or has a version and tests with the keys of that dialect.
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

// suiteV1 reads the top level of a v1 suite. It has no placeholders, since recorded users may say anything.
func (l *loader) suiteV1(n source.Node, s *Suite) {
	switch version := n.Field("version"); {
	case !n.Has("version"):
		n.Field("suite_id").Report(`write version: "v1" above it; a conversation suite has a name in place of suite_id`, "a suite with a suite_id needs a version")
		return
	case version.Scalar != Version1:
		version.Report(`write version: "v1"; a conversation suite has no version`, "unknown version %q", version.Scalar)
		l.list = source.Packed{} // of a dialect that is not known
		return
	}
	l.v1 = &defaultsV1{}
	s.Execution.ShortCircuit = new(true)
	n.Read(map[string]func(source.Node){
		"version": func(source.Node) {},
		"suite_id": func(n source.Node) {
			if s.Name = n.Text(); blank(s.Name) {
				n.Report("write a name, or leave the key out", "the suite_id is empty")
			}
		},
		"description": func(n source.Node) { s.Description = n.Text() },
		"metadata":    func(n source.Node) { s.Metadata = mapping(n) },
		"defaults":    func(n source.Node) { l.readDefaults(n, s) },
		"stubs":       func(n source.Node) { l.stubs = readStubs(n) },
		"tests":       func(n source.Node) { l.tests = n },
	})
	switch {
	case !n.Has("tests"):
		n.Report("add `tests:` with a list of {test_id, turns}", "a suite needs tests")
	case l.tests.Kind != source.List:
		l.tests.Report("write a list of tests", "expected tests, got %s", l.tests.Kind)
	case l.list.Len() == 0:
		l.tests.Report("add a test: {test_id: …, turns: […]}", "the list of tests is empty")
	}
}

func (l *loader) readDefaults(n source.Node, s *Suite) {
	n.Read(map[string]func(source.Node){
		"max_turns":       func(n source.Node) { l.v1.maxTurns = n.Int(1) },
		"stop_on_failure": func(n source.Node) { l.v1.stop = n.Bool() },
		"retries":         func(n source.Node) { s.Execution.Retries = new(n.Int(0)) },
		"timeout":         func(n source.Node) { s.Execution.Timeout = n.Duration() },
		"threshold":       func(n source.Node) { s.Execution.Threshold = new(n.Number(0, 1)) },
		"llm_judge": func(n source.Node) {
			n.Read(map[string]func(source.Node){
				"model": func(n source.Node) { s.Judge.Model, s.Judge.Provider = readModel(n), "openai" },
				"criteria": func(n source.Node) {
					n.Texts()
					l.v1.criteria = n
				},
			})
		},
	})
}

// readModel reads the name of a judging model.
func readModel(n source.Node) string {
	name := strings.TrimSpace(n.Text())
	if name == "" && n.Kind == source.String {
		n.Report("write a model such as gpt-5, or leave the key out", "the model has no name")
	}
	return name
}
