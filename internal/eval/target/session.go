package target

import (
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

// agentSession says where the agent gives its id of the conversation: in one of the three.
type agentSession struct {
	path           *answer.Pick
	header, cookie string
	// every is true where each answer gives one anew.
	every bool
}

func readSession(n source.Node) *agentSession {
	s := &agentSession{}
	n.Read(map[string]func(source.Node){
		"path":   func(n source.Node) { s.path = answer.ReadPick(n) },
		"header": func(n source.Node) { s.header = n.Text() },
		"cookie": func(n source.Node) { s.cookie = n.Text() },
		"update": func(n source.Node) { s.every = n.OneOf("first", "every") == "every" },
	})
	given := 0
	for _, has := range []bool{s.path != nil, s.header != "", s.cookie != ""} {
		if has {
			given++
		}
	}
	if n.Kind == source.Map && given != 1 {
		n.Report("write {path: PATH}, {header: NAME} or {cookie: NAME}", "a session id comes from one place")
	}
	return s
}

// where names the place.
func (s *agentSession) where() string {
	switch {
	case s.header != "":
		return "in the header " + s.header
	case s.cookie != "":
		return "in the cookie " + s.cookie
	}
	return "at " + s.path.Path
}

// borne returns what the headers of an answer bear: the header, and the cookie, where the id is in one of them.
func (s *agentSession) borne(answered *http.Response) (header, cookie string) {
	if s.header != "" {
		header = answered.Header.Get(s.header)
	}
	for _, c := range answered.Cookies() {
		if s.cookie != "" && c.Name == s.cookie {
			cookie = c.Value
		}
	}
	return header, cookie
}
