package llm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// RecordEmbedder returns e with its vectors and errors recorded under name, which Cassette.EmbedderAs must be asked for.
// A call that its caller gave up is not recorded. When an exchange cannot be written, the call fails as Unrecorded.
func (r *Recorder) RecordEmbedder(name string, e Embedder) Embedder {
	return &recordedEmbedder{r, name, e}
}

type recordedEmbedder struct {
	recorder *Recorder
	name     string
	embedder Embedder
}

func (m *recordedEmbedder) Embed(ctx context.Context, texts []string) ([][]float64, error) {
	vectors, err := m.embedder.Embed(ctx, texts)
	if len(texts) == 0 {
		return vectors, err
	}
	e := entry{Kind: kindEmbedding, Model: m.name, Texts: texts}
	if err == nil {
		e.Vectors = vectors
	}
	if failed := m.recorder.write(e, err); failed != nil {
		return nil, failed
	}
	return vectors, err
}

// EmbedderAs returns the embedder that was recorded under name. Equal requests get their answers in the order in which they were
// recorded, and then the last one again: vectors depend on nothing but the texts, and how often a cache asks for them is chance.
// A request that was not recorded is an *Error of fault Unrecorded.
func (c *Cassette) EmbedderAs(name string) Embedder { return embeddingTrack{c, name} }

type embeddingTrack struct {
	cassette *Cassette
	name     string
}

func (t embeddingTrack) Embed(ctx context.Context, texts []string) ([][]float64, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(texts) == 0:
		return [][]float64{}, nil
	}
	c := t.cassette
	sum, err := embeddingKey(t.name, texts)
	if err != nil {
		return nil, &Error{Fault: Refused, Model: t.name, At: c.file, Message: err.Error(), Err: err}
	}
	key := hex.EncodeToString(sum[:])
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.tracks[key]
	if len(left) == 0 {
		return nil, &Error{
			Fault: Unrecorded, Model: t.name, At: c.file, Hint: c.hint(t.name, c.embedders),
			Message: fmt.Sprintf("the cassette does not hold this request, with the first text %q of %d", clip(texts[0]), len(texts)),
		}
	}
	if len(left) > 1 {
		c.tracks[key] = left[1:]
	}
	if left[0].Error != nil {
		return nil, left[0].Error.error(t.name)
	}
	return cloneVectors(left[0].Vectors), nil
}

// cloneVectors lets callers change what they get.
func cloneVectors(vectors [][]float64) [][]float64 {
	list := make([][]float64, len(vectors))
	for i, v := range vectors {
		list[i] = append([]float64(nil), v...)
	}
	return list
}

// embeddingKey tells requests for embeddings apart from each other, and from those of models, which are JSON objects.
func embeddingKey(name string, texts []string) ([sha256.Size]byte, error) {
	encoded, err := json.Marshal(texts)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("the texts cannot be written as JSON: %w", err)
	}
	return sha256.Sum256(append([]byte(name+"\n"), encoded...)), nil
}
