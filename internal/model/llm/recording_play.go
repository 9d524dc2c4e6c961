package llm

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

var (
	_ Model = (*Recording)(nil)
	_ Cast  = (*Recording)(nil)
)

// Recording plays recorded exchanges. Equal requests of a conversation to a model get their replies in the order in
// which they were recorded, each once; see EmbedderAs for embedders. It is safe for concurrent use.
type Recording struct {
	file              string
	source            io.ReaderAt
	mask              Mask
	anywhere          bool
	models, embedders []string
	whole             int64
	unended           bool
	// drawKey is that of the last part.
	drawKey       []byte
	mu            sync.Mutex
	conversations map[Conversation]*conversationTracks
}

// conversationTracks are the exchanges of one conversation in the last part that has it.
type conversationTracks struct {
	part    int
	drawKey []byte
	// target is that of the last exchange; it differs from the conversation's in a cassette that is played anywhere.
	target string
	tracks map[exchangeKey]*track
}

func (l *conversationTracks) add(key exchangeKey, at span) {
	if l.tracks[key] == nil {
		l.tracks[key] = &track{}
	}
	l.tracks[key].at = append(l.tracks[key].at, at)
}

// track has the answers to equal requests; the first next of them were played.
type track struct {
	at   []span
	next int
}

// span is where a line stands.
type span struct {
	offset int64
	length int
}

// Size returns how many bytes of the cassette are whole lines, and whether the last of them lacks its line break.
func (c *Recording) Size() (size int64, unended bool) { return c.whole, c.unended }

// Draws returns what the draws in recorded requests come from: the key, nil for requests without draws, and the
// conversation. They are those of the conversation of ctx, or the key of the last part where the cassette does not have
// that conversation.
func (c *Recording) Draws(ctx context.Context) (key []byte, at Conversation) {
	at = ConversationOf(ctx)
	l := c.conversations[c.held(ctx)]
	if l == nil {
		return c.drawKey, at
	}
	if c.anywhere {
		at.Target = l.target
	}
	return l.drawKey, at
}

// held returns the conversation under which the exchanges of ctx are found.
func (c *Recording) held(ctx context.Context) Conversation {
	held := ConversationOf(ctx).masked(c.mask)
	if c.anywhere {
		held.Target = ""
		if c.conversations[held] == nil {
			return Conversation{}
		}
	}
	return held
}

// Models returns the names under which exchanges with models were recorded, sorted.
func (c *Recording) Models() []string { return slices.Clone(c.models) }

// As returns the model that was recorded under name.
func (c *Recording) As(name string) Model { return voice{c, name} }

type voice struct {
	cassette *Recording
	name     string
}

func (v voice) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	return v.cassette.play(ctx, v.name, r)
}

// Generate plays the only model of the cassette; with several, use As.
func (c *Recording) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	if len(c.models) != 1 {
		return chat.Reply{}, &Error{
			Fault: Unrecorded, Model: "cassette:" + c.file, Message: fmt.Sprintf("holds %d models", len(c.models)),
			Hint: "say which: cassette:" + c.file + "#NAME; known: " + strings.Join(c.models, ", "),
		}
	}
	return c.play(ctx, c.models[0], r)
}

func (c *Recording) play(ctx context.Context, name string, r Request) (chat.Reply, error) {
	if ctx.Err() != nil && givenUp(ctx) {
		return chat.Reply{}, ctx.Err()
	}
	// A caller that has given up in the meantime may have had its answer when it was recorded, so the recording
	// decides.
	request, err := c.mask.request(r)
	if err != nil {
		return chat.Reply{}, c.unreadable(ctx, name, err)
	}
	what := fmt.Sprintf("the user message %q", clip(c.mask.text(newScene(name, &r, nil).user)))
	e, err := c.next(ctx, recordedRequest{"", name, request, what})
	if err != nil {
		return chat.Reply{}, err
	}
	if why := e.Reply.Withheld(); why != "" {
		message := "the recorded reply is empty: it ended with the finish reason " + why
		return chat.Reply{}, &Error{Fault: Malformed, Model: name, At: c.file, Message: message}
	}
	return *e.Reply, nil
}

