package setup

import (
	"errors"
	"os"

	"rehearse/internal/llm"
	"rehearse/internal/source"
)

// tape is the recording that is being made or played, if any.
type tape struct {
	file     *os.File
	recorder *llm.Recorder
	playing  *llm.Cassette
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
		t.file, t.recorder = file, llm.NewRecorder(file)
	}
	return t, nil
}

// off is true when nothing is recorded or played.
func (t *tape) off() bool { return t.file == nil && t.playing == nil }

func (t *tape) record(name string, m llm.Model) llm.Model {
	if t.file == nil {
		return m
	}
	return t.recorder.Record(name, m)
}

func (t *tape) recordEmbedder(name string, e llm.Embedder) llm.Embedder {
	if t.file == nil {
		return e
	}
	return t.recorder.RecordEmbedder(name, e)
}

func (t *tape) close() error {
	if t == nil || t.file == nil {
		return nil
	}
	return t.file.Close()
}
