package llm

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
)

// embedFunc is an embedder made of a function.
type embedFunc func(ctx context.Context, texts []string) ([][]float64, error)

func (f embedFunc) Embed(ctx context.Context, texts []string) ([][]float64, error) {
	return f(ctx, texts)
}

// lengths embeds each text as its length.
func lengths(_ context.Context, texts []string) ([][]float64, error) {
	vectors := [][]float64{}
	for _, text := range texts {
		vectors = append(vectors, []float64{float64(len(text)), 0.1})
	}
	return vectors, nil
}

func TestEmbeddingCassette(t *testing.T) {
	var tape bytes.Buffer
	recorder := NewRecorder(&tape, nil)
	failure := &Error{
		Fault: Unavailable, Model: "openai:small", Status: 503, Message: "busy", Attempts: 3, Err: errors.New("cause"),
	}
	next := error(nil)
	e := recorder.RecordEmbedder("openai:small", embedFunc(func(ctx context.Context,
		texts []string) ([][]float64, error) {
		if next != nil {
			return nil, next
		}
		return lengths(ctx, texts)
	}))
	embed := func(texts ...string) ([][]float64, error) { return e.Embed(t.Context(), texts) }
	want, err := embed("<a>", "bb")
	if err != nil {
		t.Fatal(err)
	}
	next = failure
	if _, err := embed("c"); !errors.Is(err, failure) {
		t.Errorf("recording changed the error: %v", err)
	}
	next = context.Canceled
	if _, err := embed("d"); !errors.Is(err, context.Canceled) {
		t.Errorf("recording changed the error: %v", err)
	}
	next = nil
	if _, err := embed("c"); err != nil {
		t.Fatal(err)
	}
	if got, err := embed(); err != nil || len(got) != 0 {
		t.Errorf("nothing to embed: %v, %v", got, err)
	}
	agent := recorder.Record("openai:small", script(t, "default: {reply: x}"))
	if _, err := agent.Generate(t.Context(), say("a")); err != nil {
		t.Fatal(err)
	}
	diff(t, "lines with the head", 5, strings.Count(tape.String(), "\n"))

	c, err := playBytes("tape.jsonl", tape.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "models", []string{"openai:small"}, c.Models())
	if got, err := c.Generate(t.Context(), say("a")); err != nil || got.Text != "x" {
		t.Errorf("the model beside the embedder: %q, %v", got.Text, err)
	}
	e = c.EmbedderAs("openai:small")
	for range 2 { // as often as it is asked
		got, err := embed("<a>", "bb")
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "vectors", want, got)
		got[0][0] = 99
	}
	_, err = embed("c")
	failure.Err = nil
	diff(t, "the recorded error", failure, wantError(t, err))
	if got, err := embed("c"); err != nil || got[0][0] != 1 {
		t.Errorf("the recorded retry: %v, %v", got, err)
	}
	if got, err := embed(); err != nil || len(got) != 0 {
		t.Errorf("nothing to embed: %v, %v", got, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Embed(ended, []string{"c"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestEmbeddingNotRecorded(t *testing.T) {
	var tape bytes.Buffer
	if _, err := NewRecorder(&tape, nil).RecordEmbedder("small", embedFunc(lengths)).
		Embed(t.Context(), []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	c, err := playBytes("tape.jsonl", tape.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		texts []string
		want  string
	}{
		{"small", []string{"b", "a"}, `small at tape.jsonl: the cassette does not hold this request, with the first text "b" of 2 (record it again: --record tape.jsonl)`},
		{"other", []string{"a"}, `other at tape.jsonl: the cassette does not hold this request, with the first text "a" of 1 (it was recorded with small; record it again: --record tape.jsonl)`},
	} {
		_, err := c.EmbedderAs(tc.name).Embed(t.Context(), tc.texts)
		diff(t, "error", tc.want, err.Error())
		diff(t, "fault", Unrecorded, wantError(t, err).Fault)
	}
}

func TestEmbeddingRecordingFails(t *testing.T) {
	_, err := NewRecorder(full{}, nil).RecordEmbedder("small", embedFunc(lengths)).Embed(t.Context(), []string{"a"})
	diff(t, "error", "small: the exchange could not be recorded: no space left on device (check the disk and the "+
		"path of the cassette)", err.Error())
}

func TestEmbeddingRecordingConcurrently(t *testing.T) {
	var tape bytes.Buffer // not safe by itself
	recorder := NewRecorder(&tape, nil)
	e, m := recorder.RecordEmbedder("small", embedFunc(lengths)),
		recorder.Record("agent", script(t, "default: {reply: x}"))
	var wg sync.WaitGroup
	both := func(e Embedder, m Model) {
		for range 20 {
			wg.Go(func() {
				if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if _, err := m.Generate(t.Context(), say("a")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	both(e, m)
	c, err := playBytes("tape", tape.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	both(c.EmbedderAs("small"), c)
}
