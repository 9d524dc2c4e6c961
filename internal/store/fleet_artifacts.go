package store

// Artifact is a row of what was kept of a conversation. Its JSON is that of the API.
type Artifact struct {
	Suite  string `json:"suite"`
	TestID string `json:"test_id"`
	Target string `json:"target"`
	Trial  int    `json:"trial"`
	// Turn counts from 1; nil means the whole conversation.
	Turn *int   `json:"turn"`
	Kind string `json:"kind"`
	// SHA256 is the hash of the bytes, in hex. Bytes is their number.
	SHA256    string `json:"sha256"`
	Bytes     int64  `json:"bytes"`
	Truncated bool   `json:"truncated"`
}

// cells are the row of the nth artifact of a result.
func (a *Artifact) cells(place int64, n int) []any {
	var turn any
	if a.Turn != nil {
		turn = int64(*a.Turn)
	}
	truncated := int64(0)
	if a.Truncated {
		truncated = 1
	}
	return []any{place, int64(n), turn, plainText(a.Kind), plainText(a.SHA256), a.Bytes, truncated}
}
