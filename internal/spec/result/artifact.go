package result

import "encoding/json"

// Artifact names bytes that were kept of a conversation beside its record.
type Artifact struct {
	// Turn counts from 1; nil stands for the whole conversation.
	Turn *int   `json:"turn"`
	Kind string `json:"kind"`
	// SHA256 is the hash of the bytes, in lower-case hexadecimal. It is empty, and null in JSON, where nothing could be
	// kept.
	SHA256 string `json:"sha256"`
	// Bytes is how many were kept or, without a hash, would have been.
	Bytes int64 `json:"bytes"`
	// Truncated is true where there was more.
	Truncated bool `json:"truncated"`
}

// MarshalJSON writes null for a hash that there is not.
func (a Artifact) MarshalJSON() ([]byte, error) {
	type plain Artifact
	if a.SHA256 != "" {
		return json.Marshal(plain(a))
	}
	return json.Marshal(struct {
		plain
		SHA256 *string `json:"sha256"`
	}{plain: plain(a)})
}
