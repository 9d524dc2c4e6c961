package importer

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
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
	e := r.settings(v, "provider")
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
	config := r.settings(e.get("config"), "config")
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
func promptless(address string) string { return templateTag().ReplaceAllString(address, "") }

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
	return strings.Trim(notInName().ReplaceAllString(name, "-"), "-")
}

var notInName = text.Regexp(`[^\pL\pN._-]+`)

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
		"openai": "openai", "azure": "azure", "azureopenai": "azure", "anthropic": "anthropic", "google": "google",
		"gemini": "google", "palm": "google", "ollama": "ollama", "openrouter": "openrouter", "groq": "groq",
		"mistral": "mistral", "deepseek": "deepseek", "togetherai": "together", "xai": "xai",
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
	if kind == "completion" && scheme != "ollama" || kind == "completions" || slices.Contains([]string{
		"embedding", "embeddings", "image", "realtime", "assistant", "moderation",
	}, kind0(rest)) {
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
		{"temperature", "temperature"},
		{"top_p", "top_p"},
		{"seed", "seed"},
		{"max_tokens", "max_tokens"},
		{"max_completion_tokens", "max_tokens"},
		{"apiKeyEnvar", "api_key_env"},
		{"apiVersion", "api_version"},
		{"headers", "headers"},
		{"tool_choice", "tool_choice"},
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
