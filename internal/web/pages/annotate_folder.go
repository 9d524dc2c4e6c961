package pages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
)

// onTheWay is for how long an annotation may be in the store and not yet in the folder of its run.
const onTheWay = 10 * time.Second

// lacking returns the annotations of a store that could not be written into the folder of their run.
func lacking(inFolder, inStore []annotation.Annotation, now time.Time) []annotation.Annotation {
	return slices.DeleteFunc(annotation.BookOf(inStore).Lacking(inFolder), func(a annotation.Annotation) bool {
		return now.Sub(a.At) < onTheWay
	})
}

// intoFolder writes an annotation into the folder of its run, behind those that could not be written there before.
func (p *Pages) intoFolder(ctx context.Context, s *Stored, f *sent) error {
	// a run with --out may just have moved this one aside, and the lines name no run
	switch there, err := runlog.ReadRun(f.run.Dir); {
	case err != nil:
		return err
	case there.ID != f.RunID:
		return fmt.Errorf("%s has run %s now", f.run.Dir, there.ID)
	}
	inStore, err := s.Annotations.Of(ctx, f.RunID)
	if err != nil {
		return errors.Join(err, annotation.Append(f.run.Dir, f.Annotation))
	}
	inFolder, _, err := annotation.Read(f.run.Dir)
	if err != nil {
		return err
	}
	return annotation.Append(f.run.Dir, append(lacking(inFolder, inStore, p.Now()), f.Annotation)...)
}
