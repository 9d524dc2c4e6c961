package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/base/tool"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Model is a model of a provider, with its address, limits and prices.
type Model struct {
	Provider string `key:"provider" doc:"such as openai, azure, anthropic, google, ollama"`
	// Name is the model's name at the provider; for scripted and cassette, it is the file.
	Name    string `key:"model" required:"a model needs a name" doc:"the model's name, or PROVIDER:MODEL"`
	BaseURL string `key:"base_url"`
	// APIKeyEnv names the environment variable with the key; the provider's if empty. TokenEnv names that of a bearer
	// token in its place.
	APIKeyEnv string `key:"api_key_env" doc:"the variable that holds the key"`
	TokenEnv  string `key:"token_env"`
	// API is chat_completions (default) or responses. APIVersion is that of Azure's dated API.
	API         string   `key:"api" enum:"chat_completions,responses"`
	APIVersion  string   `key:"api_version"`
	Temperature *float64 `key:"temperature" minimum:"0" maximum:"2"`
	TopP        *float64 `key:"top_p" minimum:"0" maximum:"1"`
	Seed        *int     `key:"seed"`
	MaxTokens   int      `key:"max_tokens" minimum:"1"`
	// Headers go along with every request; nil takes one away that would go along anyway. Body is merged into every
	// request last, deep. System is put first where a conversation has no system message. All three are templates
	// (package template).
	Headers Headers      `key:"headers" schema:"headers" json:",omitempty" doc:"headers of each request"`
	Body    TemplateBody `key:"body" schema:"object" json:",omitempty" doc:"merged into the body of each request"`
	System  string       `key:"system" json:",omitempty" doc:"the system message of tests without one"`
	// The rest of this block is for a model that is a target. State is how a server with the API responses keeps the
	// conversation; empty sends the whole each time.
	Stream        *bool    `key:"stream" json:",omitempty" doc:"whether answers come as streams"`
	Tools         tool.Set `key:"tools" schema:"tools" json:",omitempty" doc:"tools with scripted results"`
	ToolChoice    string   `key:"tool_choice" json:",omitempty" doc:"auto, none, required, or the name of a tool"`
	MaxToolRounds int      `key:"max_tool_rounds" json:",omitempty" minimum:"1" doc:"rounds of tool results in a turn (8)"`
	State         string   `key:"state" json:",omitempty" enum:"previous_response_id,conversation" doc:"how a server keeps it"`
	// Retries is how often a failed call is retried; nil means 2.
	Retries *int `key:"retries" minimum:"0"`
	// Timeout bounds one call; 0 means two minutes.
	Timeout time.Duration `key:"timeout"`
	// RequestsPerMinute, TokensPerMinute and Concurrency are shared by everything in the process that uses this model;
	// 0 means no limit.
	RequestsPerMinute int `key:"requests_per_minute" minimum:"1"`
	TokensPerMinute   int `key:"tokens_per_minute" minimum:"1"`
	Concurrency       int `key:"concurrency" minimum:"1"`
	// Price is the model's own; what it leaves open is File.Prices' or the built-in table's.
	Price Price
	// Dir is the folder from which a relative file name starts.
	Dir string
	// Unset are the variables that are not set although the model's settings take them in.
	Unset []string `json:",omitempty"`
}

// ModelKeys are the keys of a model in a configuration. Kind is that of a target.
type ModelKeys struct {
	Kind source.Node `key:"kind"`
	Model
	TokenPrices
}

// TokenPrices are the prices of a model's tokens, in US dollars per million.
type TokenPrices struct {
	InputPrice  *float64 `key:"input_price" minimum:"0" maximum:"1000000" doc:"dollars per million tokens of input"`
	OutputPrice *float64 `key:"output_price" minimum:"0" maximum:"1000000" doc:"dollars per million tokens of output"`
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
	keys := ModelKeys{Model: Model{Dir: f.Dir, Unset: f.Unset(n.Path())}}
	source.Decode(n, &keys)
	m := keys.Model
	m.Price.Input, m.Price.Output = keys.InputPrice, keys.OutputPrice
	if n.Has("system") {
		template.ReadText(n.Field("system"), template.Scope{})
	}
	if !n.Has("model") {
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
var headerName = text.Regexp("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// Headers are templates of headers by their names. A nil one takes a header away.
type Headers map[string]*string

// DecodeNode reads a mapping of names and texts.
func (h *Headers) DecodeNode(n source.Node) {
	*h = Headers{}
	for name, value := range n.Entries() {
		if !headerName().MatchString(name) {
			value.Report("write letters, digits and -", "%q is not the name of a header", name)
		}
		if value.Kind == source.Null {
			(*h)[name] = nil
			continue
		}
		template.ReadText(value, template.Scope{})
		(*h)[name] = new(value.Text())
	}
}

// TemplateBody is a part of the body of a request, whose texts are templates.
type TemplateBody map[string]any

// DecodeNode reads a mapping.
func (b *TemplateBody) DecodeNode(n source.Node) {
	template.Read(n, template.Scope{})
	for range n.Entries() { // which reports what is no mapping
	}
	*b, _ = n.Any().(map[string]any)
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
		return Model{},
			fmt.Errorf("only a target has an address behind @: name %s, with its address as base_url", model)
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
