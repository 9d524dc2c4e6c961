// Package config is rehearse.yaml: which targets, models and judge a folder of suites uses.
package config

import "time"

// File is one configuration file. The zero value is a folder without one.
type File struct {
	// Path is where the file was found; empty without a file. Dir is what its relative paths start from.
	Path, Dir string
	// Target is the default target's name.
	Target  string
	Targets map[string]Target
	Models  map[string]Model
	Judge   Judge
	// Embedder is the model of embeddings that the grader similar uses; nil without one.
	Embedder *Model
	// Store is the path of the run index and verdict cache.
	Store   string
	Workers int
	// Thresholds are those that the file sets, the others being the defaults; nil where it sets none. Least has them in either case.
	Thresholds *Thresholds
}

// Target is a named system under test.
type Target struct {
	// Kind says which of the others counts; for a flow, Model is the model inside.
	Kind  Kind
	Model Model
	Flow  Flow
	HTTP  HTTP
	Site  Site
	// Node is, of a classifier, the node of the site's chatbot that classifies: one of ClassifierNodes.
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

// ClassifierNodes are the nodes that a target of the kind classifier can be.
func ClassifierNodes() []string { return []string{"intent-classifier", "skill-selector"} }

// Site is the chatbot of a website as a target.
type Site struct {
	// Dir is a folder of sites or the file of one; Name chooses one, and may be empty when there is only one.
	Dir, Name string
	// Model answers instead of the one that the site names; empty leaves it to the site.
	Model string
	// Prompts is a folder of prompts that the sites name.
	Prompts  string
	Language string
}

// Flow is a flow as a target, run in the process or, with an HTTP target, by a server.
type Flow struct {
	// Path is a file of flows or a folder of them; ID chooses one, and may be empty when there is only one.
	// A server may know the flow itself; Path is empty then.
	Path, ID string
	// Start is the node where tests begin that do not say; empty means the flow's own start.
	Start string
	// Knowledge is a folder of knowledge bases, KnowledgeBases those that the flow may search.
	Knowledge      string
	KnowledgeBases []string
	// Memory is nil, or says whether the memory pipeline runs and which of its stages (nil: all of them).
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

// HTTP is an agent behind an address.
type HTTP struct {
	URL string
	// TokenEnv names the environment variable with a bearer token; empty sends none.
	TokenEnv string
	Headers  map[string]string
	Retries  *int
	Timeout  time.Duration
}

// Model is one model of one provider, with how to reach and limit it.
type Model struct {
	Provider string // openai, scripted, cassette
	// Name is the model's name at the provider; for scripted and cassette the file.
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
	// Retries is how often a failed call is tried again; nil means 2.
	Retries *int
	// Timeout bounds one call; 0 means two minutes.
	Timeout time.Duration
	// Limits shared by everything that uses this model in the process; 0 means none.
	RequestsPerMinute int
	TokensPerMinute   int
	Concurrency       int
	// Prices in US dollars per million tokens; 0 means unknown.
	InputPrice, OutputPrice float64
	// Dir is what a relative file name starts from.
	Dir string
}

// String returns "provider:name", which is also how a model is written in short.
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
