package prompt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

const (
	// LangfuseTimeout is how long one request for a prompt may take.
	LangfuseTimeout = 2 * time.Second
	// LangfuseMaxAnswer bounds the answer to such a request, in bytes: a prompt as JSON with room for its escapes.
	LangfuseMaxAnswer = 2 * maxPromptBytes

	// langfuseFresh is how long an answer counts, also that there is none: a name is asked for at most once in that
	// time.
	langfuseFresh = time.Minute
	// langfuseStart bounds all requests of Warm.
	langfuseStart = 10 * time.Second
	// langfuseAtOnce is how many requests are under way at most.
	langfuseAtOnce = 8
)

// Langfuse has the prompts of a Langfuse project. It answers from memory and never waits: an answer older than a minute
// is asked for anew in the background and counts until then, so that it also outlives an outage. For a name without an
// answer the error is ErrUnavailable. It is safe for concurrent use. Close ends what is under way.
type Langfuse struct {
	LangfuseConfig

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

var _ Source = (*Langfuse)(nil)

// registered is what is known of a name.
type registered struct {
	text, version    string
	err              error
	requestedAt      time.Time
	requestedFieldOf bool
}

// LangfuseConfig says which prompts a Langfuse gives and whom it tells of trouble. All but Now is needed.
type LangfuseConfig struct {
	// Client should ask once and give up after LangfuseTimeout.
	Client *langfuse.Client
	// Label marks the versions of prompts that are in use.
	Label string
	// Warn is told of trouble, once until something succeeds.
	Warn func(text string)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// NewLangfuse returns the prompts of a Langfuse project. It asks for none yet: see Warm. Close it.
func NewLangfuse(c LangfuseConfig) *Langfuse {
	if c.Now == nil {
		c.Now = time.Now
	}
	r := &Langfuse{LangfuseConfig: c, places: make(chan struct{}, langfuseAtOnce), known: map[string]*registered{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// String says whose prompts they are.
func (r *Langfuse) String() string { return fmt.Sprintf("%s, label %s", r.Client, r.Label) }

// Close gives up what is under way and waits for its end.
func (r *Langfuse) Close() {
	r.mu.Lock()
	r.cancel() // from now on nothing is begun
	r.mu.Unlock()
	r.requests.Wait()
}

// Prompt returns the text of a prompt as it was when it was last asked for. Its version is that of Langfuse, as in
// langfuse-7.
func (r *Langfuse) Prompt(_ context.Context, name string) (text, version string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.entry(name)
	if r.due(p) {
		r.requests.Go(func() { _ = r.ask(r.ctx, name) }) // trouble was told
	}
	return p.text, p.version, p.err
}

// entry returns what is known of a name. The lock is held.
func (r *Langfuse) entry(name string) *registered {
	p, ok := r.known[name]
	if !ok {
		p = &registered{err: fmt.Errorf("%w: %s has not answered for %q yet", ErrUnavailable, r.Client, name)}
		r.known[name] = p
	}
	return p
}

// due reports whether the caller has to ask for the prompt now. The lock is held.
func (r *Langfuse) due(p *registered) bool {
	now := r.Now()
	if p.requestedFieldOf || r.ctx.Err() != nil || !p.requestedAt.IsZero() && now.Sub(p.requestedAt) < langfuseFresh {
		return false
	}
	p.requestedAt, p.requestedFieldOf = now, true
	return true
}

// Warm asks for all prompts that sites may use, so that the first turn has them. It ends at the first failure, because
// the others would fail, too; the turns that want the rest ask for it.
func (r *Langfuse) Warm(ctx context.Context, sites []*site.Site) {
	ctx, cancel := context.WithTimeout(ctx, langfuseStart)
	defer cancel()
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(langfuseAtOnce)
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
		r.Warn(fmt.Sprintf("%s has not given all prompts within %s; the others come with the turns that want them",
			r.Client, langfuseStart))
	}
}

// promptNames returns the names of all prompts that sites may ask for.
func promptNames(ctx context.Context, sites []*site.Site) []string {
	names := map[string]bool{}
	set := &Set{Source: nameRecorder(names)}
	for _, one := range sites {
		_, _ = set.Check(ctx, one) // only what it asks for counts
	}
	return slices.Sorted(maps.Keys(names))
}

// nameRecorder has no prompts and records what it is asked for.
type nameRecorder map[string]bool

// Prompt records a name.
func (r nameRecorder) Prompt(_ context.Context, name string) (text, version string, err error) {
	r[name] = true
	return "", "", ErrUnknown
}

// ask asks for a prompt and keeps the answer. After an error the last answer still counts.
func (r *Langfuse) ask(ctx context.Context, name string) error {
	r.places <- struct{}{}
	found, err := r.Client.Prompt(ctx, name, langfuse.PromptAt{Label: r.Label})
	<-r.places
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.known[name]
	p.requestedFieldOf = false
	switch {
	case err == nil:
		p.version = fmt.Sprintf("langfuse-%d", found.Version)
		p.text, p.err = r.systemText(&found)
	case isAbsent(err):
		p.text, p.version, p.err = "", "",
			fmt.Errorf("%w: %q with the label %s in %s", ErrUnknown, name, r.Label, r.Client)
	default:
		if ctx.Err() == nil { // else it was given up
			r.tell(err)
		}
		return err
	}
	r.trouble = ""
	return nil
}

// isAbsent reports whether Langfuse has answered that there is no such prompt. A 404 with a hint comes from something
// else.
func isAbsent(err error) bool {
	e, ok := errors.AsType[*langfuse.Error](err)
	return ok && errors.Is(e, langfuse.ErrNotFound) && e.Hint == ""
}

// tell warns of trouble, once until something succeeds. The lock is held.
func (r *Langfuse) tell(err error) {
	text := err.Error()
	if e, ok := errors.AsType[*langfuse.Error](err); ok { // it is the same for all names
		general := *e
		general.What = "get the prompts"
		text = general.Error()
	}
	if text != r.trouble {
		r.trouble = text
		r.Warn(text + "; until it answers, the prompts are the last ones known, those of files and the built-in ones")
	}
}

// systemText returns the text of a prompt: of a chat prompt, that of its system messages.
func (r *Langfuse) systemText(p *langfuse.Prompt) (string, error) {
	text := p.Text
	if len(p.Messages) > 0 {
		var parts []string
		for _, m := range p.Messages {
			if m.Role == "system" {
				parts = append(parts, m.Content)
			}
		}
		if len(parts) == 0 {
			return "", fmt.Errorf("prompts: %q in %s is a chat prompt without a system message: make it a text prompt",
				p.Name, r.Client)
		}
		text = strings.Join(parts, "\n\n")
	}
	if len(text) > maxPromptBytes {
		return "",
			fmt.Errorf("prompts: %q in %s is larger than %d KB: keep what the bot should know in the knowledge base",
				p.Name, r.Client, maxPromptBytes>>10)
	}
	return strings.ReplaceAll(text, "\r\n", "\n"), nil
}
