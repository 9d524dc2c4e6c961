package flow

import "encoding/json"

// Memory is what the flow remembers of a conversation besides its history.
type Memory struct {
	// TurnIndex counts the assistant's turns that are done.
	TurnIndex int      `json:"turn_index"`
	Facts     []Fact   `json:"facts"`
	Summary   *Summary `json:"summary"`

	// raw is the JSON that the memory was read from. It is written back while nothing has changed.
	raw json.RawMessage
}

type plainMemory Memory

// MarshalJSON writes the memory, or the JSON that it was read from. Facts and summary are always present, even when
// empty.
func (m Memory) MarshalJSON() ([]byte, error) {
	if m.raw != nil {
		return m.raw, nil
	}
	if m.Facts == nil {
		m.Facts = []Fact{}
	}
	if m.Summary == nil {
		m.Summary = &Summary{}
	}
	return compact(plainMemory(m)), nil
}

// UnmarshalJSON reads a memory.
func (m *Memory) UnmarshalJSON(data []byte) error {
	*m = Memory{}
	return json.Unmarshal(data, (*plainMemory)(m))
}

// Fact is one durable statement by the user. Key is in its normal form; see NormalKey.
type Fact struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// SourceTurn is the turn, from 1, in which the value was said.
	SourceTurn int      `json:"source_turn,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
	// Previous holds the values that corrections have replaced, oldest first.
	Previous []PastValue `json:"previous,omitempty"`
	// Deleted facts are kept but hidden from the prompt. Their SourceTurn is that of the deletion, ValueTurn the one in
	// which the value was said.
	Deleted   bool `json:"deleted,omitempty"`
	ValueTurn int  `json:"value_turn,omitempty"`
}

// PastValue is a value that a fact used to have.
type PastValue struct {
	Value      string `json:"value"`
	SourceTurn int    `json:"source_turn"`
}

// Summary is a shorter form of the conversation, in chunks with contiguous, disjoint spans of turns.
type Summary struct {
	// Level is the highest level of any chunk.
	Level              int     `json:"level"`
	LastSummarizedTurn int     `json:"last_summarized_turn"`
	Chunks             []Chunk `json:"chunks"`
}

type plainSummary Summary

// MarshalJSON writes the summary, with a list of chunks even if there are none.
func (s Summary) MarshalJSON() ([]byte, error) {
	if s.Chunks == nil {
		s.Chunks = []Chunk{}
	}
	return compact(plainSummary(s)), nil
}

// Chunk summarises the turns FromTurn to ToTurn, both included.
// A chunk of level 0 summarises messages; one of a higher level summarises chunks of the level below.
type Chunk struct {
	ID       string `json:"id"`
	Level    int    `json:"level"`
	FromTurn int    `json:"from_turn"`
	ToTurn   int    `json:"to_turn"`
	Text     string `json:"text"`
	// Sources are the ids of the chunks that were folded into this one.
	Sources []string `json:"sources,omitempty"`
}

// MemoryDelta says what the memory pipeline did in a turn.
type MemoryDelta struct {
	FactsAdded   []Fact                `json:"facts_added"`
	FactsUpdated []Fact                `json:"facts_updated"`
	FactsDeleted []Fact                `json:"facts_deleted"`
	ChunksAdded  []Chunk               `json:"chunks_added"`
	Stages       map[Stage]StageStatus `json:"stages"`
}
