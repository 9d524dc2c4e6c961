package suite

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// conversationKeys are keys that need mode: conversation.
var conversationKeys = []string{"aggregation", "on_turn_failure", "window_size", "every_turn"}

// checkShape reports keys of a test that do not go together.
func checkShape(n source.Node, t *Test) {
	if !n.Has("id") || blank(t.ID) {
		n.Field("id").Report("add `id:` with a name that is unique in the suite", "a test needs an id")
	}
	user := n.Has("user") || n.Has("users")
	conversation := n.Has("mode") || user
	switch {
	case conversation && !t.Conversation: // an unknown mode is reported already
	case user && (!n.Has("turns") || n.Field("turns").Kind != source.List || len(n.Field("turns").Items) > 0):
	case user:
		n.Field("turns").Report("remove it: the user begins", "the list of turns is empty")
	case conversation && !n.Has("turns"):
		n.Field("mode").Report("add `turns:` with at least one `- input:`", "mode: conversation needs turns")
	case conversation && n.Field("turns").Kind == source.List && len(n.Field("turns").Items) == 0:
		n.Field("turns").Report("add at least one `- input:`", "mode: conversation needs turns, and the list is empty")
	case !conversation && n.Has("turns"):
		n.Field("turns").Report("add `mode: conversation`", "turns need mode: conversation")
	case !conversation && !n.Has("input"):
		n.Report("add `input:`, or `mode: conversation` with `turns:`", "a test needs an input")
	}
	if (n.Has("turns") || user) && n.Has("expected_output") {
		n.Field("expected_output").Report("move it into the turn that it belongs to",
			"a conversation has no expected_output of its own")
	}
	if n.Has("user") && n.Has("users") {
		n.Field("users").Report("keep one of the two", "users stands beside user")
	}
	for _, key := range conversationKeys {
		if !conversation && n.Has(key) {
			n.Field(key).Report("add `mode: conversation` and `turns:`, or remove the key",
				"%s needs mode: conversation", key)
		}
	}
}

// validate reads every test once, reports its problems, and checks ids and dependencies across tests. It returns the
// tests of a suite that is small so far.
func (l *loader) validate(s *Suite) (small []*Test) {
	ids := map[string]bool{}
	dependents := map[string]source.Node{}
	var order []string
	entry := -1
	for node, err := range l.nodes() {
		entry++
		if err != nil {
			problems, _ := Problems(err)
			l.problems = append(l.problems, problems...)
			continue
		}
		reader := &source.Reader{File: node.File()}
		node = node.To(reader)
		for _, t := range l.entry(node, s) {
			t.entry = entry
			if small = append(small, t); !l.isSmall() {
				small = nil
			}
			s.Count++
			s.Ungraded.Add(t)
			s.NamesNodes = s.NamesNodes || len(t.NodeNames()) > 0
			if t.ID != "" {
				if ids[t.ID] {
					node.Field(l.idKey()).Report("ids must be unique in a suite; rename one",
						"the id %q is used twice", t.ID)
				}
				ids[t.ID] = true
			}
			if len(t.DependsOn) > 0 {
				dependents[t.ID] = node.Field("depends_on")
				order = append(order, t.ID)
			}
		}
		l.collect(reader.Problems)
	}
	if l.rows != nil {
		l.collect(l.rows.noted())
	}
	if s.Count == 0 && len(l.problems)+len(l.reader.Problems) == 0 {
		l.reader.Node(source.Value{}, "").Report("add at least one test", "the suite has no tests")
	}
	l.checkDependencies(s, ids, dependents, order)
	return small
}

// idKey is what a test's id is called in the suite's dialect.
func (l *loader) idKey() string {
	if l.v1 != nil {
		return "test_id"
	}
	return "id"
}

// collect adds problems. Faults and warnings are bounded apart, so that warnings never crowd out a fault.
func (l *loader) collect(problems source.Problems) {
	faults, warnings := problems.Split()
	if room := maxProblems - l.faults; len(faults) > room {
		faults = faults[:max(0, room)]
	}
	l.faults += len(faults)
	l.problems = append(l.problems, faults...)
	for _, w := range warnings {
		key := warningKey(w)
		if l.warned[key] {
			continue
		}
		if len(l.warned) == maxProblems {
			w = source.Problem{
				File: w.File, Message: "there are more warnings, which are not listed",
				Hint: "fix the listed ones first", Warning: true,
			}
			if key = warningKey(w); l.warned[key] {
				continue
			}
		} else if len(l.warned) > maxProblems {
			continue
		}
		l.warned[key] = true
		l.problems = append(l.problems, w)
	}
}

