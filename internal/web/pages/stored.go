package pages

import (
	"context"
	"iter"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
)

// Stored is what pages show of a store.
type Stored struct {
	Sessions interface {
		EachFrom(ctx context.Context, f replay.Filter, session string) iter.Seq2[replay.Event, error]
	}
	Datasets interface {
		List(ctx context.Context) ([]dataset.Entry, error)
		Items(ctx context.Context, name string) iter.Seq2[dataset.Record, error]
		Update(ctx context.Context, name, id string, o dataset.PutOptions,
			change func(old *dataset.Record) (dataset.Record, error)) error
	}
	// Replays are the evaluations of replays; nil where there are none.
	Replays interface {
		Runs(ctx context.Context, limit int) ([]replay.Run, error)
		Run(ctx context.Context, id string) (replay.Run, error)
		Outcomes(ctx context.Context, id string) iter.Seq2[replay.Outcome, error]
	}
	// Folders returns the folders of the runs that the store has in its index.
	Folders     func(ctx context.Context) ([]string, error)
	Annotations interface {
		Add(ctx context.Context, a annotation.Annotation) error
		Of(ctx context.Context, run string) ([]annotation.Annotation, error)
	}
}

// stored returns the store. Nil stands for one that there is not yet; ok is false where the page has been answered: the
// store cannot be reached.
func (p *Pages) stored(w http.ResponseWriter, r *http.Request) (s *Stored, ok bool) {
	if p.Store == nil {
		return nil, true
	}
	s, err := p.Store(r.Context())
	if err != nil {
		p.away(w, r, err)
		return nil, false
	}
	return s, true
}

// away answers that the store cannot be reached.
func (p *Pages) away(w http.ResponseWriter, r *http.Request, err error) {
	p.Frame.Log.Error("the store cannot be read", "at", r.URL.Path, "error", err)
	p.frame.Unavailable(w, r, "The store cannot be reached. Its address is that of --store, or of rehearse.yaml.")
}
