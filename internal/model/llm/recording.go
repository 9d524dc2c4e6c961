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
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// cassetteVersion is the version of the format. A change that an older program would misread raises it.
const cassetteVersion = 2

// Kinds of lines. Exchanges with models have no kind.
const (
	// kindPart begins a part: what one run of the program has recorded. Of a conversation that several parts hold, the
	// last part counts, because that run held it anew.
	kindPart      = "cassette"
	kindEmbedding = "embedding"
	// kindTurn says how long an agent took for a turn.
	kindTurn = "turn"
)

// entry is one line of a cassette: the beginning of a part, or an exchange with a model or an embedder.
type entry struct {
	Kind string `json:"kind,omitempty"`
	// Version is that of the format, in the first line of a part.
	Version int `json:"version,omitempty"`
	// DrawKey is the key of the draws that requests to judges contain, in the first line of a part; a part without
	// draws has none.
	DrawKey []byte `json:"draw_key,omitempty"`
	// N counts the exchanges of a part from 1.
	N            int          `json:"n,omitempty"`
	Conversation Conversation `json:"conversation,omitzero"`
	// Key is the SHA-256 of the kind, the name of the model or embedder, and the request.
	Key   string `json:"key,omitempty"`
	Model string `json:"model,omitempty"`

	// Request is the masked Request. The key stands for it: it is there for people.
	Request json.RawMessage `json:"request,omitempty"`
	Reply   *chat.Reply     `json:"reply,omitempty"`
	// Args are the arguments of the reply's tool calls to the byte, where JSON in JSON would lose their spaces.
	Args []string `json:"args,omitempty"`

	Texts   []string    `json:"texts,omitempty"`
	Vectors [][]float64 `json:"vectors,omitempty"`

	Error *recordedError `json:"error,omitempty"`
}

// RecordingWords returns a function that reports whether a text is a word that recordings themselves are made of: the
// name of a field or the kind of a line. A reader of recordings needs them unmasked.
func RecordingWords() func(text string) bool {
	words := append(source.FieldNames(reflect.TypeFor[entry]()), kindPart, kindEmbedding, kindTurn)
	return func(text string) bool { return slices.Contains(words, text) }
}

type recordedError struct {
	Fault      Fault         `json:"fault"`
	At         string        `json:"at,omitempty"`
	Status     int           `json:"status,omitempty"`
	Message    string        `json:"message"`
	Hint       string        `json:"hint,omitempty"`
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
	Attempts   int           `json:"attempts,omitempty"`
	// Waited is how long the caller has waited for an answer that it then gave up (abandoned).
	Waited time.Duration `json:"waited_ns,omitempty"`
}

// abandoned is the fault of a call that ended with the time limit of its caller. It stays inside cassettes.
const abandoned Fault = "abandoned"

// Recorder writes the exchanges of models and embedders to a cassette, JSON Lines that Play reads.
// Each exchange is one Write, so what was recorded before a crash stays. It is safe for concurrent use.
type Recorder struct {
	mask    Mask
	drawKey []byte
	mu      sync.Mutex
	w       io.Writer
	n       int
	// broken is the error of a write that may have left half a line; nothing can be written behind that.
	broken error
}

// NewRecorder returns a recorder that appends a new part to w. What it writes is masked. The caller closes w when no
// model is used any more.
func NewRecorder(w io.Writer, mask Mask) *Recorder { return &Recorder{w: w, mask: mask} }

// StoreDrawKey stores the key of the draws in the requests of this part. Call it before the first exchange.
func (r *Recorder) StoreDrawKey(key []byte) { r.drawKey = key }