// recordedRequest is a request to be played: what is part of its key, and what it is called in errors.
type recordedRequest struct {
	kind, name string
	request    any
	what       string
}

// next returns the next answer to a request. The error is the recorded one, or says that there is none.
func (c *Recording) next(ctx context.Context, a recordedRequest) (entry, error) {
	key, err := keyOf(a.kind, a.name, a.request)
	if err != nil {
		return entry{}, c.unreadable(ctx, a.name, err)
	}
	at, err := c.find(ctx, key, a)
	if err != nil {
		return entry{}, err
	}
	line := make([]byte, at.length)
	if _, err := c.source.ReadAt(line, at.offset); err != nil {
		return entry{}, c.unreadable(ctx, a.name, err)
	}
	e, _, err := decodeEntry(line)
	switch {
	case err != nil:
		return entry{}, c.unreadable(ctx, a.name, err)
	case e.Error == nil:
		return e, nil
	case e.Error.Fault == abandoned:
		return entry{}, c.wait(ctx, a.name, e.Error.Waited)
	}
	return entry{}, e.Error.error(a.name)
}

// find takes the place of the next answer.
func (c *Recording) find(ctx context.Context, key exchangeKey, a recordedRequest) (span, error) {
	held := c.held(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	var t *track
	if tracks := c.conversations[held]; tracks != nil {
		t = tracks.tracks[key]
	}
	switch {
	case t == nil:
		return span{}, c.unrecorded(ctx, a, "the cassette does not hold this request", held)
	case t.next < len(t.at):
		t.next++
	case a.kind != kindEmbedding:
		return span{}, c.unrecorded(ctx, a,
			fmt.Sprintf("the cassette holds this request %d times, and all were played", len(t.at)), held)
	}
	return t.at[t.next-1], nil
}

// patience is how much longer than the recorded caller one waits before a call that was given up fails by itself.
const patience = 10 * time.Second

// wait plays a call that a time limit of its caller has ended: the same limit ends it again.
func (c *Recording) wait(ctx context.Context, name string, waited time.Duration) error {
	late := time.NewTimer(min(max(waited, 0), time.Hour) + patience)
	defer late.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return lacking(ctx, &Error{
			Fault: Unrecorded, Model: name, At: c.file,
			Hint: "play it with the time limits of the recording, or record it again",
			Message: fmt.Sprintf("the recorded call was given up after %s without an answer",
				waited.Round(time.Millisecond)),
		})
	}
}

func (c *Recording) unreadable(ctx context.Context, name string, err error) error {
	return lacking(ctx, &Error{Fault: Unrecorded, Model: name, At: c.file, Message: err.Error(), Err: err})
}

// unrecorded is the error of a request that the cassette does not hold; held is its conversation.
func (c *Recording) unrecorded(ctx context.Context, a recordedRequest, message string, held Conversation) *Error {
	known := c.models
	if a.kind == kindEmbedding {
		known = c.embedders
	}
	hint := "record it again: --record " + c.file
	if len(known) > 0 && !slices.Contains(known, a.name) {
		hint = "it was recorded with " + strings.Join(known, ", ") + "; " + hint
	}
	if held != (Conversation{}) && c.conversations[held] == nil {
		hint = c.strange(held) + "; " + hint
	}
	return lacking(ctx, &Error{
		Fault: Unrecorded, Model: a.name, At: c.file, Message: message + ", with " + a.what, Hint: hint,
	})
}

// strange says in which way a conversation is not one of the cassette.
func (c *Recording) strange(held Conversation) string {
	for known := range c.conversations {
		if known.Suite == held.Suite && known.Suite != "" {
			return "it holds nothing of this conversation"
		}
	}
	return fmt.Sprintf("it was recorded with other suites than %q", clip(held.Suite))
}
