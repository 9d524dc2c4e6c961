package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"rehearse/internal/langfuse"
	"rehearse/internal/sitebot/prompt"
	"rehearse/internal/sitebot/site"
)

const (
	// LangfuseEnabledEnv is the environment variable that switches Langfuse off.
	LangfuseEnabledEnv = "LANGFUSE_ENABLED"
	promptLabelEnv     = "LANGFUSE_PROMPT_LABEL"
)

// defaultPromptLabel marks the version of a prompt that is in use.
const defaultPromptLabel = "production"

const (
	// registryFresh is how long an answer counts, also that there is none: a name is asked for at most once in that time.
	registryFresh = time.Minute
	// registryLimit bounds one request, registryStart all those before the first turn.
	registryLimit, registryStart = 2 * time.Second, 10 * time.Second
	// registryAtOnce is how many requests are under way at most.
	registryAtOnce = 8
	// maxRegistryPrompt bounds a prompt as those in files are.
	maxRegistryPrompt = 256 << 10
)

// registry has the prompts of a Langfuse project. It answers from memory and never waits: what it knows for more than a minute is asked for
// anew in the background while the old answer still counts, so that it also outlives an outage. A name that it has no answer for is
// prompt.ErrUnavailable. It is safe for concurrent use; close ends what is under way.
type registry struct {
	client *langfuse.Client
	label  string
	now    func() time.Time
	warn   func(text string)

	// ctx is that of the requests in the background, which outlive the turns that cause them.
	ctx      context.Context
	cancel   context.CancelFunc
	places   chan struct{} // one for each request that is under way
	requests sync.WaitGroup

	mu    sync.Mutex
	known map[string]*registered
	// trouble is what was warned of, until something succeeds.
	trouble string
}

var _ prompt.Source = (*registry)(nil)

// registered is what is known of a name.
type registered struct {
	text, version string
	err           error
	asked         time.Time
	asking        bool
}

// LangfuseOff reports whether the environment switches Langfuse off, whatever else it says.
func LangfuseOff(getenv func(string) string) bool {
	return slices.Contains([]string{"false", "0", "no", "off"}, strings.ToLower(strings.TrimSpace(getenv(LangfuseEnabledEnv))))
}

