package detect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

// maxCandidates bounds the other texts that are shown.
const maxCandidates = 10

// located finds the reply in an answer, and makes the mapping one that finds it there. What is found is read once more
// as a run would read it.
func (p *probing) located(mapping source.Value, asked target.Exchange) (*Found, error) {
	media := asked.Header.Get("Content-Type")
	nothing := &NothingError{Request: asked}
	if len(bytes.TrimSpace(asked.Answer)) == 0 || answer.Page(asked.Answer, media) != nil {
		return nil, nothing
	}
	f := &Found{Request: asked, Target: mapping}
	_, reads := mapping.Get("preset")
	switch format := formOf(asked.Answer, media); {
	case reads:
	case format == "" && complains(asked.Answer) || format != "" && breaks(asked.Answer, format):
		return nil, nothing
	case format != "":
		piece, candidates, ok := longestPiece(asked.Answer, format)
		if !ok {
			return nil, nothing
		}
		f.Path, f.Candidates = piece.path, candidates
		f.Target = piece.over(mapping, format)
	default:
		reply, candidates, ok := replyIn(asked.Answer, media)
		if !ok {
			return nil, nothing
		}
		if f.Path, f.Candidates = reply.Path, candidates; reply.Path != "$" && !reply.Speaks {
			f.Target = over(mapping, "answer", source.Value{
				Kind: source.Map, Fields: []source.Field{field("text", reply.Path)},
			})
		}
	}
	f.withSession()
	if err := p.read(f, nothing); err != nil {
		return nil, err
	}
	if reply, ok := answer.Named(asked.Answer); ok && reads && reply.Text == f.Reply {
		f.Path = reply.Path
	}
	return f, nil
}

// read reads the answer with what was found.
func (p *probing) read(f *Found, nothing *NothingError) error {
	t, err := target.Read(flag, f.Target)
	if err != nil {
		return err
	}
	if f.Reply, _, nothing.Why = target.ReadExchange(t, f.Request); nothing.Why != nil ||
		strings.TrimSpace(f.Reply) == "" {
		return nothing
	}
	return nil
}

// formOf returns the form of a stream; empty for an answer that came whole.
func formOf(body []byte, media string) answer.Format {
	if format := answer.FormatOf(media); format != "" {
		return format
	}
	media = strings.ToLower(media)
	if strings.HasPrefix(media, "application/json") {
		return ""
	}
	body = bytes.TrimSpace(body)
	if bytes.HasPrefix(body, []byte("data:")) || bytes.HasPrefix(body, []byte("event:")) {
		return answer.SSE
	}
	lines := 0
	for line := range bytes.Lines(body) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if line[0] != '{' || !json.Valid(line) {
			return ""
		}
		lines++
	}
	if lines > 1 {
		return answer.JSONL
	}
	return ""
}

// replyIn finds the reply of an answer that came whole: by its name, else the longest text with a space in it, else the
// longest.
func replyIn(body []byte, media string) (reply answer.Text, others []answer.Text, ok bool) {
	texts, err := answer.Texts(body)
	if err != nil || strings.HasPrefix(strings.ToLower(media), "text/plain") {
		return answer.Text{Path: "$", Text: string(body)}, nil, utf8Text(body, media)
	}
	if reply, ok = answer.Named(body); !ok || strings.TrimSpace(reply.Text) == "" {
		reply, ok = longest(texts)
	}
	return reply, candidates(texts, reply.Path), ok
}

// utf8Text reports whether a body that is not JSON can be a reply.
func utf8Text(body []byte, media string) bool {
	return media == "" && !bytes.ContainsAny(body[:1], "{[") || strings.HasPrefix(strings.ToLower(media), "text/")
}

// complains reports whether an answer says that something went wrong.
func complains(body []byte) bool {
	if answer.Admitted("", body) != nil {
		return true
	}
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil {
		return false
	}
	switch v := fields["errors"].(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	}
	return true
}

// breaks reports whether an event of a stream says that something went wrong.
func breaks(body []byte, format answer.Format) bool {
	events, err := (&answer.Spec{}).Events(bytes.NewReader(body), format, len(body), nil)
	return err == nil && slices.ContainsFunc(events, func(e answer.Event) bool {
		return answer.Admitted(e.Name, []byte(e.Data)) != nil
	})
}

// longest returns the longest text with a space in it, else the longest.
func longest(texts []answer.Text) (found answer.Text, ok bool) {
	rank := func(t answer.Text) (bool, int) {
		return strings.Contains(strings.TrimSpace(t.Text), " "), len([]rune(t.Text))
	}
	for _, t := range texts {
		spaced, length := rank(t)
		if strings.TrimSpace(t.Text) == "" {
			continue
		}
		if best, most := rank(found); !ok || spaced && !best || spaced == best && length > most {
			found, ok = t, true
		}
	}
	return found, ok
}

// candidates returns the other texts, the longest first.
func candidates(texts []answer.Text, but string) []answer.Text {
	others := slices.DeleteFunc(slices.Clone(texts), func(t answer.Text) bool {
		return t.Path == but || strings.TrimSpace(t.Text) == ""
	})
	slices.SortStableFunc(others, func(a, b answer.Text) int { return cmp.Compare(len(b.Text), len(a.Text)) })
	return others[:min(len(others), maxCandidates)]
}
