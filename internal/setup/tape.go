package setup

import (
	"errors"
	"os"
	"sync/atomic"

	"rehearse/internal/llm"
	"rehearse/internal/source"
)

// tape is the recording that is being made or played, if any.
type tape struct {
	file     *os.File
	recorder *llm.Recorder
	playing  *llm.Cassette
	// created is true of a recording that was not there before, used when something was opened that is recorded.
	created bool
	used    atomic.Bool
}

func openTape(o Options) (*tape, error) {
	t := &tape{}
	switch {
	case o.Playback != "":
		data, err := os.ReadFile(o.Playback)
		if err != nil {
			return nil, source.Invalid("cannot replay: %w", err)
		}
		if t.playing, err = llm.Play(o.Playback, data); err != nil {
			return nil, source.AsInvalid(err)
		}
	case o.Record != "":
		mode := os.O_CREATE | os.O_WRONLY | os.O_EXCL
		if o.Append {
			mode = os.O_CREATE | os.O_WRONLY | os.O_APPEND
		}
		file, err := os.OpenFile(o.Record, mode, 0o600)
		if errors.Is(err, os.ErrExist) {
			return nil, source.Invalid("the recording %s exists already: name another file, or remove it", o.Record)
		}
		if err != nil {
			return nil, source.Invalid("cannot record: %w", err)
		}
		t.file, t.recorder, t.created = file, llm.NewRecorder(file), !o.Append
	}
	return t, nil
}

// off is true when nothing is recorded or played.
func (t *tape) off() bool { return t.file == nil && t.playing == nil }

func (t *tape) record(name string, m llm.Model) llm.Model {
	if t.file == nil {
		return m
	}
	t.used.Store(true)
	return t.recorder.Record(name, m)
}

func (t *tape) recordEmbedder(name string, e llm.Embedder) llm.Embedder {
	if t.file == nil {
		return e
	}
	t.used.Store(true)
	return t.recorder.RecordEmbedder(name, e)
}

// close closes the recording. A new one for which nothing was opened is removed: a mistake was found, and its author types the command again.
func (t *tape) close() error {
	if t == nil || t.file == nil {
		return nil
	}
	err := t.file.Close()
	if t.created && !t.used.Load() {
		err = errors.Join(err, os.Remove(t.file.Name()))
	}
	return err
}
