package detect

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/eval/target/curl"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Session is where an agent gives the id of a conversation: one of the three.
type Session struct {
	Path   string `json:"path,omitempty"`
	Header string `json:"header,omitempty"`
	Cookie string `json:"cookie,omitempty"`
}

// String names the place.
func (s *Session) String() string {
	switch {
	case s.Path != "":
		return s.Path
	case s.Header != "":
		return "the header " + s.Header
	}
	return "the cookie " + s.Cookie
}

// withSession finds the session's id in the answer, and has it sent back. An id that only repeats the one that was sent
// needs nothing.
func (f *Found) withSession() {
	own := f.Request.ConversationID
	_, opens := f.Target.Get("open")
	if _, preset := f.Target.Get("preset"); preset || opens {
		return
	}
	if path, name, id, ok := idInBody(f.Request.Answer, f.Request.Header.Get("Content-Type")); ok {
		f.Session = &Session{Path: path}
		if id != own {
			f.sendBack(path, name)
		}
		return
	}
	if name, id, ok := idInHeader(f.Request.Header); ok {
		f.Session = &Session{Header: name}
		if id != own {
			f.Target = over(f.fixed(), "session", source.Value{
				Kind: source.Map, Fields: []source.Field{field("header", name)},
			})
		}
		return
	}
	if name, ok := idInCookie(f.Request.Header); ok {
		f.Session = &Session{Cookie: name}
		f.Target = over(f.fixed(), "session", source.Value{
			Kind: source.Map, Fields: []source.Field{field("cookie", name)},
		})
	}
}

// sendBack puts the agent's id where the conversation's stands, else into the body under the name that it had in the
// answer. An agent that is told the whole conversation each time needs no id.
func (f *Found) sendBack(path, name string) {
	back, placed := replaced(f.Target, conversation, "{{session_id}}")
	placed = placed || strings.Contains(string(back.YAML()), "{{session_id}}")
	if body, ok := back.Get("body"); !placed && ok && body.Kind == source.Map &&
		!strings.Contains(string(body.YAML()), "{{messages}}") {
		back, placed = over(back, "body", over(body, name, source.Text("{{session_id}}"))), true
	}
	if placed {
		f.Target = over(back, "session", source.Value{Kind: source.Map, Fields: []source.Field{field("path", path)}})
	}
}

// fixed returns the target with the conversation's own id where the agent's would stand: what was sent when it
// answered.
func (f *Found) fixed() source.Value {
	fixed, _ := replaced(f.Target, "{{session_id}}", conversation)
	return fixed
}

// replaced returns a value in which texts that are one are another.
func replaced(v source.Value, one, other string) (source.Value, bool) {
	changed := false
	if v.Kind == source.String && v.Scalar == one {
		return source.Text(other), true
	}
	v.Fields, v.Items = slices.Clone(v.Fields), slices.Clone(v.Items)
	for i := range v.Fields {
		inside, did := replaced(v.Fields[i].Value, one, other)
		v.Fields[i].Value, changed = inside, changed || did
	}
	for i := range v.Items {
		inside, did := replaced(v.Items[i], one, other)
		v.Items[i], changed = inside, changed || did
	}
	return v, changed
}

// speakers are values of keys such as sender that name who speaks, no conversation.
var speakers = []string{"bot", "agent", "assistant", "user", "ai", "system", "model"}

// idNames are names under which an id stands only where its value looks like one; idShape is what an id looks like.
var (
	idNames = []string{
		"conversation", "session", "thread", "chat", "dialog", "dialogue", "talk", "context", "sid", "cid",
	}
	idShape = text.Regexp(`^[A-Za-z0-9_.:-]*[0-9][A-Za-z0-9_.:-]*$`)
)

// leastID is how many characters such an id has at least.
const leastID = 8

// namesID reports whether a text is the id of a conversation, by its name or by its name and looks.
func namesID(name, value string) bool {
	if curl.ConversationName(name) {
		return value != "" && !slices.Contains(speakers, strings.ToLower(value))
	}
	lower := plain(name)
	named := slices.ContainsFunc(idNames, func(n string) bool {
		return lower == n || lower == n+"id" || lower == n+"uuid" || lower == n+"key"
	})
	return named && len(value) >= leastID && idShape().MatchString(value)
}

// idInBody finds an id under a name of one, the nearest to the root first.
func idInBody(body []byte, media string) (path, name, id string, ok bool) {
	docs := [][]byte{body}
	if format := formOf(body, media); format != "" {
		docs = nil
		events, err := (&answer.Spec{}).Events(bytes.NewReader(body), format, len(body), nil)
		if err != nil {
			return "", "", "", false
		}
		for _, e := range events {
			docs = append(docs, []byte(e.Data))
		}
	}
	for _, doc := range docs {
		texts, _ := answer.Texts(doc) // what is no JSON has no ids
		for _, t := range append(texts, numbersOf(doc)...) {
			name := t.Path[strings.LastIndex(t.Path, ".")+1:]
			if namesID(name, t.Text) {
				return t.Path, name, t.Text, true
			}
		}
	}
	return "", "", "", false
}

// numbersOf returns the numbers of an object under names of ids.
func numbersOf(doc []byte) (found []answer.Text) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(doc, &fields) != nil {
		return nil
	}
	for name, value := range fields {
		var n json.Number
		if json.Unmarshal(value, &n) == nil && value[0] != '"' && curl.ConversationName(name) {
			found = append(found, answer.Text{Path: "$." + name, Text: n.String()})
		}
	}
	return found
}

// plain returns the name of an id without what headers add to it: X-Session-Id is sessionid.
func plain(name string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.TrimPrefix(strings.ToLower(name), "x-"))
}

func idInHeader(header http.Header) (name, id string, ok bool) {
	names := []string{"sessionid", "conversationid", "threadid", "chatid", "session"}
	for name := range header {
		if slices.Contains(names, plain(name)) && header.Get(name) != "" {
			return name, header.Get(name), true
		}
	}
	return "", "", false
}

// idInCookie returns the name of the cookie that holds the conversation: one that is named like a session, else the
// first.
func idInCookie(header http.Header) (name string, ok bool) {
	cookies := (&http.Response{Header: header}).Cookies()
	for _, c := range cookies {
		if c.Value == "" || c.MaxAge < 0 {
			continue
		}
		lower := strings.ToLower(c.Name)
		if strings.Contains(lower, "sess") || strings.Contains(lower, "sid") || curl.ConversationName(c.Name) {
			return c.Name, true
		}
		if !ok {
			name, ok = c.Name, true
		}
	}
	return name, ok
}
