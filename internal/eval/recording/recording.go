// Package recording records the exchanges with models, tools and services in a file, or plays them from one. What it
// returns contains no secrets.
package recording

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Options are the settings of Open.
type Options struct {
	// Record is a file for every exchange, Playback one whose exchanges replace them. At most one of them is set.
	Record, Playback string
	// Append continues an existing recording. Dry writes nothing.
	Append, Dry bool
	Secrets     *redact.Redactor
	// Warn gets a sentence about each problem that stops nothing.
	Warn func(text string)
}

// Recording is what is recorded or played. Without a file it only removes secrets from replies. Close it.
type Recording struct {
	options  Options
	file     *os.File
	recorder *llm.Recorder
	player   *llm.Recording
	// drawKey is stored in the recording that is made: a new one, or the one that the recording has already.
	drawKey []byte
	// created is true of a recording that was not there before, used when something was opened that is recorded.
	created bool
	used    atomic.Bool
	// unmasked is true once replies have their secrets (Unmask).
	unmasked atomic.Bool
}

// Open opens the recording that the options name. What a crash or a full disk left of its last line is cut off.
func Open(o Options) (*Recording, error) {
	r := &Recording{options: o}
	switch {
	case o.Playback != "":
		return r, r.openPlayback()
	case o.Record != "" && o.Dry:
		return r, r.recordable()
	case o.Record != "":
		return r, r.openRecording()
	}
	return r, nil
}

func (r *Recording) openPlayback() error {
	file, err := os.Open(r.options.Playback)
	if err != nil {
		return source.Invalid("cannot replay: %w", err)
	}
	player, size, err := r.read(file)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	r.file, r.player = file, player
	if whole, _ := player.Size(); whole < size {
		r.warnOfCut(r.options.Playback, size-whole)
		if !r.options.Dry {
			// a file that cannot be written is played without its last line just as well
			_ = os.Truncate(r.options.Playback, whole)
		}
	}
	return nil
}

func (r *Recording) openRecording() error {
	const flags = os.O_RDWR | os.O_APPEND
	o := &r.options
	file, err := os.OpenFile(o.Record, flags|os.O_CREATE|os.O_EXCL, 0o600)
	created := err == nil
	if errors.Is(err, os.ErrExist) {
		if !o.Append {
			return r.recordable()
		}
		file, err = os.OpenFile(o.Record, flags, 0o600)
	}
	if err != nil {
		return source.Invalid("cannot record: %w", err)
	}
	if !created {
		if r.drawKey, err = r.repair(file); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	r.file, r.created, r.recorder = file, created, llm.NewRecorder(o.Secrets.Writer(file), o.Secrets.Text)
	if r.drawKey == nil {
		r.drawKey = judge.NewDrawKey()
	}
	r.recorder.StoreDrawKey(r.drawKey)
	return nil
}

// recordable returns the error of a recording that is there and must not be overwritten.
func (r *Recording) recordable() error {
	if _, err := os.Stat(r.options.Record); err != nil || r.options.Append {
		return nil //nolint:nilerr // what is not there can be made, or making it says why not
	}
	return source.Invalid("the recording %s exists already: name another file, or remove it", r.options.Record)
}

// repair makes a recording end with a whole line, so that more can be written behind it, and returns the key of its
// draws.
func (r *Recording) repair(file *os.File) (drawKey []byte, err error) {
	read, size, err := r.read(file)
	if err != nil {
		return nil, err
	}
	whole, unended := read.Size()
	switch {
	case unended:
		_, err = file.WriteString("\n")
	case whole < size:
		r.warnOfCut(file.Name(), size-whole)
		err = file.Truncate(whole)
	}
	if err != nil {
		return nil, fmt.Errorf("go on with the recording: %w", err)
	}
	drawKey, _ = read.Draws(context.Background())
	return drawKey, nil
}

func (r *Recording) read(file *os.File) (*llm.Recording, int64, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", file.Name())
	}
	if err != nil {
		return nil, 0, source.Invalid("cannot read the recording: %w", err)
	}
	read, err := llm.Play(file.Name(), file, info.Size(), r.options.Secrets.Text)
	if err != nil {
		return nil, 0, source.AsInvalid(err)
	}
	return read, info.Size(), nil
}

func (r *Recording) warnOfCut(name string, bytes int64) {
	r.options.Warn(fmt.Sprintf(
		"the last line of the recording %s was not whole, after a crash or on a full disk: its %d bytes are cut off",
		name, bytes))
}

// Off reports whether nothing is recorded or played.
func (r *Recording) Off() bool { return r == nil || r.recorder == nil && r.player == nil }

// Playing reports whether a recording is played.
func (r *Recording) Playing() bool { return r.player != nil }

// Unmask lets the replies of models that are wrapped later have their secrets. Recordings are masked in any case.
func (r *Recording) Unmask() { r.unmasked.Store(true) }

// Model wraps a model, or a server that is called like one: playback replaces it, recording surrounds it. Its replies
// contain no secret, unless they are unmasked.
func (r *Recording) Model(name string, m llm.Model) llm.Model {
	if r.player != nil {
		m = &revealingModel{r.player.As(name), r.options.Secrets}
	} else if r.recorder != nil {
		r.used.Store(true)
		m = r.recorder.Record(name, m)
	}
	if r.unmasked.Load() {
		return m
	}
	return &redactingModel{m, r.options.Secrets}
}

// Embedder wraps an embedder: playback replaces it, recording surrounds it.
func (r *Recording) Embedder(name string, e llm.Embedder) llm.Embedder {
	switch {
	case r.player != nil:
		return r.player.EmbedderAs(name)
	case r.recorder != nil:
		r.used.Store(true)
		return r.recorder.RecordEmbedder(name, e)
	}
	return e
}

// Draws returns what the draws in judges' requests come from: the recording that is played, or the one that is made. It
// is nil where nothing is recorded.
func (r *Recording) Draws() func(context.Context) ([]byte, llm.Conversation) {
	switch {
	case r.player != nil:
		return r.player.Draws
	case r.recorder != nil:
		return func(ctx context.Context) ([]byte, llm.Conversation) { return r.drawKey, llm.ConversationOf(ctx) }
	}
	return nil
}

// Close closes the recording. A new one for which nothing was opened is removed: a mistake was found, and its author
// types the command again.
func (r *Recording) Close() error {
	if r == nil || r.file == nil {
		return nil
	}
	err := r.file.Close()
	if r.created && !r.used.Load() {
		err = errors.Join(err, os.Remove(r.file.Name()))
	}
	return err
}
