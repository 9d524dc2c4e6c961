package detect

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

// piece is a place in the events of a stream at which texts stand.
type piece struct {
	path string
	// event and kind are the name and the type of the events with the texts; empty where they have none.
	event, kind string
	texts       []string
}

// noise are names of fields whose texts say what an event is, not what the agent says.
var noise = []string{
	"id", "type", "object", "model", "event", "role", "status", "created", "timestamp", "time", "finish_reason",
	"system_fingerprint", "uuid",
}

// isNoise reports whether texts at a path are no words of the agent: ids, or the same in every event.
func (p *piece) isNoise() bool {
	name := p.path[strings.LastIndexAny(p.path, ".[")+1:]
	lower := strings.ToLower(name)
	if p.path != "$" && (slices.Contains(noise, lower) || strings.HasSuffix(lower, "_id") ||
		strings.HasSuffix(name, "Id")) {
		return true
	}
	return len(p.texts) > 2 && !slices.ContainsFunc(p.texts, func(t string) bool { return t != p.texts[0] })
}

// whole reports whether each text repeats the one before it: the last one is the reply.
func (p *piece) whole() bool {
	for i := 1; i < len(p.texts); i++ {
		if !strings.HasPrefix(p.texts[i], p.texts[i-1]) || p.texts[i-1] == "" {
			return false
		}
	}
	return len(p.texts) > 1 && len(p.texts[len(p.texts)-1]) > len(p.texts[0])
}

func (p *piece) text() string {
	if p.whole() {
		return p.texts[len(p.texts)-1]
	}
	return strings.Join(p.texts, "")
}

// found is the place whose joined texts are the longest, with the conditions under which it is looked at.
type found struct {
	path string
	pick source.Value
	// whole is true where each event has the whole text so far.
	whole bool
}

// over returns a target that reads a stream of a format with its texts there.
func (f found) over(mapping source.Value, format answer.Format) source.Value {
	if f.whole {
		mapping = over(mapping, "answer", source.Value{
			Kind: source.Map, Fields: []source.Field{{Name: "text", Value: f.pick}},
		})
		return over(mapping, "stream", source.Text(string(format)))
	}
	return over(mapping, "stream", source.Value{
		Kind: source.Map, Fields: []source.Field{field("format", string(format)), {Name: "text", Value: f.pick}},
	})
}

// longestPiece finds the path whose joined texts are longest. Texts of events with several names or types are told
// apart.
func longestPiece(body []byte, format answer.Format) (found, []answer.Text, bool) {
	events, err := (&answer.Spec{}).Events(bytes.NewReader(body), format, len(body), nil)
	if err != nil {
		return found{}, nil, false
	}
	return longestOf(events)
}

// longestOf is longestPiece for events.
func longestOf(events []answer.Event) (found, []answer.Text, bool) {
	all := piecesOf(events)
	slices.SortStableFunc(all, func(a, b *piece) int {
		return cmp.Or(cmp.Compare(len(b.text()), len(a.text())), cmp.Compare(len(b.texts), len(a.texts)))
	})
	words := slices.DeleteFunc(slices.Clone(all), func(p *piece) bool {
		return p.isNoise() || strings.TrimSpace(p.text()) == ""
	})
	if len(words) == 0 {
		return found{}, nil, false
	}
	best := words[0]
	for _, p := range words {
		if strings.Contains(p.text(), " ") {
			best = p
			break
		}
	}
	var others []answer.Text
	for _, p := range words {
		if p != best && len(others) < maxCandidates {
			others = append(others, answer.Text{Path: p.path, Text: p.text()})
		}
	}
	return best.found(all), others, true
}

func piecesOf(events []answer.Event) []*piece {
	var all []*piece
	for _, e := range events {
		if strings.TrimSpace(e.Data) == "[DONE]" {
			continue
		}
		texts, err := answer.Texts([]byte(e.Data))
		if err != nil {
			texts = []answer.Text{{Path: "$", Text: e.Data}}
		}
		kind := ""
		for _, t := range texts {
			if t.Path == "$.type" {
				kind = t.Text
			}
		}
		for _, t := range texts {
			i := slices.IndexFunc(all, func(p *piece) bool {
				return p.path == t.Path && p.event == e.Name && p.kind == kind
			})
			if i < 0 {
				i = len(all)
				all = append(all, &piece{path: t.Path, event: e.Name, kind: kind})
			}
			all[i].texts = append(all[i].texts, t.Text)
		}
	}
	return all
}

// found returns the pick of the piece, with conditions where other events have texts at its path.
func (p *piece) found(all []*piece) found {
	shared := func(differs func(o *piece) bool) bool {
		return slices.ContainsFunc(all, func(o *piece) bool { return o.path == p.path && differs(o) })
	}
	pick := source.Text(p.path)
	condition := func(f source.Field) {
		if pick.Kind != source.Map {
			pick = source.Value{Kind: source.Map, Fields: []source.Field{field("path", p.path)}}
		}
		pick.Fields = append(pick.Fields, f)
	}
	if p.event != "" && shared(func(o *piece) bool { return o.event != p.event }) {
		condition(field("event", p.event))
	}
	if p.kind != "" && shared(func(o *piece) bool { return o.kind != p.kind }) {
		condition(source.Field{
			Name: "if", Value: source.Value{Kind: source.Map, Fields: []source.Field{field("$.type", p.kind)}},
		})
	}
	return found{path: p.path, pick: pick, whole: p.whole()}
}
