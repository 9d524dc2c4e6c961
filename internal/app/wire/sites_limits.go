package wire

import (
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
)

// limits returns what holds the sites' limits, which lie with the sessions; nil where they do not hold, as in tests.
func (s *Sites) limits(kept sessionStore) sitebot.Limits {
	if !s.options.Limited {
		return nil
	}
	counted, ok := kept.(limit.Store)
	if !ok {
		counted = &limit.Memory{}
	}
	return limit.NewLimiter(counted, s.Now, s.Log)
}

// WithoutBudget returns the names of the sites that do not bound what they spend in a day.
func (s *Sites) WithoutBudget() (names []string) {
	for _, one := range s.Library.Sites() {
		if !one.Limits.HasBudget() {
			names = append(names, one.Name)
		}
	}
	return names
}
