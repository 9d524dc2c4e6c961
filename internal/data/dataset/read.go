package dataset

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// maxBytes bounds the items of a dataset that are in memory at once, as files are bounded.
const maxBytes = maxFileBytes

// Read returns the items of a dataset. What it cannot find is an input error; so is a dataset without items.
func (p *Stores) Read(ctx context.Context, n Name) (records []Record, err error) {
	place, closing, err := p.Open(ctx, n, Options{})
	if err != nil {
		return nil, p.unopened(n, err)
	}
	records, err = p.read(ctx, n, place)
	if err := errors.Join(err, closing()); err != nil {
		return nil, err
	}
	return records, nil
}

// unopened says of a Langfuse that cannot be asked for a name without its scheme that a file may have been meant.
func (p *Stores) unopened(n Name, err error) error {
	if n.bare {
		return source.Invalid(
			"there is no file %q (name a .jsonl, .json or .csv file), and it cannot be looked for in Langfuse: %w",
			n.Dataset, err)
	}
	return err
}

func (p *Stores) read(ctx context.Context, n Name, place Storage) (records []Record, err error) {
	size := 0
	for r, err := range place.Records(ctx) {
		if errors.Is(err, ErrUnknown) && n.bare {
			err = source.Invalid("%w; nor is there a file of that name", err)
		}
		if err != nil {
			return nil, err
		}
		size += len(r.ID) + len(r.Input) + len(r.Expected) + len(r.Metadata)
		if records = append(records, r); n.Kind == InStore && (len(records) > MaxItems || size > maxBytes) {
			return nil, source.Invalid("the dataset %s has more than %d items or %d MB: split it", n, MaxItems,
				maxBytes>>20)
		}
	}
	if len(records) > 0 {
		return records, nil
	}
	what := "the dataset " + n.String()
	if named, ok := place.(*remote); ok {
		what = named.String()
	}
	return nil,
		source.Invalid("%s has no items: put some there with `rehearse dataset push` or `rehearse dataset add`", what)
}

// Pulled is what Pull has written.
type Pulled struct {
	Items int
	// Archived are the ids of items that are archived in Langfuse, which a file does not tell. WithoutInput are the ids
	// of items that no other command takes.
	Archived, WithoutInput []string
}

// Pull writes the items of a dataset as JSON Lines, the oldest first: to a file, which comes about when all items are
// there, or with an empty file to out, item by item. It is an input error for a dataset in a file.
func (p *Stores) Pull(ctx context.Context, n Name, archived bool, file string,
	out io.Writer) (pulled Pulled, err error) {
	if n, err = n.Storable(); err != nil {
		return pulled, err
	}
	err = p.use(ctx, n, Options{Archived: archived}, func(place Storage) error {
		write := func(w io.Writer) error {
			for r, err := range place.Records(ctx) {
				if err == nil {
					err = Encode(w, []Record{r})
				}
				if err != nil {
					return err
				}
				pulled.count(&r)
			}
			return nil
		}
		if file != "" {
			return WriteWith(file, write)
		}
		buffered := bufio.NewWriter(out)
		return errors.Join(write(buffered), buffered.Flush())
	})
	return pulled, err
}

func (p *Pulled) count(r *Record) {
	p.Items++
	if r.Archived {
		p.Archived = append(p.Archived, r.ID)
	}
	if r.Input == nil {
		p.WithoutInput = append(p.WithoutInput, r.ID)
	}
}
