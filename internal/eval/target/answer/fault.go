package answer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// The ways in which an answer is none. Their texts are part of every error that wraps them.
var (
	ErrEmpty    = errors.New("empty answer")
	ErrHTML     = errors.New("the answer is an HTML page")
	ErrUTF8     = errors.New("the answer has bytes that are not UTF-8")
	ErrBrokeOff = errors.New("the answer broke off")
	ErrLarge    = errors.New("the answer is larger than")
	ErrNotJSON  = errors.New("the answer is not JSON")
	ErrNoReply  = errors.New("no reply at")
	// ErrWithheld is that of an empty reply that ended at a content filter or at a limit of its length.
	ErrWithheld = errors.New("the reply is empty: it ended with the finish reason")
	// ErrAgent is the agent's own error.
	ErrAgent = errors.New("the agent reports an error")
)

var errNothing = errors.New("nothing at")

// shownOfBody bounds how much of a body is shown, in characters.
const shownOfBody = 200

// Large is the error of an answer that is larger than so many bytes.
func Large(bytes int) error { return fmt.Errorf("%w %s", ErrLarge, Size(bytes)) }

// withheld returns the error of a reply with nothing to grade; see chat.Reply.Withheld.
func withheld(r chat.Reply) error {
	why := r.Withheld()
	if why == "" {
		return nil
	}
	if word := clip(r.FinishReason, 100); word != why {
		why += ", " + word
	}
	return fmt.Errorf("%w %s", ErrWithheld, why)
}

func notJSON(data []byte, cause error) error {
	if endsEarly(cause) {
		return fmt.Errorf("%w: it is not JSON, but ends in the middle: %s", ErrBrokeOff,
			clip(string(data), shownOfBody))
	}
	return fmt.Errorf("%w: %s", ErrNotJSON, clip(string(data), shownOfBody))
}

// agentError is the error that a value at the path of errors stands for, if it is one: not null, false or "".
func agentError(v any) error {
	if v == nil || v == false || v == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrAgent, clip(sentence(v), 500))
}

// admits returns the error that an answer admits where nothing says how answers are read, so that the words of an error
// are not taken for a reply: an event whose name or type is error, a value of the name error, or a status that is no
// success.
func (s *Spec) admits(e event) error {
	if s.Text != nil || s.Error != nil || s.Stream != nil && (s.Stream.Text != nil || s.Stream.Error != nil) {
		return nil
	}
	if e.name == "error" {
		return agentError(e.doc)
	}
	members, _ := e.doc.(map[string]any)
	if err := agentError(members["error"]); err != nil {
		return err
	}
	status, _ := members["status"].(string)
	if members["type"] == "error" || members["success"] == false || members["ok"] == false ||
		slices.Contains([]string{"error", "failed", "failure"}, strings.ToLower(status)) {
		return agentError(e.doc)
	}
	return nil
}

// maxKeys bounds how many keys of an answer are named.
const maxKeys = 20

// keysOf collects the keys of what was looked through.
type keysOf struct {
	names map[string]bool
	other string
}

func (k *keysOf) add(v any) {
	switch v := v.(type) {
	case map[string]any:
		if k.names == nil {
			k.names = map[string]bool{}
		}
		for name := range v {
			if len(k.names) < 10*maxKeys {
				k.names[name] = true
			}
		}
	case []any:
		k.other = fmt.Sprintf("a list of %d", len(v))
	case nil:
		k.other = "null"
	default:
		k.other = "no object"
	}
}

func (k *keysOf) String() string {
	if len(k.names) == 0 {
		if k.other == "" {
			return "the answer is an object without keys"
		}
		return "the answer is " + k.other
	}
	names := slices.Sorted(maps.Keys(k.names))
	more := ""
	if len(names) > maxKeys {
		names, more = names[:maxKeys], ", …"
	}
	for i := range names {
		names[i] = clip(names[i], 40)
	}
	return "the answer has " + strings.Join(names, ", ") + more
}

// Reason returns the beginning of what the body of a refusal says: its message, if it is JSON with one.
func Reason(body []byte) string {
	if doc, err := decode(body); err == nil {
		return clip(sentence(doc), shownOfBody)
	}
	return clip(string(body), shownOfBody)
}
