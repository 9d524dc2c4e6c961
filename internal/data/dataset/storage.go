package dataset

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// ErrUnknown is wrapped by the error of a dataset that its store or Langfuse does not have.
var ErrUnknown = errors.New("there is no such dataset")

// Storage keeps one dataset: a file, a store or Langfuse. Places.Open opens it.
type Storage interface {
	// Records yields the items, the oldest first. An error ends the sequence; it wraps ErrUnknown for a dataset that
	// does not exist.
	Records(ctx context.Context) iter.Seq2[Record, error]
	// Update puts the item that change returns. change gets the item that has the id already, or nil. Its error comes
	// back as it is, and then nothing is changed.
	Update(ctx context.Context, id string, change func(old *Record) (Record, error)) error
}

// Putter is a Place that takes many items at once. Those that it has already as they are stay untouched; those that it
// has besides stay, too.
type Putter interface {
	// Put puts items. What failed of single items is in the outcome; the error says that nothing was done.
	Put(ctx context.Context, records []Record) (Outcome, error)
}

// Purger is a Place whose items can all be deleted at once. The dataset itself stays.
type Purger interface {
	// Purge deletes every item, archived ones included, once confirm agrees; it is asked only if there are items.
	Purge(ctx context.Context, confirm Confirm) (Outcome, error)
}

// Confirm is asked before items are deleted, with how many there are. dataset names the dataset for people. An error
// forbids the deletion and comes back as it is.
type Confirm func(items int, dataset string) error

// StoreReader reads the datasets of a store.
type StoreReader interface {
	// List returns all datasets in the order of their names.
	List(ctx context.Context) ([]Entry, error)
	// Dataset returns one of them, or an error that wraps ErrUnknown.
	Dataset(ctx context.Context, name string) (Entry, error)
	// Items yields the items of a dataset in the order in which they were added. An error ends the sequence.
	Items(ctx context.Context, name string) iter.Seq2[Record, error]
}

// StoreWriter changes the datasets of a store. Each method does all or nothing, and its error wraps ErrUnknown for a
// dataset that does not exist and is not to be created.
type StoreWriter interface {
	// Put adds items, or replaces those that have the same id.
	Put(ctx context.Context, name string, items []Record, o PutOptions) (Change, error)
	// Update puts the item that change returns, as Place.Update does.
	Update(ctx context.Context, name, id string, o PutOptions, change func(old *Record) (Record, error)) error
	// Purge deletes every item and returns how many there were.
	Purge(ctx context.Context, name string, now time.Time) (deleted int, err error)
}

// Store keeps datasets under names.
type Store interface {
	StoreReader
	StoreWriter
}

// Entry is a dataset in a list.
type Entry struct {
	Name, Description string
	// Items counts the items, archived ones included; -1 where they were not counted.
	Items            int
	Created, Updated time.Time
}

// Change counts what became of items that were put.
type Change struct{ New, Changed, Unchanged int }

// PutOptions say how items are put into a store.
type PutOptions struct {
	// Create makes the dataset if it is missing; it is not made when the items cannot be put.
	Create bool
	// Now is when the dataset is changed.
	Now time.Time
}

// Stores finds datasets by their names, wherever they are kept. The functions open what is needed; Places closes it.
type Stores struct {
	// Store opens the store at an address (Name.Store) and returns what closes it. A file that is missing is made only
	// with create.
	Store func(ctx context.Context, address string, create bool) (s Store, closing func() error, err error)
	// Langfuse returns the client of the Langfuse that the environment names. Its error says what is missing.
	Langfuse func() (*langfuse.Client, error)
	// Progress is called after each thing of many, with how many are done, from the goroutine that does them; it may be
	// nil.
	Progress func(what string, done int)
	// Now is the clock.
	Now func() time.Time
}

// Options say how a place is opened.
type Options struct {
	// Create lets a dataset be made by what is put into it; a file is made in any case.
	Create bool
	// Archived has Records yield what Langfuse has archived, too.
	Archived bool
}

// Open opens the place of a dataset. Call closing when it is no longer used. A dataset that does not exist is an error
// of what is done with the place, not of Open.
func (p *Stores) Open(ctx context.Context, n Name, o Options) (place Storage, closing func() error, err error) {
	nothing := func() error { return nil }
	switch n.Kind {
	case InFile:
		return file(n.Dataset), nothing, nil
	case InStore:
		s, closing, err := p.Store(ctx, n.Store, o.Create)
		if err != nil {
			return nil, nil, err
		}
		return &stored{places: p, store: s, name: n, create: o.Create}, closing, nil
	}
	client, err := p.Langfuse()
	if err != nil {
		return nil, nil, source.AsInvalid(err)
	}
	return &remote{places: p, client: client, name: n.Dataset, options: o}, nothing, nil
}

// use opens the place of a dataset for the time of one call.
func (p *Stores) use(ctx context.Context, n Name, o Options, do func(Storage) error) error {
	place, closing, err := p.Open(ctx, n, o)
	if err != nil {
		return err
	}
	return errors.Join(do(place), closing())
}

// done tells how far something has come.
func (p *Stores) done(what string, n int) {
	if p.Progress != nil {
		p.Progress(what, n)
	}
}
