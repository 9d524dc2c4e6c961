package langfuse

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// TraceID makes a trace ID of texts, such as a run's and an item's name. The same texts always make the same ID, so a trace that is sent
// again replaces the earlier one.
func TraceID(parts ...string) string { return digest("trace", parts)[:32] }

// SpanID makes a span ID of texts, best those of the trace and the step.
func SpanID(parts ...string) string { return digest("span", parts)[:16] }

// digest hashes texts. The length before each text keeps different lists apart.
func digest(kind string, parts []string) string {
	hash := sha256.New()
	for _, part := range append([]string{kind}, parts...) {
		_ = binary.Write(hash, binary.BigEndian, int64(len(part))) // a hash never fails
		_, _ = hash.Write([]byte(part))
	}
	return hex.EncodeToString(hash.Sum(nil))
}
