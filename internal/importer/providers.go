package importer

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"rehearse/internal/shell"
	"rehearse/internal/source"
)

// target is a target of the configuration to write.
type target struct {
	name string
	keys pairs
	// listed is true for one that every test is held with, false for those of single tests.
	listed bool
}

// provided is what a provider became: a target, or a simulated user.
type provided struct {
	name      string
	simulated *entry
}

// maxTargets bounds the targets of one import.
const maxTargets = 1000

// providers makes targets of a list of providers. It returns the one that plays the user, if there is one.
func (r *reader) providers(list []source.Value) (simulated *entry) {
	for _, v := range list {
		p := r.provider(v)
		if p.simulated != nil {
			simulated = p.simulated
		}
		r.use(p.name)
	}
	return simulated
}

// use has every test held with a target.
func (r *reader) use(name string) {
	for i := range r.targets {
		r.targets[i].listed = r.targets[i].listed || r.targets[i].name == name
	}
}

// provider makes a target of one provider: its id, or a mapping with it.
func (r *reader) provider(v source.Value) provided {
	if v.Kind == source.Map && !has(v, "id") && len(v.Fields) == 1 { // {ID: options}
		f := v.Fields[0]
		id := source.Field{Name: "id", Value: source.Text(f.Name), Line: f.Line}
		v = source.Value{Kind: source.Map, Line: f.Line, Fields: append([]source.Field{id}, f.Value.Fields...)}
	}
	if v.Kind == source.String {
		v = source.Value{Kind: source.Map, Line: v.Line, Fields: []source.Field{{Name: "id", Value: v, Line: v.Line}}}
	}
	e := r.entry(v, "provider")
	id := e.text("id")
	if strings.HasPrefix(id, "promptfoo:simulated-user") {
		return provided{simulated: e}
	}
	if id == "" {
		return provided{}
	}
	if len(r.targets) >= maxTargets {
		r.lose(v.Line, "provider "+id, "there are more than %d", maxTargets)
		return provided{}
	}
	label := e.text("label")
	name := cmp.Or(label, id)
	if known, ok := r.named[id]; ok && len(v.Fields) == 1 {
		return provided{name: known}
	}
	e.what = "provider " + id
	config := r.entry(e.get("config"), "config")
	config.what = e.what + ".config"
	if strings.Contains(name, "://") { // a name that says where
		if u, err := url.Parse(promptless(name)); err == nil && u.Host != "" {
			name = u.Host
		}
	}
	keys, why := targetOf(id, config, e)
	if why != "" {
		r.lose(v.Line, e.what, "%s", why)
		return provided{}
	}
	config.rest()
	e.rest()
	made := r.target(name, keys)
	r.named[id], r.named[label] = made, made
	return provided{name: made}
}

// promptless returns an address without templates.
func promptless(address string) string { return templateTag.ReplaceAllString(address, "") }

// target adds a target under a name of its own, and returns it.
func (r *reader) target(name string, keys pairs) string {
	name = cmp.Or(targetName(name), "target")
	free := name
	for n := 2; slices.ContainsFunc(r.targets, func(t target) bool { return t.name == free }); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	r.targets = append(r.targets, target{name: free, keys: keys})
	return free
}

// targetName returns a name that no short form of a target can be taken for.
func targetName(name string) string {
	return strings.Trim(notInName.ReplaceAllString(name, "-"), "-")
}

var notInName = regexp.MustCompile(`[^\pL\pN._-]+`)

// targetOf returns the keys of a target, or why there is none.
func targetOf(id string, config, e *entry) (keys pairs, why string) {
	scheme, rest, _ := strings.Cut(id, ":")
	switch scheme {
	case "http", "https":
		return httpTarget(id, config)
	case "ws", "wss", "websocket":
		return websocketTarget(id, config)
	case "exec":
		return execTarget(rest, config)
	}
	model, kind, ok := modelOf(scheme, rest)
	if !ok {
		return nil, "no kind of target does what it does"
	}
	keys = append(pairs{{"model", model}}, modelKeys(config)...)
	if kind == "responses" {
		keys = append(keys, pair{"api", "responses"})
	}
	for _, name := range []string{"temperature", "max_tokens"} { // AgentV has them beside the model
		if v := e.get(name); !empty(v) && keys.get(name) == nil {
			keys = append(keys, pair{name, v})
		}
	}
	return keys, ""
}

// providersByName are the providers that models have here, by the name of the tool.
func providersByName() map[string]string {
	return map[string]string{
		"openai": "openai", "azure": "azure", "azureopenai": "azure", "anthropic": "anthropic", "google": "google", "gemini": "google", "palm": "google",
		"ollama": "ollama", "openrouter": "openrouter", "groq": "groq", "mistral": "mistral", "deepseek": "deepseek", "togetherai": "together", "xai": "xai",
	}
}

// modelOf returns PROVIDER:MODEL and the kind of request that stands between them.
func modelOf(scheme, rest string) (model, kind string, ok bool) {
	provider := providersByName()[scheme]
	kinds := []string{"chat", "responses", "messages", "completion", "completions"}
	kind, name, cut := strings.Cut(rest, ":")
	if !cut || !slices.Contains(kinds, kind) {
		kind, name = "", rest
	}
	if kind == "completion" && scheme != "ollama" || kind == "completions" || slices.Contains([]string{"embedding", "embeddings", "image", "realtime", "assistant", "moderation"}, kind0(rest)) {
		return "", "", false
	}
	return provider + ":" + name, kind, provider != "" && strings.TrimSpace(name) != ""
}

