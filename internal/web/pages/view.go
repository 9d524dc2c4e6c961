// Package pages shows runs and what surrounds them as pages of the browser. All that it shows was written by others: it
// goes through html/template and through prose, and nothing of it becomes an address outside this server.
package pages

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// Config is what the pages show. Runs is needed.
type Config struct {
	// Frame says who may see the pages.
	Frame frame.Config
	// Runs are the runs that are shown.
	Runs *runindex.Archive
	// Store opens the store of sessions and datasets; nil, and nil from it, stand for a store that there is not yet.
	Store func(ctx context.Context) (*Stored, error)
	// Make opens the store and makes it where it is not there; nil refuses what people say of runs.
	Make func(ctx context.Context) (*Stored, error)
	// Live are the sessions of the chatbots of this server; nil has none.
	Live LiveSessions
	// Flows returns the flows that can be drawn; nil has none.
	Flows func() ([]*flow.Flow, error)
	// Mask hides secrets in what goes into suites and datasets; nil hides nothing.
	Mask func(string) string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Patience is how long a page waits for the results of a run to be read, before it says how far reading is; 0 means
	// defaultPatience.
	Patience time.Duration
	// Stopping is closed when streams are to end; nil never is.
	Stopping <-chan struct{}
}

// Pages are the pages of one server. Make them with New.
type Pages struct {
	Config
	frame *frame.Frame
	// made are figures of runs that cost a pass over all tests.
	made facetsOfRuns
	// metrics are those of comparisons that were made.
	metrics comparisons
	// judged are the judged assertions of runs that were looked at.
	judged judgedRuns
	// logged is the list of logged sessions as it was read last.
	logged sessionLists
	// holding are those that are held.
	holding liveLists
	// replayedRuns are the sessions of replays that were looked at.
	replayedRuns replayedRuns
}

// defaultPatience is long enough for some hundred thousand conversations.
const defaultPatience = 15 * time.Second

//go:embed *.html.tmpl
var templates embed.FS

// New returns the handler of the pages. The log of c.Frame gets what goes wrong.
func New(c Config) http.Handler {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Patience == 0 {
		c.Patience = defaultPatience
	}
	if c.Frame.Log == nil {
		c.Frame.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pages{Config: c}
	p.frame = frame.New(c.Frame, p.nav(), sources(), functions())
	mux := http.NewServeMux()
	for at, page := range p.routes() {
		mux.HandleFunc("GET "+at, page)
	}
	for at, form := range p.forms() {
		mux.HandleFunc("POST "+at, form)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.frame.NotFound(w, r, "There is no such page.")
	})
	return p.frame.Handler(mux)
}

// routes are the pages by their addresses. A page is a file, a template and a line here.
func (p *Pages) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/{$}": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/runs", http.StatusSeeOther)
		},
		"/runs":                                p.runs,
		"/runs/{run}":                          p.run,
		"/runs/{run}/tests/{test}":             p.conversation,
		"/runs/{run}/matrix":                   p.matrix,
		"/runs/{run}/tests/{test}/suite.yaml":  p.testAsSuite,
		"/sessions/{session}/suite.yaml":       p.sessionAsSuite,
		"/runs/{run}/events":                   p.events,
		"/search":                              p.search,
		"/sessions":                            p.sessions,
		"/sessions/{session}":                  p.session,
		"/replays":                             p.replays,
		"/replays/{replay}":                    p.replay,
		"/replays/{replay}/sessions/{session}": p.replaySession,
		"/datasets":                            p.datasets,
		"/judge":                               p.judge,
		"/judge/labels.jsonl":                  p.labels,
		"/flows":                               p.flows,
		"/flows/{flow}":                        p.flow,
		"/datasets/{name}":                     p.dataset,
		"/classify":                            p.classifications,
		"/classify/{id}":                       p.classify,
		"/compare":                             p.compare,
		"/compare/tests/{test}":                p.compareConversation,
	}
}

