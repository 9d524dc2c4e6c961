package llm

import (
	"context"
	"fmt"
	"time"
)

// RecordEmbedder returns e with its vectors and errors recorded under name, which Cassette.EmbedderAs must be asked
// for. What is recorded, and what fails, is as in Record.
func (r *Recorder) RecordEmbedder(name string, e Embedder) Embedder {
	return &recordedEmbedder{r, name, e}
}

type recordedEmbedder struct {
	recorder *Recorder
	name     string
	embedder Embedder
}

func (m *recordedEmbedder) Embed(ctx context.Context, texts []string) ([][]float64, error) {
	started := time.Now()
	vectors, err := m.embedder.Embed(ctx, texts)
	if len(texts) == 0 {
		return vectors, err
	}
	e := entry{Kind: kindEmbedding, Model: m.name, Texts: m.recorder.mask.texts(texts)}
	if err == nil {
		e.Vectors = vectors
	}
	if problem := m.recorder.write(ctx, e, e.Texts, started, err); problem != nil {
		return nil, unwritten(ctx, m.name, problem)
	}
	return vectors, err
}

// EmbedderAs returns the embedder that was recorded under name. Equal requests of a conversation get their answers in
// the order in which they were recorded, and then the last one again: vectors depend on nothing but the texts. A
// request that was not recorded is an *Error of fault Unrecorded.
func (c *Recording) EmbedderAs(name string) Embedder { return embeddingVoice{c, name} }

type embeddingVoice struct {
	cassette *Recording
	name     string
}

func (v embeddingVoice) Embed(ctx context.Context, texts []string) ([][]float64, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(texts) == 0:
		return [][]float64{}, nil
	}
	masked := v.cassette.mask.texts(texts)
	what := fmt.Sprintf("the first text %q of %d", clip(masked[0]), len(texts))
	e, err := v.cassette.next(ctx, recordedRequest{kindEmbedding, v.name, masked, what})
	return e.Vectors, err
}
