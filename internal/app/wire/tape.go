package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// tape is the recording that is being made or played, if any.
type tape struct {
	file     *os.File
	recorder *llm.Recorder
	playing  *llm.Recording
	// drawKey is stored in the recording that is made: a new one, or the one that the recording has already.
	drawKey []byte
	// created is true of a recording that was not there before, used when something was opened that is recorded.
	created bool
	used    atomic.Bool
}

// openTape opens the recording that the options name. What a crash or a full disk left of its last line is cut off.
func (s *shared) openTape() (*tape, error) {
	switch {
	case s.Playback != "":
		return s.openPlayback()
	case s.Record != "" && s.Dry:
		return &tape{}, s.recordable()
	case s.Record != "":
		return s.openRecording()
	}
	return &tape{}, nil
}

func (s *shared) openPlayback() (*tape, error) {
	file, err := os.Open(s.Playback)
	if err != nil {
		return nil, source.Invalid("cannot replay: %w", err)
	}
	t := &tape{file: file}
	var size int64
	if t.playing, size, err = s.readTape(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if whole, _ := t.playing.Size(); whole < size {
		s.warnOfCut(s.Playback, size-whole)
		if !s.Dry {
			// a file that cannot be written is played without its last line just as well
			_ = os.Truncate(s.Playback, whole)
		}
	}
	return t, nil
}

func (s *shared) openRecording() (*tape, error) {
	const flags = os.O_RDWR | os.O_APPEND
	file, err := os.OpenFile(s.Record, flags|os.O_CREATE|os.O_EXCL, 0o600)
	created := err == nil
	if errors.Is(err, os.ErrExist) {
		if !s.Append {
			return nil, s.recordable()
		}
		file, err = os.OpenFile(s.Record, flags, 0o600)
	}
	if err != nil {
		return nil, source.Invalid("cannot record: %w", err)
	}
	t := &tape{file: file, recorder: llm.NewRecorder(s.secrets.Writer(file), s.secrets.Text), created: created}
	if !created {
		if t.drawKey, err = s.mend(file); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	if t.drawKey == nil {
		t.drawKey = judge.NewDrawKey()
	}
	t.recorder.StoreDrawKey(t.drawKey)
	return t, nil
}

// recordable returns the error of a recording that is there and must not be overwritten.
func (s *shared) recordable() error {
	if _, err := os.Stat(s.Record); err != nil || s.Append {
		return nil //nolint:nilerr // what is not there can be made, or making it says why not
	}
	return source.Invalid("the recording %s exists already: name another file, or remove it", s.Record)
}

// mend makes a recording end with a whole line, so that more can be written behind it, and returns the key of its
// draws.
func (s *shared) mend(file *os.File) (drawKey []byte, err error) {
	read, size, err := s.readTape(file)
	if err != nil {
		return nil, err
	}
	whole, unended := read.Size()
	switch {
	case unended:
		_, err = file.WriteString("\n")
	case whole < size:
		s.warnOfCut(file.Name(), size-whole)
		err = file.Truncate(whole)
	}
	if err != nil {
		return nil, fmt.Errorf("go on with the recording: %w", err)
	}
	drawKey, _ = read.Draws(context.Background())
	return drawKey, nil
}

func (s *shared) readTape(file *os.File) (*llm.Recording, int64, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", file.Name())
	}
	if err != nil {
		return nil, 0, source.Invalid("cannot read the recording: %w", err)
	}
	read, err := llm.Play(file.Name(), file, info.Size(), s.secrets.Text)
	if err != nil {
		return nil, 0, source.AsInvalid(err)
	}
	return read, info.Size(), nil
}

func (s *shared) warnOfCut(name string, bytes int64) {
	s.warn(fmt.Sprintf(
		"the last line of the recording %s was not whole, after a crash or on a full disk: its %d bytes are cut off",
		name, bytes))
}

// off is true when nothing is recorded or played.
func (t *tape) off() bool { return t.recorder == nil && t.playing == nil }

func (t *tape) record(name string, m llm.Model) llm.Model {
	if t.recorder == nil {
		return m
	}
	t.used.Store(true)
	return t.recorder.Record(name, m)
}

func (t *tape) recordEmbedder(name string, e llm.Embedder) llm.Embedder {
	if t.recorder == nil {
		return e
	}
	t.used.Store(true)
	return t.recorder.RecordEmbedder(name, e)
}

// close closes the recording. A new one for which nothing was opened is removed: a mistake was found, and its author
// types the command again.
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