// Record returns model with its replies and errors recorded under name, which Play must be asked for. It belongs
// outside of Retry: a call is recorded as it ended, also when a time limit of its caller ended it. A call of a
// conversation that was given up as a whole is not. When an exchange cannot be written, the call fails as Unrecorded.
// Secrets in replies are the model's to hide.
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
	started := time.Now()
	reply, err := ask(ctx, m.model, q, token)
	e := entry{Model: m.name}
	if err == nil {
		kept := reply
		kept.ToolCalls = quoted(reply.ToolCalls)
		e.Reply, e.Args = &kept, exactArgs(reply.ToolCalls)
	}
	problem := error(nil)
	if e.Request, problem = m.recorder.mask.request(q); problem == nil {
		problem = m.recorder.write(ctx, e, e.Request, started, err)
	}
	if problem != nil {
		return chat.Reply{}, unwritten(ctx, m.name, problem)
	}
	return reply, err
}

// write writes the answer to what was asked, or the error err in its place.
func (r *Recorder) write(ctx context.Context, e entry, asked any, started time.Time, err error) error {
	if err != nil {
		failure, ok := asError(err)
		switch {
		case ok:
			e.Error = &recordedError{
				Fault: failure.Fault, At: r.mask.text(failure.At), Status: failure.Status,
				Message: r.mask.text(failure.Message), Hint: r.mask.text(failure.Hint), RetryAfter: failure.RetryAfter,
				Attempts: failure.Attempts,
			}
		case ctx.Err() == nil || givenUp(ctx):
			return nil
		default:
			e.Error = &recordedError{Fault: abandoned, Message: "given up by its caller", Waited: time.Since(started)}
		}
	}
	key, err := keyOf(e.Kind, e.Model, asked)
	if err != nil {
		return err
	}
	e.Key, e.Conversation = hex.EncodeToString(key[:]), ConversationOf(ctx).masked(r.mask)
	return r.append(e)
}

func (r *Recorder) append(e entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken
	}
	if r.n == 0 {
		if err := r.line(entry{Kind: kindPart, Version: cassetteVersion, DrawKey: r.drawKey}); err != nil {
			return err
		}
	}
	r.n++
	e.N = r.n
	return r.line(e)
}

func (r *Recorder) line(e entry) error {
	data, err := encodeJSON(e)
	if err == nil {
		_, r.broken = r.w.Write(append(data, '\n'))
		err = r.broken
	}
	return err
}

// unwritten is the error of an exchange that could not be recorded.
func unwritten(ctx context.Context, name string, problem error) *Error {
	return lacking(ctx, &Error{
		Fault: Unrecorded, Model: name, Message: fmt.Sprintf("the exchange could not be recorded: %v", problem),
		Hint: "check the disk and the path of the cassette", Err: problem,
	})
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
		err := json.Compact(&compact, c.Args)
		lost = lost || len(c.Args) > 0 && (err != nil || !bytes.Equal(compact.Bytes(), c.Args))
		texts = append(texts, string(c.Args))
	}
	if !lost {
		return nil
	}
	return texts
}

// decodeEntry reads one line of a cassette; the error says what is wrong with it.
func decodeEntry(line []byte) (e entry, key exchangeKey, err error) {
	if err := json.Unmarshal(line, &e); err != nil {
		return entry{}, key, fmt.Errorf("not a recorded exchange: %w", err)
	}
	answered := e.Reply != nil
	switch e.Kind {
	case "", kindTurn:
	case kindPart:
		return e, key, nil
	case kindEmbedding:
		answered = e.Vectors != nil
	default:
		return entry{}, key, fmt.Errorf("not a recorded exchange: unknown kind %q", e.Kind)
	}
	sum, err := hex.DecodeString(e.Key)
	if err != nil || copy(key[:], sum) != sha256.Size || answered == (e.Error != nil) {
		return entry{}, key, errors.New("not a recorded exchange: it needs a key and either a reply or an error")
	}
	for i, text := range e.Args {
		if text != "" && e.Reply != nil && i < len(e.Reply.ToolCalls) {
			e.Reply.ToolCalls[i].Args = json.RawMessage(text)
		}
	}
	return e, key, nil
}
