package langfuse

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMessage bounds a server's text in an error, in characters.
const maxMessage = 300

// secrets removes keys from texts for people, in each spelling in which a server may repeat them.
type secrets struct{ known *strings.Replacer }

func newSecrets(values ...string) secrets {
	var pairs []string
	for _, v := range values {
		if len(v) < 4 { // a placeholder; removing it would garble every message
			continue
		}
		quoted, _ := json.Marshal(v) // a string always encodes
		for _, written := range []string{v, strings.Trim(string(quoted), `"`), url.QueryEscape(v), url.PathEscape(v)} {
			pairs = append(pairs, written, "***")
		}
	}
	return secrets{strings.NewReplacer(pairs...)}
}

// scrub returns text as one line without keys. Call it before clip, or half a key could remain at the end.
func (s secrets) scrub(text string) string {
	text = s.known.Replace(strings.ToValidUTF8(text, "?"))
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r): // a terminal might act on it
			return -1
		}
		return r
	}, text)
	return s.known.Replace(strings.Join(strings.Fields(text), " "))
}

// clip shortens text to a number of characters.
func clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// quote writes a name for an error.
func quote(name string) string { return strconv.Quote(clip(name, 100)) }

// said returns the server's reason for a refusal.
func (c *Client) said(data []byte) string {
	data = data[:min(len(data), 64<<10)]
	var body struct {
		Message json.RawMessage `json:"message"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &body) != nil {
		return clip(orNothing(c.secrets.scrub(string(data))), maxMessage)
	}
	text := plain(body.Message)
	if text == "" {
		text = plain(body.Error)
	} else if detail := issue(body.Error); detail != "" {
		text += ": " + detail
	}
	return clip(orNothing(c.secrets.scrub(text)), maxMessage)
}

// issue reads the first fault that Langfuse lists with "Invalid request data". It ignores the name of an error beside a
// message: the status says as much.
func issue(raw json.RawMessage) string {
	var list []struct {
		Message string `json:"message"`
		Path    []any  `json:"path"`
	}
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return ""
	}
	var path []string
	for _, step := range list[0].Path {
		switch step := step.(type) {
		case string:
			path = append(path, step)
		case float64:
			path = append(path, strconv.Itoa(int(step)))
		}
	}
	return strings.TrimPrefix(strings.Join(path, ".")+": "+list[0].Message, ": ")
}

// plain returns the content of a JSON text, and any other JSON as it is.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func orNothing(text string) string {
	if text == "" {
		return "it gave no reason"
	}
	return text
}
