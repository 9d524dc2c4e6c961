package flow

import "context"

// Knowledge finds passages in knowledge bases. Implementations are safe for concurrent use.
type Knowledge interface {
	// Search returns the best passages, best first. An unknown base is an error.
	Search(ctx context.Context, q Query) ([]Passage, error)
}

// Query asks knowledge bases for passages.
type Query struct {
	Text string
	// Bases are the names of the knowledge bases to search.
	Bases []string
	// TopK is how many passages are wanted, from 1 to 20.
	TopK int
}

// Passage is one piece of a knowledge base. Greater scores are better.
type Passage struct {
	Base  string  `json:"kb"`
	ID    string  `json:"id"`
	Score float64 `json:"score"`
	Text  string  `json:"text"`
}
