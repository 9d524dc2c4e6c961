package detect

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

const shownText = 300

// forgets reports whether no request over HTTP says which conversation it belongs to.
func (f *Found) forgets() bool {
	if _, preset := f.Target.Get("preset"); preset || f.Request.Status == 0 {
		return false
	}
	written := string(f.Target.YAML())
	return !strings.Contains(written, "{{session_id}}") && !strings.Contains(written, "{{conversation_id}}") &&
		!strings.Contains(written, "{{messages}}")
}

// Report writes what was found, and what to do next, for people.
func (f *Found) Report(w io.Writer, files []string, next string) error {
	var b strings.Builder
	row := func(name, value string) { fmt.Fprintf(&b, "%-10s %s\n", name, value) }
	row("asked", text.OneLine(f.request(), shownText))
	if f.Request.Status != 0 {
		row("status", fmt.Sprint(f.Request.Status))
	}
	row("reply", text.OneLine(f.Reply, shownText))
	if f.Path != "" {
		row("at", f.Path)
	}
	for i, c := range f.Candidates {
		name := ""
		if i == 0 {
			name = "also"
		}
		row(name, c.Path+"  "+text.OneLine(c.Text, 100))
	}
	if f.Session != nil {
		row("session", f.Session.String())
	} else if f.forgets() {
		row("session", "none was found: each turn may begin a conversation of its own. Where the agent gives an id, "+
			"say so in rehearse.yaml:")
		row("", "session: {path: $.ID}, and in the body ID: \"{{session_id}}\"; or send \"{{messages}}\"")
	}
	for _, path := range files {
		row("wrote", path)
	}
	for _, v := range f.Variables {
		fmt.Fprintf(&b, "\nThe credential of %s is not written. Set it before you run:\n  export %s=…\n", v.Of, v.Name)
	}
	fmt.Fprintf(&b, "\nNow run\n  %s\n", next)
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *Found) request() string {
	return strings.TrimSpace(f.Request.Method + " " + f.Request.Address + " " + f.Request.Body)
}

// found is the JSON form. What is unknown is null.
type report struct {
	Status     *int          `json:"status"`
	Request    request       `json:"request"`
	Path       *string       `json:"reply_path"`
	Reply      string        `json:"reply"`
	Session    *Session      `json:"session"`
	Candidates []answer.Text `json:"candidates"`
	Files      []string      `json:"files"`
	Variables  []Variable    `json:"variables,omitempty"`
}

type request struct {
	Method string `json:"method,omitempty"`
	URL    string `json:"url,omitempty"`
	Body   any    `json:"body"`
}

// JSON writes what was found for programs.
func (f *Found) JSON(w io.Writer, files []string) error {
	r := report{
		Request: request{Method: f.Request.Method, URL: f.Request.Address}, Reply: f.Reply, Session: f.Session,
		Candidates: f.Candidates, Files: files, Variables: f.Variables,
	}
	if f.Request.Status != 0 {
		r.Status = &f.Request.Status
	}
	if f.Path != "" {
		r.Path = &f.Path
	}
	if r.Candidates == nil {
		r.Candidates = []answer.Text{}
	}
	switch body := []byte(f.Request.Body); {
	case json.Valid(body):
		r.Request.Body = json.RawMessage(body)
	case len(body) > 0:
		r.Request.Body = f.Request.Body
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
