package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// maxExchange bounds a line of a cassette. The largest answers are 64 MB, and JSON may write a byte as six.
const maxExchange = 512 << 20

// Play reads a cassette of a size; file is its name in errors. It keeps where the exchanges stand, not the exchanges,
// so source has to stay open. A last line that a crash cut short is left out (Whole). mask is that of the recorder. A
// conversation gets what was recorded of it (InConversation). The error is a source.Problems.
func Play(file string, source io.ReaderAt, size int64, mask Mask) (*Recording, error) {
	return (&Recording{file: file, source: source, mask: mask}).read(size)
}

// playAnywhere is Play for a model that stands wherever a configuration puts it: a conversation that was recorded, with
// whichever target, gets its own exchanges, and any other gets those of all conversations in their order.
func playAnywhere(file string, data []byte, mask Mask) (*Recording, error) {
	return (&Recording{file: file, source: bytes.NewReader(data), mask: mask, anywhere: true}).read(int64(len(data)))
}

func (c *Recording) read(size int64) (*Recording, error) {
	c.conversations = map[Conversation]*conversationTracks{}
	x := &recordingIndex{Recording: c, models: map[string]bool{}, embedders: map[string]bool{}}
	lines := bufio.NewReaderSize(io.NewSectionReader(c.source, 0, size), 64<<10)
	for number := 1; ; number++ {
		line, err := readLine(lines)
		if err == nil || errors.Is(err, io.EOF) {
			ended := err == nil
			if !ended && !json.Valid(line) { // cut short, or nothing at all
				break
			}
			err = x.add(line)
			if err == nil && !ended {
				c.whole += int64(len(line))
				c.unended = true
				break
			}
		}
		if err != nil {
			return nil, source.Problems{{File: c.file, Line: number, Column: 1, Message: err.Error(), Hint: x.hint()}}
		}
		c.whole += int64(len(line))
	}
	c.models, c.embedders = slices.Sorted(maps.Keys(x.models)), slices.Sorted(maps.Keys(x.embedders))
	return c, nil
}

// readLine returns a line with its end, or io.EOF with what has no end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > maxExchange {
			return nil, fmt.Errorf("the line is longer than %d MB", maxExchange>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// recordingIndex is a cassette while it is being read.
type recordingIndex struct {
	*Recording
	models, embedders map[string]bool
	// part counts the parts, last is the number of the last exchange in the present one.
	part, last int
	newer      bool
}

func (x *recordingIndex) hint() string {
	if x.newer {
		return "play it with the program that recorded it, or record it again"
	}
	return "record the cassette again"
}

// add notes where an exchange stands.
func (x *recordingIndex) add(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	e, key, err := decodeEntry(line)
	switch {
	case err != nil:
		return err
	case e.Kind == kindPart:
		x.part, x.last, x.newer, x.drawKey = x.part+1, 0, e.Version > cassetteVersion, e.DrawKey
		if x.newer {
			return fmt.Errorf("the recording has the format version %d, and this program knows %d", e.Version,
				cassetteVersion)
		}
		return nil
	case x.part == 0:
		return errors.New(
			"the recording has an older format, which does not say to which conversation an exchange belongs")
	case e.N <= x.last:
		return fmt.Errorf("exchange %d stands behind exchange %d: lines were repeated or moved", e.N, x.last)
	}
	x.last = e.N
	switch e.Kind {
	case kindEmbedding:
		x.embedders[e.Model] = true
	case "":
		x.models[e.Model] = true
	}
	at := span{x.whole, len(line)}
	if !x.anywhere {
		x.tracksOf(e.Conversation).add(key, at)
		return nil
	}
	x.tracksOf(Conversation{}).add(key, at)
	if e.Conversation != (Conversation{}) {
		target := e.Conversation.Target
		e.Conversation.Target = ""
		tracks := x.tracksOf(e.Conversation)
		tracks.target = target
		tracks.add(key, at)
	}
	return nil
}

// tracksOf returns the tracks of a conversation, emptied of what an earlier part holds of it.
func (x *recordingIndex) tracksOf(at Conversation) *conversationTracks {
	tracks, ok := x.conversations[at]
	if !ok || tracks.part < x.part && at != (Conversation{}) {
		tracks = &conversationTracks{part: x.part, tracks: map[exchangeKey]*track{}}
		x.conversations[at] = tracks
	}
	tracks.drawKey = x.drawKey
	return tracks
}
