package llm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"rehearse/internal/chat"
)

// kindEmbedding marks the lines of embedders. Lines of models have no kind.
const kindEmbedding = "embedding"

// entry is one line of a cassette: an exchange with a model or with an embedder.
type entry struct {
	Kind string `json:"kind,omitempty"`
	// Key is the SHA-256 of the name of the model or embedder and the request.
	Key   string `json:"key"`
	Model string `json:"model"`

	Request *Request    `json:"request,omitempty"`
	Reply   *chat.Reply `json:"reply,omitempty"`
	// Args are the arguments of the reply's tool calls to the byte, where JSON in JSON would lose their spaces.
	Args []string `json:"args,omitempty"`

	Texts   []string    `json:"texts,omitempty"`
	Vectors [][]float64 `json:"vectors,omitempty"`

	Error *recordedError `json:"error,omitempty"`
}

func (e entry) sum() ([sha256.Size]byte, error) {
	if e.Kind == kindEmbedding {
		return embeddingKey(e.Model, e.Texts)
	}
	return requestKey(e.Model, *e.Request)
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

// Recorder writes the exchanges of models and embedders to a cassette, JSON Lines that Play reads.
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
	if err == nil {
		e.Reply, e.Args = &reply, exactArgs(reply.ToolCalls)
	}
	if failed := m.recorder.write(e, err); failed != nil {
		return chat.Reply{}, failed
	}
	return reply, err
}

// write writes an exchange that ended with err, unless its caller gave it up.
// The error is the *Error of an exchange that could not be written.
func (r *Recorder) write(e entry, err error) error {
	if err != nil {
		failure, ok := asError(err)
		if !ok {
			return nil
		}
		e.Error = &recordedError{
			failure.Fault, failure.At, failure.Status, failure.Message, failure.Hint, failure.RetryAfter, failure.Attempts,
		}
	}
	if problem := r.append(e); problem != nil {
		return &Error{
			Fault: Unrecorded, Model: e.Model, Message: fmt.Sprintf("the exchange could not be recorded: %v", problem),
			Hint: "check the disk and the path of the cassette", Err: problem,
		}
	}
	return nil
}

func (r *Recorder) append(e entry) error {
	sum, err := e.sum()
	if err != nil {
		return err
	}
	e.Key = hex.EncodeToString(sum[:])
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
	answered := e.Reply != nil
	switch e.Kind {
	case "":
	case kindEmbedding:
		answered = e.Vectors != nil
	default:
		return entry{}, fmt.Errorf("not a recorded exchange: unknown kind %q", e.Kind)
	}
	if len(e.Key) != 2*sha256.Size || answered == (e.Error != nil) {
		return entry{}, errors.New("not a recorded exchange: it needs a key and either a reply or an error")
	}
	e.Request, e.Texts = nil, nil // the key stands for them
	for i, text := range e.Args {
		if text != "" && e.Reply != nil && i < len(e.Reply.ToolCalls) {
			e.Reply.ToolCalls[i].Args = json.RawMessage(text)
		}
	}
	return e, nil
}
