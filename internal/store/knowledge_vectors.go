package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Embedder turns texts into vectors of one length, in the same order. Texts that mean the same get vectors of much the same direction.
// It must be safe for concurrent use.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float64, error)
}

// Vectors say what finds passages by their meaning, beside their words.
type Vectors struct {
	// Model names what makes the vectors, such as "openai:text-embedding-3-small". Those of different models are never compared.
	Model    string
	Embedder Embedder
	// Failed, if set, is told why a search went by words only, or why passages of a folder have no vectors. It may be called at any
	// time, by several goroutines.
	Failed func(error)
}

// KnowledgeOption changes how knowledge bases are searched.
type KnowledgeOption func(*Knowledge)

// WithVectors lets passages be found by their meaning too. Without an embedder it changes nothing.
func WithVectors(v Vectors) KnowledgeOption {
	return func(k *Knowledge) {
		if v.Embedder != nil {
			k.vectors, k.matrix = &v, newMatrix()
		}
	}
}

func (v *Vectors) failed(err error) {
	if v.Failed != nil {
		v.Failed(err)
	}
}

const (
	// maxEmbedText is how many bytes of a text are embedded: many models refuse a text of more than 8,000 tokens, and with it all
	// others of the request.
	maxEmbedText = 6 << 10
	// maxVectorSize is far more than models give.
	maxVectorSize = 16 << 10
	float32Bytes  = 4
)

// embed returns one vector of length 1 per text.
func (v *Vectors) embed(ctx context.Context, texts []string) ([][]float32, error) {
	cut := make([]string, len(texts))
	for i, text := range texts {
		cut[i] = firstBytes(text, maxEmbedText)
	}
	raw, err := v.Embedder.Embed(ctx, cut)
	if err != nil {
		return nil, err
	}
	if len(raw) != len(texts) {
		return nil, fmt.Errorf("%d vectors for %d texts", len(raw), len(texts))
	}
	vectors := make([][]float32, len(raw))
	for i, numbers := range raw {
		if len(numbers) != len(raw[0]) {
			return nil, fmt.Errorf("vectors of %d and of %d numbers", len(raw[0]), len(numbers))
		}
		if vectors[i], err = normalised(numbers); err != nil {
			return nil, err
		}
	}
	return vectors, nil
}

// normalised returns a vector of length 1, so that cosines are sums of products. One without a direction stays 0 and is never found.
func normalised(numbers []float64) ([]float32, error) {
	if len(numbers) == 0 || len(numbers) > maxVectorSize {
		return nil, fmt.Errorf("a vector of %d numbers", len(numbers))
	}
	var length float64
	for _, n := range numbers {
		length = math.Hypot(length, n)
	}
	if math.IsNaN(length) || math.IsInf(length, 0) {
		return nil, fmt.Errorf("a vector with numbers that are none")
	}
	vector := make([]float32, len(numbers))
	for i, n := range numbers {
		if length > 0 {
			vector[i] = float32(n / length)
		}
	}
	return vector, nil
}

// pack returns a vector as it is stored.
func pack(vector []float32) []byte {
	blob := make([]byte, 0, len(vector)*float32Bytes)
	for _, n := range vector {
		blob = binary.LittleEndian.AppendUint32(blob, math.Float32bits(n))
	}
	return blob
}

// unpack appends a stored vector.
func unpack(to []float32, blob []byte) []float32 {
	for ; len(blob) >= float32Bytes; blob = blob[float32Bytes:] {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(blob)))
	}
	return to
}

// firstBytes returns at most the first n bytes of a text, in whole characters.
func firstBytes(text string, n int) string {
	return strings.ToValidUTF8(text[:min(len(text), n)], "")
}
