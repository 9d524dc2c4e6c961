// Package config reads rehearse.yaml, which names the targets, models and judge of a folder of suites.
package config

import (
	"time"

	"rehearse/internal/source"
)

// File is one configuration file. The zero value stands for a folder without one.
type File struct {
	// Path is the path of the file, empty without a file. Relative paths in the file start from Dir.
	Path, Dir string
	// Target is the default target's name.
	Target  string
	Targets map[string]Target
	Models  map[string]Model
	Judge   Judge
	// Embedder is the embedding model of the grader similar; nil without one.
	Embedder *Model
	// Prices are the prices of models by PROVIDER:MODEL, in which * stands for any characters.
	Prices map[string]Price
	// Store is where runs are indexed and verdicts are remembered: the path of a file, or the address postgres://…; empty means the default.
	Store string
	// PublicEnv are variables of the environment that ${{ NAME }} may show.
	PublicEnv []string
	// Document is the file as it is written. It is there also when the file is faulty.
	Document source.Value
	Workers  int
	// Thresholds are those that the file sets; nil when it sets none. Least adds the defaults.
	Thresholds *Thresholds
}

// Target is a named system under test.
type Target struct {
	// Kind says which of the other fields apply. For a flow, Model is the model that the flow uses.
	Kind  Kind
	Model Model
	Flow  Flow
	HTTP  HTTP
	Site  Site
	// Node is the node of the site's chatbot that a classifier runs: one of ClassifierNodes.
	Node string
}

// Kind is a kind of target.
type Kind string

// The kinds of target.
const (
	ModelTarget Kind = "model"
	FlowTarget  Kind = "flow"
	HTTPTarget  Kind = "http"
	SiteTarget  Kind = "sitebot"
	// ClassifierTarget is a single node of a site's chatbot that says what a message is.
	ClassifierTarget Kind = "classifier"
)

// ClassifierNodes returns the nodes that a target of the kind classifier can run.
func ClassifierNodes() []string { return []string{"intent-classifier", "skill-selector"} }

// Site is the chatbot of a website as a target.
type Site struct {
	// Dir is a folder of sites or the file of one. Name chooses a site; it may be empty when there is only one.
	Dir, Name string
	// Model replaces the model that the site names; empty keeps the site's.
	Model string
	// Prompts is the folder of the prompts that the sites name.
	Prompts  string
	Language string
}

// Flow is a flow as a target, run in the process or, with an HTTP target, by a server.
type Flow struct {
	// Path is a file of flows or a folder of them. ID chooses a flow; it may be empty when there is only one.
	// Path is empty when a server has the flow itself.
	Path, ID string
	// Start is the node at which tests that name none begin; empty means the flow's own start.
	Start string
	// Knowledge is a folder of knowledge bases; KnowledgeBases are the ones that the flow may search.
	Knowledge      string
	KnowledgeBases []string
	// Memory configures the memory pipeline; nil leaves it to the flow.
	Memory *Memory
	// Limits of a turn; 0 means the engine's own.
	MaxToolIterations, WindowMessages, WindowTokens int
	TurnTimeout                                     time.Duration
}

// Memory turns the stages of a flow's memory pipeline on and off.
type Memory struct {
	Enabled bool
	Stages  []string
}

// HTTP is an agent behind an HTTP address.
type HTTP struct {
	URL string
	// TokenEnv names the environment variable with a bearer token; empty sends none.
	TokenEnv string
	Headers  map[string]string
	Retries  *int
	Timeout  time.Duration
}

// Model is a model of a provider, with its address, limits and prices.
type Model struct {
	Provider string // openai, scripted, cassette
	// Name is the model's name at the provider; for scripted and cassette, it is the file.
	Name    string
	BaseURL string
	// APIKeyEnv names the environment variable with the key; OPENAI_API_KEY if empty.
	APIKeyEnv string
	// API is chat_completions (default) or responses.
	API         string
	Temperature *float64
	TopP        *float64
	Seed        *int
	MaxTokens   int
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
}

// String returns the short form, "provider:name".
func (m Model) String() string { return m.Provider + ":" + m.Name }

// Judge says which models judge and how.
type Judge struct {
	// Primary is asked for complex criteria or after a failure, Secondary (if set) for simple ones.
	Primary, Secondary *Model
	// Complexity is the number of criteria plus one per 4,000 characters of context above which a question is complex.
	Complexity int
	// Samples asks several times and takes the majority or median; 0 means once.
	Samples int
}