// openRegistry returns the prompts of the Langfuse that the environment names, and nil where it names none or switches it off.
// What is wrong with it is warned of, as everything later is.
func openRegistry(getenv func(string) string, now func() time.Time, transport http.RoundTripper, warn func(text string)) *registry {
	c, err := langfuse.FromEnv(getenv)
	if LangfuseOff(getenv) || errors.Is(err, langfuse.ErrNotConfigured) {
		return nil
	}
	c.HTTP, c.Timeout, c.Attempts, c.MaxAnswer = &http.Client{Transport: transport}, registryLimit, 1, 2*maxRegistryPrompt
	var client *langfuse.Client
	if err == nil {
		client, err = langfuse.New(c)
	}
	if err != nil {
		warn(err.Error() + "; the prompts are those of files and the built-in ones")
		return nil
	}
	r := &registry{
		client: client, label: cmp.Or(strings.TrimSpace(getenv(promptLabelEnv)), defaultPromptLabel), now: now, warn: warn,
		places: make(chan struct{}, registryAtOnce), known: map[string]*registered{},
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// String says whose prompts they are.
func (r *registry) String() string { return fmt.Sprintf("%s, label %s", r.client, r.label) }

// close gives up what is under way and waits for its end.
func (r *registry) close() {
	r.mu.Lock()
	r.cancel() // from now on nothing is begun
	r.mu.Unlock()
	r.requests.Wait()
}

// Prompt returns the text of a prompt as it was when it was last asked for. Its version is that of Langfuse, as in langfuse-7.
func (r *registry) Prompt(_ context.Context, name string) (text, version string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.entry(name)
	if r.due(p) {
		r.requests.Go(func() { _ = r.ask(r.ctx, name) }) // trouble was told
	}
	return p.text, p.version, p.err
}

// entry returns what is known of a name. The lock is held.
func (r *registry) entry(name string) *registered {
	p, ok := r.known[name]
	if !ok {
		p = &registered{err: fmt.Errorf("%w: %s has not answered for %q yet", prompt.ErrUnavailable, r.client, name)}
		r.known[name] = p
	}
	return p
}

// due reports whether somebody has to ask for the prompt now, which then is the caller. The lock is held.
func (r *registry) due(p *registered) bool {
	now := r.now()
	if p.asking || r.ctx.Err() != nil || !p.asked.IsZero() && now.Sub(p.asked) < registryFresh {
		return false
	}
	p.asked, p.asking = now, true
	return true
}

// warm asks for all prompts that sites may use, so that the first turn has them. It ends at the first failure, as the others would fail, too;
// they are asked for by the turns that want them.
func (r *registry) warm(ctx context.Context, sites []*site.Site) {
	ctx, cancel := context.WithTimeout(ctx, registryStart)
	defer cancel()
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(registryAtOnce)
	for _, name := range promptNames(ctx, sites) {
		group.Go(func() error {
			r.mu.Lock()
			due := asking.Err() == nil && r.due(r.entry(name))
			r.mu.Unlock()
			if !due {
				return nil
			}
			return r.ask(asking, name)
		})
	}
	_ = group.Wait() // trouble was told
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.warn(fmt.Sprintf("%s has not given all prompts within %s; the others come with the turns that want them", r.client, registryStart))
	}
}

// promptNames returns the names that sites may ask for, those that stand in for others included.
func promptNames(ctx context.Context, sites []*site.Site) []string {
	names := map[string]bool{}
	set := &prompt.Set{Source: noting(names)}
	for _, one := range sites {
		_, _ = set.Check(ctx, one) // only what it asks for counts
	}
	return Names(names)
}

// noting has no prompts and notes what it is asked for.
type noting map[string]bool

// Prompt notes a name.
func (n noting) Prompt(_ context.Context, name string) (text, version string, err error) {
	n[name] = true
	return "", "", prompt.ErrUnknown
}

// ask asks for a prompt and keeps the answer. The error is that Langfuse gave none: then the last one still counts.
func (r *registry) ask(ctx context.Context, name string) error {
	r.places <- struct{}{}
	found, err := r.client.Prompt(ctx, name, langfuse.PromptAt{Label: r.label})
	<-r.places
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.known[name]
	p.asking = false
	switch {
	case err == nil:
		p.version = fmt.Sprintf("langfuse-%d", found.Version)
		p.text, p.err = r.systemText(&found)
	case langfuse.Absent(err):
		p.text, p.version, p.err = "", "", fmt.Errorf("%w: %q with the label %s in %s", prompt.ErrUnknown, name, r.label, r.client)
	default:
		if ctx.Err() == nil { // else it was given up
			r.tell(err)
		}
		return err
	}
	r.trouble = ""
	return nil
}

// tell warns of trouble, once until something succeeds. The lock is held.
func (r *registry) tell(err error) {
	text := err.Error()
	if e, ok := errors.AsType[*langfuse.Error](err); ok { // it is the same for all names
		general := *e
		general.What = "get the prompts"
		text = general.Error()
	}
	if text != r.trouble {
		r.trouble = text
		r.warn(text + "; until it answers, the prompts are the last ones known, those of files and the built-in ones")
	}
}

// systemText returns the text of a prompt: of a chat prompt, that of its system messages.
func (r *registry) systemText(p *langfuse.Prompt) (string, error) {
	text := p.Text
	if len(p.Messages) > 0 {
		var parts []string
		for _, m := range p.Messages {
			if m.Role == "system" {
				parts = append(parts, m.Content)
			}
		}
		if len(parts) == 0 {
			return "", fmt.Errorf("prompts: %q in %s is a chat prompt without a system message: make it a text prompt", p.Name, r.client)
		}
		text = strings.Join(parts, "\n\n")
	}
	if len(text) > maxRegistryPrompt {
		return "", fmt.Errorf("prompts: %q in %s is larger than %d KB: keep what the bot should know in the knowledge base",
			p.Name, r.client, maxRegistryPrompt>>10)
	}
	return strings.ReplaceAll(text, "\r\n", "\n"), nil
}
