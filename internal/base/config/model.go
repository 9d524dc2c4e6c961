package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/base/tool"
)

// Model is a model of a provider, with its address, limits and prices.
type Model struct {
	Provider string
	// Name is the model's name at the provider; for scripted and cassette, it is the file.
	Name    string
	BaseURL string
	// APIKeyEnv names the environment variable with the key; the provider's if empty. TokenEnv names that of a bearer token in its place.
	APIKeyEnv, TokenEnv string
	// API is chat_completions (default) or responses. APIVersion is that of Azure's dated API.
	API, APIVersion string
	Temperature     *float64
	TopP            *float64
	Seed            *int
	MaxTokens       int
	// Headers go along with every request; nil takes one away that would go along anyway. Body is merged into every request last, deep. System is
	// put first where a conversation has no system message. All three are templates (package template).
	Headers map[string]*string `json:",omitempty"`
	Body    map[string]any     `json:",omitempty"`
	System  string             `json:",omitempty"`
	// The rest of this block is for a model that is a target. Stream asks for replies in pieces. State is how a server with the API responses keeps
	// the conversation: previous_response_id or conversation; empty sends the whole each time.
	Stream     *bool    `json:",omitempty"`
	Tools      tool.Set `json:",omitempty"`
	ToolChoice string   `json:",omitempty"`
	// MaxToolRounds is how often a turn may go on with the results of tools; 0 means 8.
	MaxToolRounds int    `json:",omitempty"`
	State         string `json:",omitempty"`
	// Retries is how often a failed call is retried; nil means 2.
	Retries *int
	// Timeout bounds one call; 0 means two minutes.
	Timeout time.Duration
	// RequestsPerMinute, TokensPerMinute and Concurrency are shared by everything in the process that uses this model; 0 means no limit.
	RequestsPerMinute int
	TokensPerMinute   int
	Concurrency       int
	// Price is the model's own; what it leaves open is File.Prices' or the built-in table's.
	Price Price
	// Dir is the folder from which a relative file name starts.
	Dir string
	// Unset are the variables that are not set although the model's settings take them in.
	Unset []string `json:",omitempty"`
}

// String returns the short form, "provider:name".
func (m Model) String() string { return m.Provider + ":" + m.Name }

// model reads {provider, model, …} or "provider:model"; the short form also names an entry of models.
func (f *File) model(n source.Node) Model {
	if n.Kind == source.String {
		m := f.Model(n, n.Scalar)
		m.Unset = slices.Concat(m.Unset, f.Unset(n.Path()))
		return m
	}
	m := Model{Dir: f.Dir, Unset: f.Unset(n.Path())}
	n.Read(map[string]func(source.Node){
		"kind":                func(source.Node) {},
		"provider":            func(n source.Node) { m.Provider = n.Text() },
		"model":               func(n source.Node) { m.Name = n.Text() },
		"base_url":            func(n source.Node) { m.BaseURL = n.Text() },
		"api_key_env":         func(n source.Node) { m.APIKeyEnv = n.Text() },
		"token_env":           func(n source.Node) { m.TokenEnv = n.Text() },
		"api_version":         func(n source.Node) { m.APIVersion = n.Text() },
		"api":                 func(n source.Node) { m.API = n.OneOf("chat_completions", "responses") },
		"temperature":         func(n source.Node) { m.Temperature = new(n.Number(0, 2)) },
		"top_p":               func(n source.Node) { m.TopP = new(n.Number(0, 1)) },
		"seed":                func(n source.Node) { m.Seed = new(n.Int(math.MinInt32)) },
		"max_tokens":          func(n source.Node) { m.MaxTokens = n.Int(1) },
		"headers":             func(n source.Node) { m.Headers = readHeaders(n) },
		"body":                func(n source.Node) { m.Body = readBody(n) },
		"system":              func(n source.Node) { template.ReadText(n, template.Scope{}); m.System = n.Text() },
		"stream":              func(n source.Node) { m.Stream = new(n.Bool()) },
		"tools":               func(n source.Node) { m.Tools = tool.Read(n) },
		"tool_choice":         func(n source.Node) { m.ToolChoice = n.Text() },
		"max_tool_rounds":     func(n source.Node) { m.MaxToolRounds = n.Int(1) },
		"state":               func(n source.Node) { m.State = n.OneOf("previous_response_id", "conversation") },
		"retries":             func(n source.Node) { m.Retries = new(n.Int(0)) },
		"timeout":             func(n source.Node) { m.Timeout = n.Duration() },
		"requests_per_minute": func(n source.Node) { m.RequestsPerMinute = n.Int(1) },
		"tokens_per_minute":   func(n source.Node) { m.TokensPerMinute = n.Int(1) },
		"concurrency":         func(n source.Node) { m.Concurrency = n.Int(1) },
		"input_price":         func(n source.Node) { m.Price.Input = new(n.Number(0, maxPrice)) },
		"output_price":        func(n source.Node) { m.Price.Output = new(n.Number(0, maxPrice)) },
	})
	if n.Kind != source.Map {
		return m
	}
	if !n.Has("model") {
		n.Report("add `model: PROVIDER:MODEL`", "a model needs a name")
		return m
	}
	if m.Provider == "" {
		named := f.Model(n.Field("model"), m.Name)
		m = m.over(named)
	}
	m.check(n)
	return m
}

