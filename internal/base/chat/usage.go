package chat

import "encoding/json"

// Usage counts tokens. The zero value counts none. Its JSON form is an object, or null when it is Unknown.
type Usage struct {
	InputTokens, OutputTokens int
	// CachedTokens are those input tokens that the provider said it had in its cache.
	CachedTokens int
	// ReasoningTokens are those output tokens that the provider said went into thoughts.
	ReasoningTokens int
	// Unknown is true when a call came without a count; the numbers are then the part that is known.
	Unknown bool
}

// Add returns the sum of two usages. It is unknown when one of them is.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.CachedTokens + v.CachedTokens,
		u.ReasoningTokens + v.ReasoningTokens, u.Unknown || v.Unknown,
	}
}

// Total returns input and output tokens together.
func (u Usage) Total() int { return u.InputTokens + u.OutputTokens }

// tokens is the JSON form of a usage.
type tokens struct {
	InputTokens     int `json:"input_tokens"`
	OutputTokens    int `json:"output_tokens"`
	CachedTokens    int `json:"cached_tokens,omitempty"`
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
}

// MarshalJSON writes an object, or null.
func (u Usage) MarshalJSON() ([]byte, error) {
	if u.Unknown {
		return []byte("null"), nil
	}
	return json.Marshal(tokens{u.InputTokens, u.OutputTokens, u.CachedTokens, u.ReasoningTokens})
}

// UnmarshalJSON reads an object, or null.
func (u *Usage) UnmarshalJSON(data []byte) error {
	var t *tokens
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	if t == nil {
		*u = Usage{Unknown: true}
		return nil
	}
	*u = Usage{
		InputTokens: t.InputTokens, OutputTokens: t.OutputTokens, CachedTokens: t.CachedTokens,
		ReasoningTokens: t.ReasoningTokens,
	}
	return nil
}

// Cost is an amount of money. The zero value costs nothing. Its JSON form is the number of US dollars, or null when it
// is Unknown.
type Cost struct {
	USD float64
	// Unknown is true when a model has no price, or a call came without a count of tokens; USD is then the part that is
	// known.
	Unknown bool
}

// Add returns the sum of two costs. It is unknown when one of them is.
func (c Cost) Add(d Cost) Cost { return Cost{c.USD + d.USD, c.Unknown || d.Unknown} }

// MarshalJSON writes a number, or null.
func (c Cost) MarshalJSON() ([]byte, error) {
	if c.Unknown {
		return []byte("null"), nil
	}
	return json.Marshal(c.USD)
}

// UnmarshalJSON reads a number, or null.
func (c *Cost) UnmarshalJSON(data []byte) error {
	var usd *float64
	if err := json.Unmarshal(data, &usd); err != nil {
		return err
	}
	if usd == nil {
		*c = Cost{Unknown: true}
		return nil
	}
	*c = Cost{USD: *usd}
	return nil
}
