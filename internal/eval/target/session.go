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

// sessionKeys are the keys of a session.
type sessionKeys struct {
	Path   *answer.Pick `key:"path" schema:"pick"`
	Header string       `key:"header"`
	Cookie string       `key:"cookie"`
	Update string       `key:"update" enum:"first,every"`
}

// DecodeNode reads {path}, {header} or {cookie}, and update.
func (s *agentSession) DecodeNode(n source.Node) {
	var k sessionKeys
	source.Decode(n, &k)
	*s = agentSession{path: k.Path, header: k.Header, cookie: k.Cookie, every: k.Update == "every"}
	given := 0
	for _, has := range []bool{s.path != nil, s.header != "", s.cookie != ""} {
		if has {
			given++
		}
	}
	if n.Kind == source.Map && given != 1 {
		n.Report("write {path: PATH}, {header: NAME} or {cookie: NAME}", "a session id comes from one place")
	}
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
