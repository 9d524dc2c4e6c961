package importer

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/shell"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

func httpTarget(id string, config *entry) (pairs, string) {
	url := config.text("url")
	if strings.Contains(id, "://") {
		url = id
	}
	if url == "" {
		return nil, "it has no url"
	}
	keys := pairs{{"kind", "http"}, {"url", config.requestText(url)}}.with("method", config.text("method"))
	for _, name := range []string{"headers", "body", "query"} {
		source := name
		if name == "query" {
			source = "queryParams"
		}
		if v := config.get(source); !empty(v) {
			keys = append(keys, pair{name, requestValue(config, v)})
		}
	}
	return answered(keys, config), ""
}

func websocketTarget(id string, config *entry) (pairs, string) {
	url := config.text("url")
	if strings.Contains(id, "://") {
		url = id
	}
	if url == "" {
		return nil, "it has no url"
	}
	keys := pairs{{"kind", "websocket"}, {"url", config.requestText(url)}}
	if v := config.get("headers"); !empty(v) {
		keys = append(keys, pair{"headers", requestValue(config, v)})
	}
	if v := config.get("messageTemplate"); !empty(v) {
		keys = append(keys, pair{"body", requestValue(config, v)})
	}
	if ms, ok := config.number("timeoutMs"); ok && ms >= 1 {
		keys = append(keys, pair{"timeout", fmt.Sprintf("%gms", ms)})
	}
	return answered(keys, config), ""
}

var jsonPath = text.Regexp(
	`^(?:\(?json\)?\s*=>\s*)?(?:json|data)((?:\??\.[A-Za-z_$][\w$]*|\??\.?\[\d+\]|\[(?:'[^'\]]*'|"[^"\]]*")\])*)$`)

// answered adds where the reply is, if the transform of the answer is a plain path.
func answered(keys pairs, config *entry) pairs {
	transform := config.text("transformResponse", "responseParser")
	if transform == "" {
		return keys
	}
	m := jsonPath().FindStringSubmatch(strings.TrimSuffix(strings.TrimSpace(transform), ";"))
	if m == nil {
		config.r.lose(config.lineOf("transformResponse"), config.name("transformResponse"),
			"it is no plain path: write the path of the reply as answer")
		return keys
	}
	return append(keys, pair{"answer", "$" + strings.ReplaceAll(m[1], "?.", ".")})
}

func execTarget(command string, config *entry) (pairs, string) {
	// one word, also with blanks in it
	words, err := shell.Words(environmentTag().ReplaceAllString(command, "{{env.$1}}"))
	if err != nil || len(words) == 0 {
		return nil, "its command cannot be read"
	}
	list := make([]any, 0, len(words)+1)
	for _, word := range words {
		list = append(list, environmentIn(word))
	}
	keys := pairs{{"kind", "command"}, {"command", append(list, "{{message}}")}, {"process", "turn"}}
	return keys.with("cwd", config.text("basePath")), ""
}
