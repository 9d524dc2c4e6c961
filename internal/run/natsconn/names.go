package natsconn

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Token returns s as one word of a NATS subject: itself where it is one, else a hash of it.
func Token(s string) string {
	plain := s != "" && len(s) <= 64
	for i := 0; plain && i < len(s); i++ {
		c := s[i]
		plain = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
	}
	if plain {
		return s
	}
	return "_" + digest(s) // no plain word begins with _
}

// JobToken returns the word by which subjects name a job of a run.
func JobToken(kind string, k result.Key) string {
	name := make([]byte, 0, 256)
	for _, part := range [...]string{kind, k.Suite, k.TestID, k.Target} {
		name = append(strconv.AppendQuote(name, part), ' ')
	}
	sum := sha256.Sum256(strconv.AppendInt(name, int64(k.Trial), 10))
	return hex.EncodeToString(sum[:16])
}

// digest is the first half of a SHA-256, in hexadecimal.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}
