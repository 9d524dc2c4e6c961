// Package detect finds out how to talk with an agent: it sends one message, finds the reply and the session in the
// answer, and writes a configuration and a suite with which a run passes.
package detect

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/eval/target/curl"
)

// Question is what is said where nothing else is asked for.
const Question = "Hello! What can you help me with?"

// Request says which agent is asked, and with what.
type Request struct {
	// Agent is a URL, a curl line, cmd:PROGRAM or a2a:URL.
	Agent string
	// Preset is the name of a preset for a URL; empty for none.
	Preset string
	// Message is what is said; empty means Question.
	Message string
	// Folder is where the configuration is written. Programs are started in the working folder, which the configuration
	// names from there.
	Folder string
}

// Found is how an agent is talked with.
type Found struct {
	// Target is its mapping in a configuration.
	Target source.Value
	// Request is the message that the agent answered.
	Request target.Exchange
	// Path is where the reply is; empty where the agent's protocol says it, as with plain text.
	Path, Reply string
	// Session is where the agent gives the id of the conversation; nil where it gives none.
	Session *Session
	// Candidates are other texts of the answer.
	Candidates []answer.Text
	// Variables take the place of credentials: they have to be set for a run.
	Variables []Variable

	// secrets are the credentials that must not be written.
	secrets []string
}

// NothingError is an answer in which no reply is found.
type NothingError struct {
	Request target.Exchange
	// Why says more where there was no answer to look at.
	Why error
}

// Unwrap returns the cause.
func (e *NothingError) Unwrap() error { return e.Why }

// Error says what came: status, content type, top-level keys and the first 200 characters.
func (e *NothingError) Error() string {
	if e.Request.Status == 0 {
		said := strings.Join(e.Request.Events, "\n")
		if said == "" {
			return fmt.Sprintf("no reply was found, and nothing is written: %v", e.Why)
		}
		return fmt.Sprintf("no reply was found, and nothing is written: %v\n%s", e.Why, answer.Describe([]byte(said)))
	}
	media := e.Request.Header.Get("Content-Type")
	if media == "" {
		media = "none"
	}
	return fmt.Sprintf("no reply was found in the answer of %s, and nothing is written\n  status        %d\n"+
		"  content type  %s\n%s\n  what next     %s", e.Request.Address, e.Request.Status, media,
		strings.TrimRight(answer.Describe(e.Request.Answer), "\n"), next)
}

// next is what helps where no body that was tried is answered.
const next = "put a curl line that your agent answers into a file, and give it: --agent @request.txt"

// flag is where mistakes in the request stand.
const flag = "--agent"

// spokenTime bounds the wait for a program or a WebSocket in each way of asking.
const spokenTime = 20 * time.Second

// Find asks an agent and finds out how to talk with it. The error is a NothingError where the agent gave no reply, or a
// mistake in the request.
func Find(ctx context.Context, s *wire.Setup, r Request) (*Found, error) {
	if r.Message == "" {
		r.Message = Question
	}
	p := &probing{Request: r, setup: s}
	mapping, err := p.mapping()
	if err != nil {
		return nil, err
	}
	t, err := target.Read(flag, mapping)
	if err != nil {
		return nil, err
	}
	var f *Found
	if target.IsHTTP(t) {
		f, err = p.overHTTP(ctx, mapping)
	} else {
		f, err = p.spoken(ctx, mapping)
	}
	if err != nil {
		return nil, err
	}
	return f, p.settle(f)
}

// probing is one search.
type probing struct {
	Request
	setup *wire.Setup
	// open is true where the body may be another one: nothing said what it is.
	open bool
	// credentials are those of the curl line or the address.
	credentials []credential
}

// mapping returns the target as it is asked first.
func (p *probing) mapping() (source.Value, error) {
	agent := strings.TrimSpace(p.Agent)
	first, _, _ := strings.Cut(agent, " ")
	scheme, rest, _ := strings.Cut(agent, ":")
	text := func(name, value string) source.Field { return source.Field{Name: name, Value: source.Text(value)} }
	made := func(fields ...source.Field) source.Value {
		if p.Preset != "" {
			fields = append([]source.Field{text("preset", p.Preset)}, fields...)
			if needsModel(p.Preset) {
				fields = append(fields, source.Field{
					Name: "with", Value: source.Value{Kind: source.Map, Fields: []source.Field{text("model", "agent")}},
				})
			}
		}
		return source.Value{Kind: source.Map, Fields: fields}
	}
	switch strings.ToLower(scheme) {
	case "http", "https":
		if p.open = p.Preset == ""; !p.open {
			return made(p.address(agent)), nil
		}
		return made(text("kind", "http"), p.address(agent), source.Field{Name: "body", Value: defaultBody()}), nil
	case "ws", "wss":
		return made(text("kind", "websocket"), p.address(agent)), nil
	case "a2a":
		if p.Preset != "" {
			return made(p.address(rest)), nil
		}
		return made(text("kind", "a2a"), p.address(rest)), nil
	}
	if p.Preset != "" {
		return source.Value{},
			source.Invalid("--preset is for an agent behind an address, such as https://agent.example")
	}
	switch {
	case scheme == "cmd":
		return made(text("kind", "command"), text("command", strings.TrimSpace(rest))), nil
	case first == "curl" || first == "$" || strings.HasPrefix(agent, "curl\\"):
		request, mapping, err := curl.Read(agent, p.setup.Secrets())
		if err != nil {
			return mapping, source.Invalid("--agent: %w", err)
		}
		p.learn(request)
		return mapping, nil
	}
	return source.Value{},
		source.Invalid("--agent is a URL, a `curl …` line or @FILE with one, cmd:PROGRAM, or a2a:URL")
}

// needsModel reports whether a preset asks for the name of a model, which an agent behind one's own address seldom
// looks at.
func needsModel(preset string) bool {
	return slices.ContainsFunc(target.Presets(), func(p target.Preset) bool {
		return p.Name == preset && strings.Contains(p.YAML, "with.model")
	})
}

// over returns a copy of a mapping with a field at the end, in place of one of the same name.
func over(v source.Value, name string, value source.Value) source.Value {
	v = without(v, name)
	v.Fields = append(v.Fields, source.Field{Name: name, Value: value})
	return v
}

func without(v source.Value, name string) source.Value {
	fields := make([]source.Field, 0, len(v.Fields)+1)
	for _, f := range v.Fields {
		if f.Name != name {
			fields = append(fields, f)
		}
	}
	v.Fields = fields
	return v
}

// ask sends the message to the target that a mapping describes.
func (p *probing) ask(ctx context.Context, mapping source.Value,
	timeout time.Duration) (config.Target, target.Exchange, error) {
	t, err := target.Read(flag, mapping)
	if err != nil {
		return t, target.Exchange{}, err
	}
	asked, err := p.setup.Call(ctx, t, p.Message, timeout)
	return t, asked, err
}

// settle makes the mapping one for a file: credentials are variables, and a program starts where it did.
func (p *probing) settle(f *Found) error {
	f.Target = p.masked(f)
	if kind, _ := f.Target.Get("kind"); kind.Scalar == "command" {
		folder, err := filepath.Abs(p.Folder)
		if err != nil {
			return err
		}
		here, err := filepath.Abs(".")
		if err != nil {
			return err
		}
		if from, err := filepath.Rel(folder, here); err == nil && from != "." {
			f.Target = over(f.Target, "cwd", source.Text(from))
		} else if err != nil {
			f.Target = over(f.Target, "cwd", source.Text(here))
		}
	}
	return nil
}
