package evaluation

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// strayNodes reports the nodes that the tests of a suite name and that the flow of a target does not have. targets
// returns the targets that a test is held with. Targets whose flow is not known here, such as models, chatbots and
// flows of a server, are not checked.
func (e *Evaluation) strayNodes(s *suite.Suite, targets func(*suite.Test) ([]string, error)) (source.Problems, error) {
	flows := map[string]*flow.Flow{} // each is opened once
	return s.CheckNodes(func(t *suite.Test, names []suite.NodeName) source.Problems {
		held, err := targets(t)
		if err != nil {
			return nil //nolint:nilerr // a run that chooses the test says so
		}
		var problems source.Problems
		for _, target := range held {
			f, opened := flows[target]
			if !opened {
				f, err = e.setups[s.Name].KnownFlow(target)
				problems = append(problems, unreadable(err, target, names[0])...)
				flows[target] = f
			}
			if f != nil {
				problems = append(problems, strays(f, target, names)...)
			}
		}
		return problems
	})
}

// unreadable returns what keeps the flow of a target from being read; name is the first node that was looked for.
func unreadable(err error, target string, name suite.NodeName) source.Problems {
	if err == nil {
		return nil
	}
	if found, ok := suite.Problems(err); ok {
		return found
	}
	return source.Problems{name.Problem(fmt.Sprintf("the flow of target %s cannot be read: %v", target, err),
		"correct the target, or give the test another one")}
}

// strays returns a problem for each name that no node of the flow has.
func strays(f *flow.Flow, target string, names []suite.NodeName) (problems source.Problems) {
	for _, name := range names {
		if _, ok := f.Node(name.ID); !ok {
			message := fmt.Sprintf("the flow %s of target %s has no node %q", f.ID, target, name.ID)
			problems = append(problems, name.Problem(message, suggestNode(f, name.ID)))
		}
	}
	return problems
}

// The hint names the nearest node, or all nodes of a small flow. Longer names than maxSuggested are not compared, since
// that takes long.
const (
	maxListed    = 20
	maxSuggested = 200
)

func suggestNode(f *flow.Flow, id string) string {
	ids := make([]string, len(f.Nodes))
	for i, n := range f.Nodes {
		ids[i] = n.ID
	}
	if len(id) <= maxSuggested {
		if _, ok := source.Nearest(id, ids); ok || len(ids) <= maxListed {
			return source.Suggest(id, ids)
		}
	}
	return fmt.Sprintf("write the id of one of its %d nodes", len(ids))
}
