package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Session answers the calls of one conversation. It is used by one goroutine at a time.
type Session struct {
	set Set
	// used counts how often each result was given, by tool and result.
	used map[[2]int]int
}

// Begin begins a conversation.
func (s Set) Begin() *Session { return &Session{set: s, used: map[[2]int]int{}} }

// Mark returns what Return goes back to.
func (s *Session) Mark() map[[2]int]int {
	marked := make(map[[2]int]int, len(s.used))
	maps.Copy(marked, s.used)
	return marked
}

// Return forgets the calls since a mark.
func (s *Session) Return(mark map[[2]int]int) { s.used = mark }

// Answer is what a tool answers.
type Answer struct {
	// Value is the result as JSON; for a failure it is {"error": TEXT}.
	Value json.RawMessage
	// Failed is the text of a failure that the tool tells; empty for a result.
	Failed string
}

// UnknownError is the call of a tool that is not there.
type UnknownError struct{ Name string }

// Error names the tool.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown tool %q", text.OneLine(e.Name, 100))
}

// UnfitError is a call for which no result fits.
type UnfitError struct {
	Name string
	Args json.RawMessage
}

// Error names the tool and the arguments.
func (e *UnfitError) Error() string {
	return fmt.Sprintf("the tool %s has no result for %s", e.Name, text.OneLine(string(e.Args), 300))
}

// Failure returns an answer that tells of a failure.
func Failure(message string) Answer {
	data, err := json.Marshal(map[string]string{"error": message})
	if err != nil { // a text is always JSON
		data = json.RawMessage(`{"error":""}`)
	}
	return Answer{Value: data, Failed: message}
}

// Call answers a call, after the delay that the result has. The error is an *UnknownError, an *UnfitError, or the
// context's.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) (Answer, error) {
	r, err := s.Choose(name, args)
	if err != nil {
		return Answer{}, err
	}
	return r.Give(ctx)
}

// Choose returns the result that fits a call, and counts it. The error is an *UnknownError or an *UnfitError.
func (s *Session) Choose(name string, args json.RawMessage) (Result, error) {
	at := slices.IndexFunc(s.set, func(t Tool) bool { return t.Name == name })
	if at < 0 {
		return Result{}, &UnknownError{name}
	}
	given := decoded(args)
	for i, r := range s.set[at].Results {
		key := [2]int{at, i}
		if r.Times > 0 && s.used[key] >= r.Times || r.When != nil && !contains(given, r.When) {
			continue
		}
		s.used[key]++
		return r, nil
	}
	return Result{}, &UnfitError{name, args}
}

// Give answers with the result, after its delay. The error is the context's.
func (r Result) Give(ctx context.Context) (Answer, error) {
	if err := wait(ctx, r.Delay); err != nil {
		return Answer{}, err
	}
	if r.Error != "" {
		return Failure(r.Error), nil
	}
	return Answer{Value: r.Value}, nil
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Text returns the answer as a model reads it: a text as it is, anything else as JSON.
func (a Answer) Text() string {
	var text string
	if trimmed := strings.TrimSpace(string(a.Value)); strings.HasPrefix(trimmed, `"`) &&
		json.Unmarshal(a.Value, &text) == nil {
		return text
	}
	return string(a.Value)
}
