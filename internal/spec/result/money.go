package result

// Addresses are the addresses that a run can ask, without user info and query. What is not asked over the network has
// none. A part of a run that asks several addresses has all of them, with ", " between them.
type Addresses struct {
	// Targets are by the names of the targets.
	Targets  map[string]string `json:"targets,omitempty"`
	Judge    string            `json:"judge,omitempty"`
	User     string            `json:"user,omitempty"`
	Embedder string            `json:"embedder,omitempty"`
}

// Prices are the prices of the models that a run can ask, in US dollars per million tokens. Models without a price are
// left out.
type Prices struct {
	// AsOf is the date of the built-in table.
	AsOf string `json:"as_of"`
	// Models are by PROVIDER:MODEL.
	Models map[string]Price `json:"models"`
}

// Price is the price of a model; Output is nil for an embedding model without one.
type Price struct {
	Input       *float64 `json:"input"`
	Output      *float64 `json:"output"`
	CachedInput *float64 `json:"cached_input,omitempty"`
	// From is config or table.
	From string `json:"from"`
}
