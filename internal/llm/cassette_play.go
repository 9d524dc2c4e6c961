package llm

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"rehearse/internal/chat"
	"rehearse/internal/source"
)

var (
	_ Model = (*Cassette)(nil)
	_ Cast  = (*Cassette)(nil)
)

// Cassette plays recorded exchanges. Identical requests of a model get their replies in the order in which they were recorded, each
// once; see EmbedderAs for embedders. It is safe for concurrent use.
type Cassette struct {
	file              string
	models, embedders []string
	mu                sync.Mutex
	// tracks holds what is still to be played, played how many were, by request.
	tracks map[string][]entry
	played map[string]int
}

// Play reads a cassette; file is its name in errors. A last line that a crash cut short is left out.
// The error is a source.Problems.
func Play(file string, data []byte) (*Cassette, error) {
	c := &Cassette{file: file, tracks: map[string][]entry{}, played: map[string]int{}}
	models, embedders := map[string]bool{}, map[string]bool{}
	number := 0
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		data = rest
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e, err := decodeEntry(line)
		if err != nil && !ended {
			break
		}
		if err != nil {
			return nil, source.Problems{{File: file, Line: number, Column: 1, Message: err.Error(), Hint: "record the cassette again"}}
		}
		if e.Kind == kindEmbedding {
			embedders[e.Model] = true
		} else {
			models[e.Model] = true
		}
		c.tracks[e.Key] = append(c.tracks[e.Key], e)
	}
	c.models, c.embedders = slices.Sorted(maps.Keys(models)), slices.Sorted(maps.Keys(embedders))
	return c, nil
}

// Models returns the names under which exchanges with models were recorded, sorted.
func (c *Cassette) Models() []string { return slices.Clone(c.models) }

// As returns the model that was recorded under name.
func (c *Cassette) As(name string) Model { return track{c, name} }

type track struct {
	cassette *Cassette
	name     string
}

func (t track) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	return t.cassette.play(ctx, t.name, r)
}

// Generate plays the only model of the cassette; with several, use As.
func (c *Cassette) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	if len(c.models) != 1 {
		return chat.Reply{}, &Error{
			Fault: Unrecorded, Model: "cassette:" + c.file, Message: fmt.Sprintf("holds %d models", len(c.models)),
			Hint: "say which: cassette:" + c.file + "#NAME; known: " + strings.Join(c.models, ", "),
		}
	}
	return c.play(ctx, c.models[0], r)
}

func (c *Cassette) play(ctx context.Context, name string, r Request) (chat.Reply, error) {
	if ctx.Err() != nil {
		return chat.Reply{}, ctx.Err()
	}
	sum, err := requestKey(name, r)
	if err != nil {
		return chat.Reply{}, &Error{Fault: Refused, Model: name, At: c.file, Message: err.Error(), Err: err}
	}
	key := hex.EncodeToString(sum[:])
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.tracks[key]
	if len(left) == 0 {
		return chat.Reply{}, c.unrecorded(name, r, c.played[key])
	}
	c.tracks[key] = left[1:]
	c.played[key]++
	if left[0].Error != nil {
		return chat.Reply{}, left[0].Error.error(name)
	}
	return *left[0].Reply, nil
}

func (c *Cassette) unrecorded(name string, r Request, played int) *Error {
	message := "the cassette does not hold this request"
	if played > 0 {
		message = fmt.Sprintf("the cassette holds this request %d times, and all were played", played)
	}
	return &Error{
		Fault: Unrecorded, Model: name, At: c.file,
		Message: fmt.Sprintf("%s, with the user message %q", message, clip(newScene(name, &r, nil).user)), Hint: c.hint(name, c.models),
	}
}

// hint says what to do about a request that was not recorded; known are the names that were.
func (c *Cassette) hint(name string, known []string) string {
	hint := "record it again: --record " + c.file
	if len(known) > 0 && !slices.Contains(known, name) {
		hint = "it was recorded with " + strings.Join(known, ", ") + "; " + hint
	}
	return hint
}
