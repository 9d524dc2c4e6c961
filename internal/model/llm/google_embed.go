package llm

import (
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// googleEmbedding is models.batchEmbedContents (https://ai.google.dev/api/embeddings).
func googleEmbedding(m config.Model) embedding {
	name := googleName(m)
	return embedding{
		requestPath: requestPath{path: "v1beta/" + name + ":batchEmbedContents"}, batch: 100,
		decode: decodeGoogleEmbeddings,
		encode: func(texts []string) any {
			requests := make([]object, len(texts))
			for i, text := range texts {
				requests[i] = object{"model": name, "content": object{"parts": []object{{"text": text}}}}
			}
			return object{"requests": requests}
		},
	}
}

func decodeGoogleEmbeddings(body []byte, n int) ([][]float64, error) {
	var answer struct {
		Embeddings []struct {
			Values []float64 `json:"values"`
		} `json:"embeddings"`
	}
	if err := decodeJSON(body, &answer); err != nil {
		return nil, err
	}
	if len(answer.Embeddings) != n {
		return nil, fmt.Errorf("the answer has %d vectors for %d texts", len(answer.Embeddings), n)
	}
	vectors := make([][]float64, n)
	for i, e := range answer.Embeddings {
		if vectors[i] = e.Values; len(e.Values) == 0 {
			return nil, errors.New("the answer does not have one vector for each text")
		}
	}
	return vectors, nil
}
