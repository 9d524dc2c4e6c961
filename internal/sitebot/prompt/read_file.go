package prompt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// maxPromptBytes bounds one prompt.
const maxPromptBytes = 256 << 10

// readFile is what a file held when it was read, or that there was none.
type readFile struct {
	absent        bool
	modified      time.Time
	size          int64
	text, version string
}

// readAll reads an open file. What is not a file, such as a folder, counts as none.
func readAll(file *os.File, at string) (readFile, error) {
	info, err := file.Stat()
	if err != nil {
		return readFile{}, fmt.Errorf("prompts: %w", err)
	}
	if !info.Mode().IsRegular() {
		return readFile{absent: true}, nil
	}
	text, err := textOf(file, at)
	if err != nil {
		return readFile{}, err
	}
	return readFile{modified: info.ModTime(), size: info.Size(), text: text, version: versionOf(text)}, nil
}

// textOf reads a text of bounded size.
func textOf(r io.Reader, at string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPromptBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("prompts: %w", err)
	case len(data) > maxPromptBytes:
		return "", fmt.Errorf("prompts: %s is larger than %d KB: keep what the bot should know in the knowledge base", at, maxPromptBytes>>10)
	case !utf8.Valid(data):
		return "", fmt.Errorf("prompts: %s is not UTF-8 text: save it as UTF-8", at)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	return strings.ReplaceAll(string(data), "\r\n", "\n"), nil
}

// versionOf tells texts apart.
func versionOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
