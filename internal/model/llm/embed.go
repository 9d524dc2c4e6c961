package llm

import (
	"context"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// embedBatch is how many texts go into one request; OpenAI takes 2,048, many servers fewer.
const embedBatch = 256

// Embedder turns texts into vectors. Implementations are safe for concurrent use. Errors are *Error, or the context's.
type Embedder interface {
	// Embed returns one vector per text, in the same order.
	Embed(ctx context.Context, texts []string) ([][]float64, error)
}

// embedding is the format in which vectors are asked for.
type embedding struct {
	requestPath requestPath
	encode      func(texts []string) any
	// decode returns n vectors.
	decode func(body []byte, n int) ([][]float64, error)
	// batch is how many texts go into one request.
	batch int
}

// openAIEmbedding is POST /embeddings (https://platform.openai.com/docs/api-reference/embeddings/create).
func openAIEmbedding(m config.Model) embedding {
	return embedding{
		requestPath: requestPath{path: "embeddings"}, decode: decodeEmbeddings, batch: embedBatch,
		encode: func(texts []string) any { return object{"model": m.Name, "input": texts} },
	}
}

// EndpointEmbedder is an embedding model that is asked over HTTP. It is safe for concurrent use.
type EndpointEmbedder struct {
	endpoint *endpoint
	format   embedding
	retrier  *retrier[[][]float64]
}

// NewEmbedder returns the embedding model that m describes.
// Its requests have the time-outs and retries of a model that Open returns.
func NewEmbedder(m config.Model, o Options) (*EndpointEmbedder, error) {
	e, err := newEndpoint(m, o)
	if err != nil {
		return nil, err
	}
	if e.vendor.embedding == nil {
		return nil, e.fail(&Error{
			Fault: Refused, Message: m.Provider + " has no embedding models", Hint: "choose one of another provider",
		})
	}
	return &EndpointEmbedder{e, e.vendor.embedding(m), newRetrier[[][]float64](policyOf(m, e.at))}, nil
}

// Embed returns one vector per text, in the same order. The error is an *Error or the context's.
func (e *EndpointEmbedder) Embed(ctx context.Context, texts []string) ([][]float64, error) {
	vectors := make([][]float64, 0, len(texts))
	for len(texts) > 0 {
		batch := texts[:min(len(texts), e.format.batch)]
		texts = texts[len(batch):]
		more, _, err := e.retrier.do(ctx, func(ctx context.Context) ([][]float64, error) {
			return within(ctx, callTimeoutOf(e.endpoint.model, e.endpoint.at),
				func(ctx context.Context) ([][]float64, error) { return e.ask(ctx, batch) })
		})
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, more...)
	}
	return vectors, nil
}

func (e *EndpointEmbedder) ask(ctx context.Context, texts []string) ([][]float64, error) {
	body, err := encodeJSON(e.format.encode(texts))
	if err != nil {
		return nil, err
	}
	answer, err := e.endpoint.post(ctx, call{
		requestPath: e.format.requestPath, body: body, values: valuesOf(ctx, Request{}),
	})
	if err != nil {
		return nil, err
	}
	vectors, err := e.format.decode(answer, len(texts))
	if err != nil {
		return nil, e.endpoint.malformed(err)
	}
	return vectors, nil
}

func decodeEmbeddings(body []byte, n int) ([][]float64, error) {
	var answer struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float64 `json:"embedding"`
		} `json:"data"`
	}
	if err := decodeJSON(body, &answer); err != nil {
		return nil, err
	}
	if len(answer.Data) != n {
		return nil, fmt.Errorf("the answer has %d vectors for %d texts", len(answer.Data), n)
	}
	vectors := make([][]float64, n)
	for i, d := range answer.Data {
		if d.Index != nil { // some servers leave it out and keep the order
			i = *d.Index
		}
		if i < 0 || i >= n || vectors[i] != nil || len(d.Embedding) == 0 {
			return nil, errors.New("the answer does not have one vector for each text")
		}
		vectors[i] = d.Embedding
	}
	return vectors, nil
}