func kind0(rest string) string {
	kind, _, _ := strings.Cut(rest, ":")
	return kind
}

// modelKeys returns the keys of a model.
func modelKeys(config *entry) (keys pairs) {
	for _, one := range [][2]string{
		{"temperature", "temperature"}, {"top_p", "top_p"}, {"seed", "seed"}, {"max_tokens", "max_tokens"}, {"max_completion_tokens", "max_tokens"},
		{"apiKeyEnvar", "api_key_env"}, {"apiVersion", "api_version"}, {"headers", "headers"}, {"tool_choice", "tool_choice"},
	} {
		if v := config.get(one[0]); !empty(v) && keys.get(one[1]) == nil {
			keys = append(keys, pair{one[1], configValue(v)})
		}
	}
	if base := config.text("apiBaseUrl", "base_url"); base != "" {
		keys = append(keys, pair{"base_url", environmentIn(base)})
	} else if host := config.text("apiHost"); host != "" {
		keys = append(keys, pair{"base_url", "https://" + environmentIn(strings.TrimPrefix(host, "https://"))})
	}
	config.drop("keys of providers come from the environment: name the variable in api_key_env", "apiKey")
	return keys
}

var environmentTag = regexp.MustCompile(`\{\{-?\s*(?:process\.)?env\.([A-Za-z_]\w*)\s*(?:\|[^}]*)?-?\}\}`)

// environmentIn writes variables of the environment as a configuration does.
func environmentIn(s string) string { return environmentTag.ReplaceAllString(s, "$${{ $1 }}") }

// configValue returns a value of a configuration with its variables of the environment.
func configValue(v source.Value) any {
	switch v.Kind {
	case source.String:
		return environmentIn(v.Scalar)
	case source.List:
		list := []any{}
		for _, item := range v.Items {
			list = append(list, configValue(item))
		}
		return list
	case source.Map:
		m := pairs{}
		for _, f := range v.Fields {
			m = append(m, pair{f.Name, configValue(f.Value)})
		}
		return m
	}
	return v.Any()
}

// requestValue is configValue of what is sent: the prompt is the user's message, and other names are variables of the test. A template that
// does more is lost.
func requestValue(e *entry, v source.Value) any { return mapText(v, e.requestText) }

func (e *entry) requestText(text string) string {
	var b strings.Builder
	done := 0
	for _, m := range templateTag.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[done:m[0]])
		done = m[1]
		expression := ""
		if m[2] >= 0 {
			expression, _, _ = strings.Cut(text[m[2]:m[3]], "|")
			expression = strings.TrimSpace(expression)
		}
		name, isEnvironment := environment(expression)
		switch {
		case isEnvironment:
			b.WriteString("${{ " + name + " }}")
		case expression == "prompt":
			b.WriteString("{{message}}")
		case plainName.MatchString(expression):
			b.WriteString("{{vars." + expression + "}}")
			e.r.sent[expression] = true
		default:
			e.r.lose(e.Line, e.what, "%s is not filled in: see the placeholders of a target", text[m[0]:m[1]])
		}
	}
	return b.String() + text[done:]
}

var plainName = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// mapText returns a value with a function applied to each of its texts.
func mapText(v source.Value, f func(string) string) source.Value {
	switch v.Kind {
	case source.String:
		v.Scalar = f(v.Scalar)
	case source.List:
		v.Items = slices.Clone(v.Items)
		for i := range v.Items {
			v.Items[i] = mapText(v.Items[i], f)
		}
	case source.Map:
		v.Fields = slices.Clone(v.Fields)
		for i := range v.Fields {
			v.Fields[i].Value = mapText(v.Fields[i].Value, f)
		}
	}
	return v
}

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

var jsonPath = regexp.MustCompile(`^(?:\(?json\)?\s*=>\s*)?(?:json|data)((?:\??\.[A-Za-z_$][\w$]*|\??\.?\[\d+\]|\[(?:'[^'\]]*'|"[^"\]]*")\])*)$`)

// answered adds where the reply is, if the transform of the answer is a plain path.
func answered(keys pairs, config *entry) pairs {
	transform := config.text("transformResponse", "responseParser")
	if transform == "" {
		return keys
	}
	m := jsonPath.FindStringSubmatch(strings.TrimSuffix(strings.TrimSpace(transform), ";"))
	if m == nil {
		config.r.lose(config.lineOf("transformResponse"), config.name("transformResponse"), "it is no plain path: write the path of the reply as answer")
		return keys
	}
	return append(keys, pair{"answer", "$" + strings.ReplaceAll(m[1], "?.", ".")})
}

func execTarget(command string, config *entry) (pairs, string) {
	words, err := shell.Words(environmentIn(strings.TrimSpace(command)))
	if err != nil || len(words) == 0 {
		return nil, "its command cannot be read"
	}
	list := make([]any, 0, len(words)+1)
	for _, word := range words {
		list = append(list, word)
	}
	keys := pairs{{"kind", "command"}, {"command", append(list, "{{message}}")}, {"process", "turn"}}
	return keys.with("cwd", config.text("basePath")), ""
}
