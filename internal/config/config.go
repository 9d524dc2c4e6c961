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
	// User is the model that plays simulated users; nil leaves it to the judge's.
	User *Model
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
	unset      []unset
}

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

// Judge says which models judge and how.
type Judge struct {
	// Primary is asked for complex criteria or after a failure, Secondary (if set) for simple ones.
	Primary, Secondary *Model
	// Complexity is the number of criteria plus one per 4,000 characters of context above which a question is complex.
	Complexity int
	// Panel are models that all judge every question, in place of Primary and Secondary; empty for a single judge.
	Panel []Model
	// Samples asks several times and takes the majority or median; 0 means once.
	Samples int
	// Canary is a criterion that no reply meets, asked beside others; "true" stands for the built-in one, "" for none.
	Canary string
}
