package llm

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// secrets takes credentials out of texts that people will see. The zero value knows only what looks like one.
type secrets struct {
	known *strings.Replacer
	// mask knows the secrets of others.
	mask Mask
}

const masked = "***"

// looksSecret finds credentials that are not ours but may be quoted by a server or proxy.
var looksSecret = regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*["']?(?:bearer\s+|basic\s+)?|\bbearer\s+)[A-Za-z0-9._~+/=-]{8,}|\bsk-[A-Za-z0-9_-]{8,}`)

// newSecrets knows the key and the credentials of the address, in the spellings in which a server may repeat them.
// Values shorter than four characters are placeholders, and removing them would garble every message.
func newSecrets(key string, address *url.URL) secrets {
	values := []string{key, address.RawQuery}
	if password, ok := address.User.Password(); ok {
		values = append(values, password)
	}
	var pairs []string
	for _, v := range values {
		if len(v) < 4 {
			continue
		}
		quoted, _ := json.Marshal(v) // a string always encodes
		for _, spelling := range []string{v, strings.Trim(string(quoted), `"`), url.QueryEscape(v)} {
			pairs = append(pairs, spelling, masked)
		}
	}
	return secrets{known: strings.NewReplacer(pairs...)}
}

func (s secrets) scrub(text string) string {
	text = s.mask.text(text)
	if s.known != nil {
		text = s.known.Replace(text)
	}
	return looksSecret.ReplaceAllString(text, "${1}"+masked)
}

// cause returns err as the cause of an error, unless its text holds a secret: then only the scrubbed text.
func (s secrets) cause(err error) error {
	if clean := s.scrub(err.Error()); clean != err.Error() {
		return errors.New(clean)
	}
	return err
}

// oneLine makes white space single blanks and drops what a terminal might act on.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return strings.Join(strings.Fields(text), " ")
}

// clip shortens foreign text to 300 characters.
func clip(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// serverMessage finds what a server says about an error in the forms that are in use, as one line.
func serverMessage(body []byte) string {
	var said struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &said) != nil {
		return oneLine(string(body[:min(len(body), 64<<10)]))
	}
	for _, raw := range []json.RawMessage{said.Error, said.Message, said.Detail} {
		var text string
		var object struct {
			Message string `json:"message"`
		}
		switch {
		case len(raw) == 0 || string(raw) == "null":
		case json.Unmarshal(raw, &text) == nil:
			return oneLine(text)
		case json.Unmarshal(raw, &object) == nil && object.Message != "":
			return oneLine(object.Message)
		default:
			return oneLine(string(raw))
		}
	}
	return oneLine(string(body[:min(len(body), 64<<10)]))
}