// checkDependencies reports unknown ids and cycles, and records which tests others wait for.
func (l *loader) checkDependencies(s *Suite, ids map[string]bool, dependents map[string]source.Node, order []string) {
	reader := &source.Reader{}
	needs := map[string][]string{}
	for _, id := range order {
		n := dependents[id]
		reader.File = n.File()
		n = n.To(reader)
		for need, at := range eachText(n) {
			s.Needed[need] = true
			if !ids[need] {
				at.Report(suggestID(need, ids), "depends on %q, which is no test of this suite", need)
				continue
			}
			needs[id] = append(needs[id], need)
		}
	}
	done := map[string]bool{}
	for _, id := range order {
		if cycle := findCycle(id, needs, done, nil); cycle != nil {
			n := dependents[id]
			reader.File = n.File()
			n.To(reader).Report("remove one of these dependencies", "tests depend on each other in a circle: %s",
				strings.Join(cycle, " → "))
		}
	}
	l.collect(reader.Problems)
}

// CheckDependencies reads the tests again and returns a problem at each dependency that fault finds something wrong
// with.
func (s *Suite) CheckDependencies(fault func(t *Test, on string) (message string, err error)) (source.Problems, error) {
	const hint = "give both tests the same targets, or remove the dependency"
	var problems source.Problems
	seen := map[string]bool{} // the tests of one entry share its dependencies
	for t, err := range s.Tests() {
		if err != nil {
			return nil, source.AsInvalid(err)
		}
		for m, on := range t.DependsOn {
			message, err := fault(t, on)
			if err != nil {
				return nil, err
			}
			if message != "" {
				p := source.Problem{
					File: s.File, Path: fmt.Sprintf("tests[%d].depends_on[%d]", t.entry, m), Message: message,
					Hint: hint,
				}
				if !seen[p.Path] {
					problems = append(problems, p)
				}
				seen[p.Path] = true
			}
		}
	}
	if len(problems) > 0 && s.loader != nil {
		return s.loader.placed(problems), nil
	}
	return problems, nil
}

// placed returns problems of dependencies with the places where they stand. They are in the order of the tests.
func (l *loader) placed(problems source.Problems) source.Problems {
	n, next := 0, 0
	for node, err := range l.nodes() {
		if err != nil || next == len(problems) {
			break
		}
		reader := &source.Reader{File: node.File()}
		m := 0
		for _, at := range eachText(node.To(reader).Field("depends_on")) {
			if next < len(problems) && problems[next].Path == fmt.Sprintf("tests[%d].depends_on[%d]", n, m) {
				at.Report(problems[next].Hint, "%s", problems[next].Message)
				problems[next] = reader.Problems[len(reader.Problems)-1]
				next++
			}
			m++
		}
		n++
	}
	return problems
}

// eachText yields the texts of a list, or a single one, with their places.
func eachText(n source.Node) iter.Seq2[string, source.Node] {
	return func(yield func(string, source.Node) bool) {
		if n.Kind != source.List {
			yield(n.Text(), n)
			return
		}
		for _, item := range n.List() {
			if !yield(item.Text(), item) {
				return
			}
		}
	}
}

func suggestID(id string, ids map[string]bool) string {
	known := make([]string, 0, len(ids))
	for k := range ids {
		known = append(known, k)
	}
	slices.Sort(known)
	if i, _ := slices.BinarySearch(known, id+"/"); i < len(known) && strings.HasPrefix(known[i], id+"/") {
		return "its users make tests of their own: name one of them, such as " + known[i]
	}
	if near, ok := source.Nearest(id, known); ok {
		return "did you mean " + near + "?"
	}
	return "name the id of another test of the suite"
}

// findCycle returns the ids along a circle of dependencies that starts from id, or nil. A circle is found once.
func findCycle(id string, needs map[string][]string, done map[string]bool, path []string) []string {
	for i, seen := range path {
		if seen == id {
			return append(path[i:len(path):len(path)], id)
		}
	}
	if done[id] {
		return nil
	}
	path = append(path, id)
	for _, need := range needs[id] {
		if cycle := findCycle(need, needs, done, path); cycle != nil {
			done[id] = true
			return cycle
		}
	}
	done[id] = true
	return nil
}
