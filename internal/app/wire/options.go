package wire

import (
	"log/slog"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/recording"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// CurlTarget is the name of the target that a pasted curl line describes.
const CurlTarget = "curl"

// Options are the settings of Open. The zero value has no environment and no configuration.
type Options struct {
	// Environ is the environment in the form of os.Environ.
	Environ []string
	// Secrets keeps secrets out of what is written; nil makes one of the environment. It learns what configurations and
	// suites name.
	Secrets *redact.Redactor
	// LookupEnv looks up a variable of the environment.
	LookupEnv func(name string) (string, bool)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log gets messages of chatbots and flows; nil discards them.
	Log *slog.Logger
	// Metrics have the times of turns of targets and of calls of judges; nil has none.
	Metrics recording.Metrics
	// Warn gets a sentence about each problem that stops nothing; nil discards it. The sentences contain no secrets.
	Warn func(text string)
	// Files are where configurations, suites and what they name are read from; the zero value is the disk.
	Files source.Files
	// Allowance is what the files of a submission may cost to read; nil for files that may cost what those of the disk
	// may.
	Allowance *source.Allowance
	// NoCommands refuses to start programs that configurations and suites name.
	NoCommands bool
	// Submitted are the rules for a run that somebody else has submitted; nil for one's own, which may name everything.
	Submitted *Submitted
	// Config is the configuration file for everything. If it is empty, each folder uses the nearest file above it (At).
	Config string
	// Model replaces the models that flows and chatbots name. It is a name of the configuration, or PROVIDER:MODEL.
	Model string
	// TargetURL is the base URL of targets that are written as PROVIDER:MODEL; empty means that of the environment
	// (config.TargetURLEnv).
	TargetURL string
	// Targets are those of the command line, by their names in every configuration.
	Targets map[string]config.Target
	// APIHosts are hosts that flows may call besides those of the configuration; APIPrivate allows private addresses of
	// them.
	APIHosts   []string
	APIPrivate bool
	// LocalPrompt keeps chatbots from using Langfuse's prompts.
	LocalPrompt bool
	// Record is a file for every exchange with a model, an embedder or a target; Playback is one whose exchanges
	// replace them. At most one of them is set.
	Record, Playback string
	// Append continues an existing recording.
	Append bool
	// Limits holds what models may ask of each provider together; nil makes one of its own.
	Limits *llm.Limits
	// Dry asks nothing and writes nothing: no recording is made or mended, nothing is embedded, and no prompts are
	// fetched.
	Dry bool
}
