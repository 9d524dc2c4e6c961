package langfuse

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// TraceID makes a trace id of texts, such as those of a run and an item. The same texts always make the same id, so that what is sent
// retry replaces what was there.
func TraceID(parts ...string) string { return digest("trace", parts)[:32] }

// SpanID makes a span id of texts, which are best those of the trace and the step.
func SpanID(parts ...string) string { return digest("span", parts)[:16] }

// digest hashes texts, each behind its length so that no two lists read the same.
func digest(kind string, parts []string) string {
	hash := sha256.New()
	for _, part := range append([]string{kind}, parts...) {
		_ = binary.Write(hash, binary.BigEndian, int64(len(part))) // a hash takes everything
		_, _ = hash.Write([]byte(part))
	}
	return hex.EncodeToString(hash.Sum(nil))
}
