package llm

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Options is what models take from the process. A process uses one value for all its models.
type Options struct {
	// Getenv finds addresses and keys; nil means an empty environment.
	Getenv func(string) string
	// Transport carries all calls; nil makes each model its own. See outbound.Transport.
	Transport http.RoundTripper
	// Named is what models get whose configuration is somebody else's; nil where it is the process's own.
	Named *Named
	// ReadFile reads scripts and cassettes; nil means that there are no files. Files are those that it reads.
	ReadFile func(string) ([]byte, error)
	Files    source.Files
	// Limits are shared by all models; nil makes each model its own.
	Limits *Limits
	// Mask hides secrets in what servers say of errors, and in what is asked of cassettes, as it did when they were
	// recorded.
	Mask Mask
	// Warn gets a sentence about what a provider does not have, as often as it is asked for; nil discards it.
	Warn func(text string)
}

func (o Options) env(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

// Named is what the configuration of a model may choose where somebody else has written it. The key of a provider then
// goes to the provider's own address only: its default, or that of the environment.
type Named struct {
	// Getenv finds the variables that api_key_env and token_env name.
	Getenv func(string) string
	// Transport carries the calls to a base_url.
	Transport http.RoundTripper
}

// Provider is a kind of model that a configuration can name.
type Provider struct {
	// Name stands before the colon of a model, Doc says in a line what it is.
	Name, Doc string
	// open returns the bare model and its address or file for errors and limits.
	open func(m config.Model, o Options) (model Model, at string, err error)
	// vendor says how the models are asked over HTTP; nil for those that are not.
	vendor *vendor
	// final answers cannot come out differently: nothing is retried or limited.
	final bool
}

// Providers returns the table of what Open can open, in the order in which it is shown.
func Providers() []Provider {
	return []Provider{
		openAI(),
		azure(),
		anthropic(),
		google(),
		ollama(),
		compatible("openrouter", "https://openrouter.ai/api/v1", dialect{seed: "seed", thoughts: "reasoning_details"}),
		compatible("groq", "https://api.groq.com/openai/v1", dialect{seed: "seed"}),
		compatible("mistral", "https://api.mistral.ai/v1", dialect{
			seed: "random_seed", usageUnasked: true, userLast: true, callID: mistralCallID,
		}),
		compatible("deepseek", "https://api.deepseek.com/v1", dialect{plainJSON: true, thoughts: "reasoning_content"}),
		compatible("together", "https://api.together.xyz/v1", dialect{seed: "seed"}),
		compatible("xai", "https://api.x.ai/v1", dialect{seed: "seed"}),
		{Name: "scripted", Doc: "a model played from a YAML file of rules; FILE#NAME says as whom", open: openScripted},
		{Name: "lexical", Doc: "a small deterministic model inside the program, for flows and classifiers: " +
			"it chooses by the words of a message", open: openLexical, final: true},
		{
			Name: "cassette", Doc: "recorded exchanges, played back; FILE#NAME says whose", open: openRecording,
			final: true,
		},
	}
}

func providerNames() (names []string) {
	for _, p := range Providers() {
		names = append(names, p.Name)
	}
	return names
}

func findProvider(name string) (Provider, error) {
	names := providerNames()
	for _, p := range Providers() {
		if p.Name == name {
			return p, nil
		}
	}
	hint := source.Suggest(name, names)
	if !strings.HasPrefix(hint, "known: ") {
		hint += " known: " + strings.Join(names, ", ")
	}
	return Provider{}, &Error{
		Fault: Refused, Model: name, Message: fmt.Sprintf("unknown provider %q", name), Hint: hint,
	}
}

// Open returns the model that m describes, with its time per call, limits, retries and price. What m leaves open of the
// price is that of PriceTable. The error is an *Error or, for a script or cassette with mistakes, a source.Problems.
func Open(m config.Model, o Options) (Model, error) {
	p, err := findProvider(m.Provider)
	if err != nil {
		return nil, err
	}
	m.Price = PriceOf(m, nil).Price
	model, at, err := p.open(m, o)
	if err == nil && p.vendor == nil {
		model = Traced(model, m)
	}
	if err == nil {
		model, err = instruct(model, m)
	}
	if err != nil || p.final {
		return model, err
	}
	limits := o.Limits
	if limits == nil {
		limits = NewLimits()
	}
	limit := callTimeoutOf(m, at)
	return Retry(limits.Limit(Timeout(model, limit.after, limit.name, at), m, at), policyOf(m, at)), nil
}

func openClient(m config.Model, o Options) (Model, string, error) {
	model, err := NewClient(m, o)
	if err != nil {
		return nil, "", err
	}
	return model, model.At(), nil
}

func openScripted(m config.Model, o Options) (Model, string, error) {
	file, name, data, err := readModelFile(m, o)
	if err != nil {
		return nil, "", err
	}
	script, err := loadScript(o.Files, file, data)
	if err != nil {
		return nil, "", err
	}
	script.file = near(file)
	return &priced{script.As(orElse(name, script.Name())), m}, script.file, nil
}

// DrawsOf returns Cassette.Draws of the recording that a model of the provider cassette plays.
func DrawsOf(m config.Model, o Options) (func(context.Context) ([]byte, Conversation), error) {
	file, _, data, err := readModelFile(m, o)
	if err != nil {
		return nil, err
	}
	cassette, err := playAnywhere(file, data, o.Mask)
	if err != nil {
		return nil, err
	}
	return cassette.Draws, nil
}

func openRecording(m config.Model, o Options) (Model, string, error) {
	file, name, data, err := readModelFile(m, o)
	if err != nil {
		return nil, "", err
	}
	cassette, err := playAnywhere(file, data, o.Mask)
	if err != nil {
		return nil, "", err
	}
	if cassette.file = near(file); name == "" {
		return cassette, cassette.file, nil
	}
	return cassette.As(name), cassette.file, nil
}

// near returns a file as what a model says of itself names it: from the working folder. Records and reports have no
// path of this machine.
func near(file string) string {
	if here, err := filepath.Abs("."); err == nil {
		if below, err := filepath.Rel(here, file); err == nil {
			return below
		}
	}
	return file
}

// readModelFile reads the file that a model's name stands for; what follows a # is the name to play.
func readModelFile(m config.Model, o Options) (file, name string, data []byte, err error) {
	file, name, _ = strings.Cut(m.Name, "#")
	if !filepath.IsAbs(file) {
		file = filepath.Join(m.Dir, file)
	}
	if o.ReadFile == nil {
		return "", "", nil, &Error{Fault: Refused, Model: m.String(), Message: "no files can be read here"}
	}
	if data, err = o.ReadFile(file); err != nil {
		return "", "", nil, &Error{
			Fault: Refused, Model: m.String(), Message: fmt.Sprintf("the file cannot be read: %v", err),
			Hint: "relative names start at the configuration's directory", Err: err,
		}
	}
	return file, name, data, nil
}

// priced adds what a reply would have cost.
type priced struct {
	model Model
	of    config.Model
}

func (p *priced) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	return p.Stream(ctx, r, nil)
}

func (p *priced) Stream(ctx context.Context, r Request, token func(string)) (chat.Reply, error) {
	reply, err := ask(ctx, p.model, r, token)
	reply.Cost = cost(p.of, reply.Usage)
	return reply, err
}
