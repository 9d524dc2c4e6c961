package llm

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"rehearse/internal/chat"
)

// entry is one line of a cassette.
type entry struct {
	// Key is the SHA-256 of the model's name and the request.
	Key     string      `json:"key"`
	Model   string      `json:"model"`
	Request *Request    `json:"request,omitempty"`
	Reply   *chat.Reply `json:"reply,omitempty"`
	// Args are the arguments of the reply's tool calls to the byte, where JSON in JSON would lose their spaces.
	Args  []string       `json:"args,omitempty"`
	Error *recordedError `json:"error,omitempty"`
}

type recordedError struct {
	Fault      Fault         `json:"fault"`
	At         string        `json:"at,omitempty"`
	Status     int           `json:"status,omitempty"`
	Message    string        `json:"message"`
	Hint       string        `json:"hint,omitempty"`
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
	Attempts   int           `json:"attempts,omitempty"`
}

// Recorder writes the exchanges of models to a cassette, JSON Lines that Play reads.
// Each exchange is one Write, so what was recorded before a crash stays. It is safe for concurrent use.
// Neither requests nor errors hold secrets: keys travel in headers, and errors are scrubbed where they arise.
type Recorder struct {
	mu sync.Mutex
	w  io.Writer
}

// NewRecorder returns a recorder that appends to w. The caller closes w when no model is used any more.
func NewRecorder(w io.Writer) *Recorder { return &Recorder{w: w} }

// Record returns model with its replies and errors recorded under name, which Play must be asked for.
// It belongs outside of Retry: a call is recorded as it ended. A call that its caller gave up is not.
// When an exchange cannot be written, the call fails as Unrecorded.
func (r *Recorder) Record(name string, model Model) Model { return &recorded{r, name, model} }

type recorded struct {
	recorder *Recorder
	name     string
	model    Model
}

func (m *recorded) Generate(ctx context.Context, q Request) (chat.Reply, error) {
	return m.Stream(ctx, q, nil)
}

// Stream records the whole reply; played back, it comes in one piece.
func (m *recorded) Stream(ctx context.Context, q Request, token func(string)) (chat.Reply, error) {
	reply, err := ask(ctx, m.model, q, token)
	e := entry{Model: m.name, Request: &q}
	var failure *Error
	switch {
	case err == nil:
		e.Reply, e.Args = &reply, exactArgs(reply.ToolCalls)
	case errors.As(err, &failure):
		e.Error = &recordedError{
			failure.Fault, failure.At, failure.Status, failure.Message, failure.Hint, failure.RetryAfter, failure.Attempts,
		}
	default:
		return reply, err
	}
	if problem := m.recorder.write(e); problem != nil {
		return chat.Reply{}, &Error{
			Fault: Unrecorded, Model: m.name, Message: fmt.Sprintf("the exchange could not be recorded: %v", problem),
			Hint: "check the disk and the path of the cassette", Err: problem,
		}
	}
	return reply, err
}

func (r *Recorder) write(e entry) error {
	key, err := requestKey(e.Model, *e.Request)
	if err != nil {
		return err
	}
	e.Key = hex.EncodeToString(key[:])
	line, err := encodeJSON(e)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.w.Write(append(line, '\n'))
	return err
}

func (e *recordedError) error(model string) *Error {
	return &Error{
		Fault: e.Fault, Model: model, At: e.At, Status: e.Status, Message: e.Message, Hint: e.Hint,
		RetryAfter: e.RetryAfter, Attempts: e.Attempts,
	}
}

func exactArgs(calls []chat.ToolCall) []string {
	var texts []string
	lost := false
	for _, c := range calls {
		var compact bytes.Buffer
		lost = lost || json.Compact(&compact, c.Args) == nil && !bytes.Equal(compact.Bytes(), c.Args)
		texts = append(texts, string(c.Args))
	}
	if !lost {
		return nil
	}
	return texts
}

// decodeEntry reads one line of a cassette; the error says what is wrong with it.
func decodeEntry(line []byte) (entry, error) {
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return entry{}, fmt.Errorf("not a recorded exchange: %w", err)
	}
	if len(e.Key) != 64 || (e.Reply == nil) == (e.Error == nil) {
		return entry{}, errors.New("not a recorded exchange: it needs a key and either a reply or an error")
	}
	e.Request = nil // the key stands for it
	for i, text := range e.Args {
		if text != "" && e.Reply != nil && i < len(e.Reply.ToolCalls) {
			e.Reply.ToolCalls[i].Args = json.RawMessage(text)
		}
	}
	return e, nil
}
