package detect

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/eval/target/curl"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// maxBodies bounds the messages that an agent is sent in search of a body that it takes.
const maxBodies = 8

const (
	message      = "{{message}}"
	conversation = "{{conversation_id}}"
)

func field(name, text string) source.Field { return source.Field{Name: name, Value: source.Text(text)} }

func defaultBody() source.Value {
	return source.Value{
		Kind: source.Map, Fields: []source.Field{field("message", message), field("session_id", "{{session_id}}")},
	}
}

// otherBodies are tried in this order.
func otherBodies() []source.Value {
	bodies := []source.Value{{Kind: source.Map, Fields: []source.Field{field("messages", "{{messages}}")}}}
	for _, name := range []string{"input", "query", "text", "prompt", "question"} {
		bodies = append(bodies, source.Value{Kind: source.Map, Fields: []source.Field{field(name, message)}})
	}
	return bodies
}

// wantsOther reports whether a status may mean that the body was not the agent's.
func wantsOther(status int) bool {
	return slices.Contains([]int{
		http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity,
	}, status)
}

// overHTTP asks until a body is taken.
func (p *probing) overHTTP(ctx context.Context, mapping source.Value) (*Found, error) {
	others, tried, plain := otherBodies(), map[string]bool{}, mapping
	var first *target.Exchange
	for range maxBodies {
		body, _ := mapping.Get("body")
		tried[key(mapping)] = true
		_, asked, err := p.ask(ctx, mapping, 0)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = &asked
		}
		if asked.Status/100 == 2 {
			return p.located(mapping, asked)
		}
		if !p.open || !wantsOther(asked.Status) {
			return nil, &NothingError{Request: asked}
		}
		next, ok := mended(mapping, body, asked)
		if asked.Status == http.StatusUnsupportedMediaType {
			plain = asForm(plain)
		}
		for !ok || tried[key(next)] {
			if len(others) == 0 {
				return nil, &NothingError{Request: *first}
			}
			next, ok = over(plain, "body", others[0]), true
			others = others[1:]
		}
		mapping = next
	}
	return nil, &NothingError{Request: *first}
}

// key tells mappings apart.
func key(mapping source.Value) string { return string(mapping.YAML()) }

// mended returns a target with the body that an answer asks for. ok is false where the answer does not say what it
// misses.
func mended(mapping, body source.Value, asked target.Exchange) (next source.Value, ok bool) {
	if asked.Status == http.StatusUnsupportedMediaType && !isForm(mapping) {
		return asForm(mapping), true
	}
	gaps := gapsOf(asked.Answer)
	if len(gaps) == 0 {
		return mapping, false
	}
	// it was there, but not where the agent looks
	if slices.ContainsFunc(gaps, func(g gap) bool { return g.missing && has(body, g.path) }) {
		return asForm(mapping), !isForm(mapping)
	}
	if slices.ContainsFunc(gaps, func(g gap) bool { return g.missing && speaks(g.name()) }) &&
		key(body) == key(defaultBody()) {
		body = source.Value{Kind: source.Map} // the agent has a name of its own for the message
	}
	for _, g := range gaps {
		body = g.filled(body)
	}
	return over(mapping, "body", body), true
}

const formType = "application/x-www-form-urlencoded"

func isForm(mapping source.Value) bool {
	headers, _ := mapping.Get("headers")
	media, _ := headers.Get("Content-Type")
	return media.Scalar == formType
}

func asForm(mapping source.Value) source.Value {
	return over(mapping, "headers", source.Value{
		Kind: source.Map, Fields: []source.Field{field("Content-Type", formType)},
	})
}

// gap is a field that an answer complains about.
type gap struct {
	path []string
	// missing is true of a field that was not there; kind is what it has to be otherwise, as far as the answer says so.
	missing, unwanted bool
	kind              string
}

func (g gap) name() string { return g.path[len(g.path)-1] }

// maxGaps bounds the fields that an answer may ask for.
const maxGaps = 20

// quotedName matches a name in quotes of any kind.
var quotedName = text.Regexp("['\"`\u2018\u201c]([A-Za-z_][A-Za-z0-9_.-]{0,63})['\"`\u2019\u201d]")