// check reports keys that do not go together.
func (m Model) check(n source.Node) {
	if m.State != "" && m.API != "responses" {
		n.Field("state").Report("add `api: responses`", "only OpenAI's responses keep a conversation")
	}
	known := []string{"auto", "none", "required"}
	for _, t := range m.Tools {
		known = append(known, t.Name)
	}
	if m.ToolChoice != "" && !slices.Contains(known, m.ToolChoice) {
		n.Field("tool_choice").Report(source.Suggest(m.ToolChoice, known), "there is no tool called %q", m.ToolChoice)
	}
}

// headerName matches the name of a header (RFC 9110, section 5.1).
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func readHeaders(n source.Node) map[string]*string {
	headers := map[string]*string{}
	for name, value := range n.Entries() {
		if !headerName.MatchString(name) {
			value.Report("write letters, digits and -", "%q is not the name of a header", name)
		}
		if value.Kind == source.Null {
			headers[name] = nil
			continue
		}
		template.ReadText(value, template.Scope{})
		headers[name] = new(value.Text())
	}
	return headers
}

func readBody(n source.Node) map[string]any {
	template.Read(n, template.Scope{})
	for range n.Entries() { // which reports what is no mapping
	}
	body, _ := n.Any().(map[string]any)
	return body
}

// Model returns the model that a short form names: an entry of models, or PROVIDER:MODEL. Problems go to n.
func (f *File) Model(n source.Node, short string) Model {
	if m, ok := f.Models[short]; ok {
		return m
	}
	m, err := parseModel(short)
	if err != nil {
		hint := "write PROVIDER:MODEL, such as openai:gpt-5-mini"
		if len(f.Models) > 0 {
			hint += ", or the name of an entry of models: " + strings.Join(names(f.Models), ", ")
		}
		n.Report(hint, "%v", err)
	}
	m.Dir = f.Dir
	return m
}

// Lexical is the provider of the model inside the program. There is only one, so it needs no name.
const Lexical = "lexical"

// parseModel reads "PROVIDER:MODEL", or "lexical".
func parseModel(short string) (Model, error) {
	if short == Lexical {
		return Model{Provider: Lexical, Name: "default"}, nil
	}
	if model, address := CutAddress(short); address != "" {
		return Model{}, fmt.Errorf("only a target has an address behind @: name %s, with its address as base_url", model)
	}
	provider, name, ok := strings.Cut(short, ":")
	if !ok || provider == "" || name == "" {
		return Model{}, fmt.Errorf("%q is not PROVIDER:MODEL", short)
	}
	return Model{Provider: provider, Name: name}, nil
}

// over returns m; fields that m leaves open come from the named model.
func (m Model) over(named Model) Model {
	named.Temperature = first(m.Temperature, named.Temperature)
	named.TopP = first(m.TopP, named.TopP)
	named.Seed = first(m.Seed, named.Seed)
	named.Retries = first(m.Retries, named.Retries)
	named.BaseURL = firstSet(m.BaseURL, named.BaseURL)
	named.APIKeyEnv = firstSet(m.APIKeyEnv, named.APIKeyEnv)
	named.TokenEnv = firstSet(m.TokenEnv, named.TokenEnv)
	named.API = firstSet(m.API, named.API)
	named.APIVersion = firstSet(m.APIVersion, named.APIVersion)
	named.System = firstSet(m.System, named.System)
	named.Stream = first(m.Stream, named.Stream)
	named.ToolChoice = firstSet(m.ToolChoice, named.ToolChoice)
	named.MaxToolRounds = firstSet(m.MaxToolRounds, named.MaxToolRounds)
	named.State = firstSet(m.State, named.State)
	if m.Headers != nil {
		named.Headers = m.Headers
	}
	if m.Body != nil {
		named.Body = m.Body
	}
	if m.Tools != nil {
		named.Tools = m.Tools
	}
	named.MaxTokens = firstSet(m.MaxTokens, named.MaxTokens)
	named.Timeout = firstSet(m.Timeout, named.Timeout)
	named.RequestsPerMinute = firstSet(m.RequestsPerMinute, named.RequestsPerMinute)
	named.TokensPerMinute = firstSet(m.TokensPerMinute, named.TokensPerMinute)
	named.Concurrency = firstSet(m.Concurrency, named.Concurrency)
	named.Price = m.Price.Over(named.Price)
	named.Unset = slices.Concat(named.Unset, m.Unset)
	return named
}
