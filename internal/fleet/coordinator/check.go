package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/fleet/worker"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// InvalidError says why a spec cannot be run.
type InvalidError struct {
	Message string
	// Problems are those of its suites and configurations, with paths of the bundle.
	Problems source.Problems
}

func (e *InvalidError) Error() string { return e.Message }

// Check plans a run and returns its counts and names. It asks nothing. The error of a spec that cannot be run is an
// *InvalidError or a *store.MissingBlobsError, that of one that names what it may not a *wire.RefusedError.
func (s *Service) Check(ctx context.Context, spec runspec.Spec, by Caller) (p Checked, err error) {
	switch suites := spec.Kind == "" || spec.Kind == runspec.KindSuite; {
	case suites && (len(spec.Suites) == 0 || len(spec.Files) == 0):
		return p, &InvalidError{Message: "a run needs `suites`, and in `files` everything that they read"}
	case len(spec.Files) == 0 && spec.Kind != runspec.KindReplay:
		// which says itself what of a variant or target is missing
		return p, &InvalidError{
			Message: "a run of the kind " + spec.Kind + " needs in `files` everything that it reads",
		}
	}
	if spec.IsInterim() {
		return p, &InvalidError{
			Message: "replay: `look` is for the watches of the server's own configuration: leave it out",
		}
	}
	if err := s.checkBaseline(ctx, spec.Baseline); err != nil {
		return p, err
	}
	if err := s.checkBlobs(ctx, spec); err != nil {
		return p, err
	}
	allowed := source.NewAllowance()
	p, err = s.plan(ctx, spec, allowed, func(*evaluation.Evaluation) {})
	if exceeded, ok := errors.AsType[source.Problems](allowed.Exceeded()); ok {
		return p, &InvalidError{Message: exceeded[0].Message, Problems: exceeded}
	}
	if refused := s.checkCommands(p, by); refused != nil {
		return p, refused
	}
	if err != nil {
		return p, err
	}
	if p.Conversations > maxConversations {
		return p, &InvalidError{Message: fmt.Sprintf("the run has %d conversations: one run has at most %d",
			p.Conversations, maxConversations)}
	}
	return p, nil
}

// Checked is what a run will do, with its fingerprint.
type Checked struct {
	evaluation.Planned
	Fingerprint string
	// programs is true of a run that starts some, also where it cannot be planned.
	programs bool
}

// plan plans a run whose files are in the spec or in the store. allowed bounds what they may cost to read; nil for a
// run that was submitted. look is given what was planned of suites or items, which nobody holds.
func (s *Service) plan(
	ctx context.Context, spec runspec.Spec, allowed *source.Allowance, look func(*evaluation.Evaluation),
) (p Checked, err error) {
	options := s.Setup
	options.Allowance = allowed
	opened, err := worker.Unpack(ctx, s.Dir, spec, s.Store.Blob, options)
	if err != nil {
		return p, invalid(err)
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	spec.Files, spec.Baseline = nil, ""
	if spec.Webhook != nil {
		opened.Setup.NamesAddress("the webhook", spec.Webhook.URL)
	}
	opened.Setup.NamesAddress("the judge", spec.Judge)
	opened.Setup.NamesAddress("the user", spec.User)
	if spec.Kind == runspec.KindReplay {
		return s.planReplay(ctx, opened, spec)
	}
	_, c, err := worker.Planned(evaluation.Config{Setup: opened.Setup, Spec: spec})
	var e *evaluation.Evaluation
	if err == nil {
		e, err = evaluation.New(ctx, c)
	}
	p.programs = opened.Setup.StartsPrograms()
	if err != nil {
		return p, invalid(err)
	}
	if err := e.Within(ctx); err != nil {
		return p, invalid(opened.Masked(err))
	}
	if err := e.Priced(ctx); err != nil {
		return p, invalid(opened.Masked(err))
	}
	p.Planned = e.Planned()
	look(e)
	p.Fingerprint, err = e.Fingerprint()
	return p, invalid(err)
}

// Caller is who submits a run.
type Caller struct {
	// Commands is true of whoever may submit runs that start programs.
	Commands bool
	// ID tells callers apart: an idempotency key belongs to one of them.
	ID string
}

// checkCommands refuses a run that starts programs where it may not.
func (s *Service) checkCommands(p Checked, by Caller) error {
	refused := &wire.RefusedError{Code: wire.RefusedCommands, Message: "the run starts programs"}
	switch {
	case !p.programs:
		return nil
	case s.Setup.NoCommands:
		refused.Hint = "start the server and its workers with --allow-commands, " +
			"or leave out targets and graders that are commands"
	case !by.Commands:
		refused.Hint = "submit it with a token of the scope admin"
	default:
		return nil
	}
	return refused
}

// checkBlobs refuses files that are named by a hash and not there.
func (s *Service) checkBlobs(ctx context.Context, spec runspec.Spec) error {
	hashes := blobsOf(spec)
	if len(hashes) == 0 {
		return nil
	}
	missing, err := s.Store.MissingBlobs(ctx, hashes)
	if err == nil && len(missing) > 0 {
		err = &store.MissingBlobsError{SHA256: missing}
	}
	return err
}

// checkBaseline refuses what is no run of this store that has ended.
func (s *Service) checkBaseline(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	run, err := s.Store.Run(ctx, id)
	switch {
	case errors.Is(err, store.ErrUnknown):
		return &InvalidError{
			Message: fmt.Sprintf("the baseline %s is no run of this server: `rehearse runs list` shows its runs", id),
		}
	case err != nil:
		return err
	case !run.Status.Ended():
		return &InvalidError{
			Message: fmt.Sprintf("the baseline %s is %s: compare with a run that has ended", id, run.Status),
		}
	}
	return nil
}

// invalid turns a mistake of whoever submitted a spec into an *InvalidError.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	if problems, ok := errors.AsType[source.Problems](err); ok {
		return &InvalidError{Message: "what its files say cannot be run", Problems: problems}
	}
	if source.IsInvalid(err) || errors.Is(err, source.ErrOutside) {
		return &InvalidError{Message: err.Error()}
	}
	return err
}

// blobsOf returns the hashes by which a spec names files.
func blobsOf(spec runspec.Spec) (hashes []string) {
	for _, f := range spec.Files {
		if f.SHA256 != "" {
			hashes = append(hashes, f.SHA256)
		}
	}
	return hashes
}
