// Package config reads rehearse.yaml, which names the targets, models and judge of a folder of suites.
package config

import (
	"regexp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
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
	// Store is where runs are indexed and verdicts are remembered: the path of a file, or the address postgres://…;
	// empty means the default.
	Store string
	// Variables are those of the file that env_file names, in the form of os.Environ. Those of the process go before
	// them.
	Variables []string
	// PublicEnv are variables of the environment that ${{ NAME }} may show.
	PublicEnv []string
	// Redact are patterns for what artifacts must not hold beside secrets.
	Redact []*regexp.Regexp
	// APIHosts are the hosts that flows may call, APIPrivate allows private addresses of them.
	APIHosts   []string
	APIPrivate bool
	// Watches are kept by a server.
	Watches []Watch
	// Document is the file as it is written. It is there also when the file is faulty.
	Document source.Value
	Workers  int
	// Thresholds are those that the file sets; nil when it sets none. Least adds the defaults.
	Thresholds *Thresholds
	unset      []unset
}

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
	// Canary is "on", "off" or "strict"; empty where the file does not set it.
	Canary string
}
