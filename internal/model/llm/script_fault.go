package llm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Injection is a way in which a script breaks an exchange.
type Injection string

// The injections.
const (
	InjectStatus    Injection = "status"            // an answer with Error.Status and Error.RetryAfter
	InjectTimeout   Injection = "timeout"           // no answer for as long as the caller waits
	InjectMalformed Injection = "malformed"         // an answer that is not JSON
	InjectCut       Injection = "cut_stream"        // an answer that breaks off in the middle
	InjectRefusal   Injection = "refuse_connection" // no connection
)

// Injected is the cause (Error.Err) of a fault that a script asked for.
// A server that plays the script does on the wire what it says, so that its client sees the same *Error.
type Injected struct {
	Kind Injection
	// Body is what a server sends for InjectStatus and InjectMalformed: JSON or a text.
	Body string
}

// Error says that a script asked for this.
func (i *Injected) Error() string { return "injected " + string(i.Kind) }

type fault struct {
	Injected
	status     int
	retryAfter time.Duration
	times      int // for each distinct request; 0 means always
}

type faultKey struct {
	rule    int
	request [sha256.Size]byte
}

// due reports whether a fault strikes this request. It counts by what is asked, not by when,
// so that the retry of a request gets through however many other requests there are.
func (s *Scripted) due(rule int, model string, f *fault, r Request) (bool, error) {
	if f == nil || f.times == 0 {
		return f != nil, nil
	}
	key, err := requestKey(model, r)
	if err != nil {
		return false, s.fail(model, &Error{Fault: Refused, Message: err.Error(), Err: err})
	}
	at := faultKey{rule, key}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults[at] >= f.times {
		return false, nil
	}
	s.faults[at]++
	return true, nil
}

// requestKey identifies a request to a model by its content.
func requestKey(model string, r Request) ([sha256.Size]byte, error) {
	encoded, err := json.Marshal(r)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("the request cannot be written as JSON: %w", err)
	}
	return sha256.Sum256(append([]byte(model+"\n"), encoded...)), nil
}

// CutText is the text of an answer that a script cuts.
const CutText = "This answer breaks off before its end, because the script that plays this model says so."

// breakOff returns the error that an HTTP client would give for the fault. Of an answer that is cut, half of the words
// are given out.
func (s *Scripted) breakOff(ctx context.Context, name string, f *fault, token func(string)) error {
	var e *Error
	switch f.Kind {
	case InjectTimeout:
		<-ctx.Done()
		return ctx.Err()
	case InjectStatus:
		e = statusError(f.status, f.retryAfter, serverMessage([]byte(f.Body)))
	case InjectMalformed:
		e = &Error{Fault: Malformed, Message: clip(notJSON([]byte(f.Body)).Error())}
	case InjectCut:
		if token != nil {
			if err := giveWords(ctx, firstHalf(CutText), token); err != nil {
				return err
			}
		}
		e = &Error{Fault: Unreachable, Message: brokenOff}
	default:
		e = &Error{Fault: Unreachable, Message: "the connection was refused"}
	}
	e.Err = &f.Injected
	return s.fail(name, e)
}

func firstHalf(text string) string {
	words := strings.SplitAfter(text, " ")
	return strings.Join(words[:(len(words)+1)/2], "")
}

func readFault(n source.Node) *fault {
	f := &fault{}
	if n.Kind == source.Map {
		n.Read(map[string]func(source.Node){
			"status": func(n source.Node) {
				if f.status = n.Int(400); f.status > 599 {
					n.Report("use a status from 400 to 599", "%d is not the status of an error", f.status)
				}
			},
			"kind":        func(n source.Node) { f.Kind = readInjection(n) },
			"retry_after": func(n source.Node) { f.retryAfter = n.Duration() },
			"body":        func(n source.Node) { f.Body = n.Text() },
			"times":       func(n source.Node) { f.times = n.Int(1) },
		})
		if n.Has("status") == n.Has("kind") {
			n.Report("write status: 503, or kind: timeout", "a fault needs either status or kind")
		}
	} else {
		f.Kind = readInjection(n)
	}
	switch {
	case f.status != 0:
		f.Kind = InjectStatus
		f.Body = orElse(f.Body, http.StatusText(f.status), "a scripted fault")
	case f.Kind == InjectMalformed:
		f.Body = orElse(f.Body, "<html>this is not JSON</html>")
	}
	return f
}

func readInjection(n source.Node) Injection {
	return Injection(n.OneOf(string(InjectTimeout), string(InjectMalformed), string(InjectCut), string(InjectRefusal)))
}