// gapsOf reads what an answer says about the fields of the body: detail[].loc as FastAPI writes it, else a message that
// quotes one name.
func gapsOf(body []byte) []gap {
	var said struct {
		Detail []struct {
			Loc  []any  `json:"loc"`
			Type string `json:"type"`
			Msg  string `json:"msg"`
		} `json:"detail"`
	}
	var gaps []gap
	if json.Unmarshal(body, &said) == nil {
		for _, d := range said.Detail {
			var path []string
			for _, step := range d.Loc {
				name, isName := step.(string)
				if !isName {
					break
				}
				path = append(path, name)
			}
			if len(path) < 2 || path[0] != "body" || len(gaps) == maxGaps {
				continue
			}
			kind := strings.ToLower(d.Type + " " + d.Msg)
			gaps = append(gaps, gap{
				path: path[1:], missing: strings.Contains(kind, "missing") || strings.Contains(kind, "required"),
				unwanted: strings.Contains(kind, "extra"), kind: kind,
			})
		}
	}
	if len(gaps) > 0 {
		return gaps
	}
	names := map[string]bool{}
	texts, err := answer.Texts(body)
	if err != nil {
		texts = []answer.Text{{Text: string(body[:min(len(body), 4096)])}}
	}
	for _, t := range texts {
		for _, found := range quotedName().FindAllStringSubmatch(t.Text, -1) {
			names[found[1]] = true
		}
	}
	if len(names) == 0 {
		return namedGaps(texts)
	}
	if len(names) != 1 {
		return nil
	}
	for name := range names {
		gaps = append(gaps, gap{path: strings.Split(name, "."), missing: true})
	}
	return gaps
}

// bareName matches a text that is nothing but the name of a field, and fieldsKey a key behind which answers list fields
// that are missing.
var (
	bareName  = text.Regexp(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
	fieldsKey = text.Regexp(`(?i)missing|required|field|param|property|pointer`)
)

// namedGaps reads an answer that lists the names of missing fields without words around them, such as {"missing":
// ["payload.text"]}.
func namedGaps(texts []answer.Text) (gaps []gap) {
	for _, t := range texts {
		if len(gaps) < maxGaps && fieldsKey().MatchString(t.Path) && bareName().MatchString(t.Text) {
			gaps = append(gaps, gap{path: strings.Split(t.Text, "."), missing: true})
		}
	}
	return gaps
}

// speaks reports whether a field may hold what the user says: any that is not named like an id.
func speaks(name string) bool {
	lower := strings.ToLower(name)
	if curl.ConversationName(name) || strings.Contains(lower, "user_id") {
		return false
	}
	for _, end := range []string{
		"id", "user", "client", "channel", "lang", "language", "locale", "model", "stream", "source", "tenant",
	} {
		if lower == end || strings.HasSuffix(lower, "_"+end) || end == "id" && strings.HasSuffix(name, "Id") {
			return false
		}
	}
	return true
}

// guess returns a value for a field.
func (g gap) guess() source.Value {
	of := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(g.kind, w) })
	}
	switch {
	case strings.HasSuffix(g.name(), "messages") || g.name() == "history":
		return source.Text("{{messages}}")
	case of("list", "array"):
		return source.Value{Kind: source.List, Items: []source.Value{source.Text(message)}}
	case of("bool"):
		return source.FromAny(false)
	case of("int", "float", "number"):
		return source.FromAny(1)
	case of("dict", "object", "model_"):
		return source.Value{Kind: source.Map}
	case speaks(g.name()):
		return source.Text(message)
	}
	return source.Text(conversation)
}

// filled returns a body in which the gap is filled.
func (g gap) filled(body source.Value) source.Value { return g.within(body, g.path) }

func (g gap) within(body source.Value, path []string) source.Value {
	if body.Kind != source.Map {
		body = source.Value{Kind: source.Map}
	}
	switch {
	case len(path) > 1:
		inside, _ := body.Get(path[0])
		return over(body, path[0], g.within(inside, path[1:]))
	case g.unwanted:
		return without(body, path[0])
	}
	return over(body, path[0], g.guess())
}

func has(body source.Value, path []string) bool {
	for _, name := range path {
		inside, ok := body.Get(name)
		if !ok {
			return false
		}
		body = inside
	}
	return true
}
