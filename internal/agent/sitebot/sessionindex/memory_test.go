package sessionindex_test

import (
	"errors"
	"testing"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex/sessionindextest"
)

func TestMemory(t *testing.T) {
	sessionindextest.Run(t, func(*testing.T) (one, two sessionindextest.Store) {
		m := sessionindex.NewMemory(graph.MemoryLimits{})
		return m, m
	})
}

func TestParsePlace(t *testing.T) {
	for _, cursor := range []string{"x", "!", "YQ", "MTIz", "MTIzIA"} {
		if p, err := sessionindex.ParseCursor(cursor); err == nil {
			t.Errorf("%q: %+v", cursor, p)
		}
	}
	if p, err := sessionindex.ParseCursor(""); err != nil || p.String() != "" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAnonymousErrorsNameNoSession(t *testing.T) {
	for session, c := range map[string]struct{ err, want string }{
		"s":                        {`save session "tea.example:s" in s.db`, `save session "tea.example:…" in s.db`},
		"a\"b":                     {`there is no session "a\"b"`, `there is no session "…"`},
		"3kqTn0-fWm2Zr5vLx8Yb_c1Q": {`key 3kqTn0-fWm2Zr5vLx8Yb_c1Q:x`, `key …:x`},
	} {
		if got := sessionindex.Anonymous(errors.New(c.err), session); got != c.want {
			t.Errorf("%s: %s, want %s", session, got, c.want)
		}
	}
}