// forms are the addresses that forms are sent to.
func (p *Pages) forms() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/runs/{run}/tests/{test}/override":   p.override,
		"/runs/{run}/tests/{test}/label":      p.label,
		"/runs/{run}/tests/{test}/quarantine": p.quarantine,
		"/runs/{run}/tests/{test}/dataset":    p.testToDataset,
		"/sessions/{session}/dataset":         p.sessionToDataset,
	}
}

// nav are the places that every page leads to.
func (p *Pages) nav() []frame.Link {
	return []frame.Link{
		{Label: "Runs", Address: "/runs"},
		{Label: "Search", Address: "/search"},
		{Label: "Compare", Address: "/compare"},
		{Label: "Replays", Address: "/replays"},
		{Label: "Sessions", Address: "/sessions"},
		{Label: "Flows", Address: "/flows"},
		{Label: "Datasets", Address: "/datasets"},
		{Label: "Judge", Address: "/judge"},
		{Label: "Classify", Address: "/classify"},
	}
}

// sources returns all templates.
func sources() string {
	var all strings.Builder
	names, _ := fs.Glob(templates, "*.tmpl") // the pattern is right
	for _, name := range names {
		text, _ := templates.ReadFile(name) // it was listed
		all.Write(text)
	}
	return all.String()
}

// found returns the run that a request names and its index; nil if it has answered that there is none.
func (p *Pages) found(w http.ResponseWriter, r *http.Request) (*runindex.Found, *runindex.Index) {
	run := p.Runs.Find(frame.Part(r, "run"))
	if run == nil {
		p.frame.NotFound(w, r, "There is no run of that id here.", p.newest(5)...)
		return nil, nil
	}
	index := p.indexOf(w, r, run)
	if index == nil {
		return nil, nil
	}
	return run, index
}

// indexOf returns the index of a run; nil if it has answered that it is not there yet, or that the run cannot be read.
func (p *Pages) indexOf(w http.ResponseWriter, r *http.Request, run *runindex.Found) *runindex.Index {
	index, read, err := run.Await(r.Context(), p.Patience)
	switch {
	case err != nil:
		p.Frame.Log.Error("a run cannot be read", "run", run.Record.ID, "error", err)
		p.frame.Unavailable(w, r, "The run "+run.Record.ID+
			" cannot be read: its folder is gone, or it may not be opened.")
	case index == nil:
		p.frame.Later(w, r, "The results of run "+run.Record.ID+" are being read for the first time: "+
			text.Percent(read)+" so far. The page comes when they are there.")
	}
	return index
}

// anew answers that words of a run cannot be looked for, as its log has been written anew since the request came, or is
// gone. An empty list would say that the words stand nowhere.
func (p *Pages) anew(w http.ResponseWriter, r *http.Request) {
	p.frame.Later(w, r, "The results of this run are just being written anew. The page comes when they are there.")
}

// unread answers that the record of a conversation cannot be read: that it comes again where it is another one now.
func (p *Pages) unread(w http.ResponseWriter, r *http.Request, run *runindex.Found, err error) {
	if errors.Is(err, runindex.ErrRewritten) {
		p.anew(w, r)
		return
	}
	p.Frame.Log.Error("a record cannot be read", "run", run.Record.ID, "error", err)
	p.frame.Unavailable(w, r, "The record of this conversation cannot be read.")
}

// unchanged reports whether the records of tests still say what a list is going to say of them; else it has answered
// that the page comes again.
func (p *Pages) unchanged(w http.ResponseWriter, r *http.Request, run *runindex.Run, listed []*runindex.Entry) bool {
	var rows []*runindex.Row
	for _, e := range listed {
		if e.Verdict != "" {
			rows = append(rows, e.Row)
		}
		rows = append(rows, e.Of[:min(len(e.Of), maxTrials)]...)
	}
	if run.Check(rows) != nil {
		p.anew(w, r)
		return false
	}
	return true
}

// maxTrials is how many trials of a test a list shows.
const maxTrials = 20

// newest are links to the newest runs.
func (p *Pages) newest(n int) (links []frame.Link) {
	runs, _ := p.Runs.Runs()
	for _, run := range runs[:min(n, len(runs))] {
		links = append(links, frame.Link{Label: "Run " + run.Record.ID, Address: addressOfRun(run.Record.ID)})
	}
	return links
}
