// Package fingerprint hashes what decides a result: definitions, and the files that they name. Equal inputs give equal
// fingerprints on every machine: no secret is part of one, nor any path but those that the author wrote.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
)

// Masker takes secrets out of what is hashed: with another key it is the same definition.
type Masker interface{ Bytes(data []byte) []byte }

// Sum returns the hash of a value's JSON without secrets.
func Sum(secrets Masker, value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	h := sha256.New()
	h.Write(secrets.Bytes(data))
	return Short(h), nil
}

// Short returns the first 128 bits of a hash, in hexadecimal.
func Short(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }

// Definition returns the hash of a definition and of the files that it names, whose relative names start in dir, or as
// in Defined. Of their names only the last elements count: configurations hold them as absolute paths, or from the top
// of what was submitted.
func (f *Files) Definition(secrets Masker, definition any, dir string) (string, error) {
	data, err := json.Marshal(definition)
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	files := f.Defined(plain, dir) // before the paths are gone
	return Sum(secrets, []any{f.withoutPaths(plain, dir), files})
}
