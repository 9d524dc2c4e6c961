package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec/bundle"
)

// Payload is what the jobs of a run carry: where its spec is, with the content of all of its files.
type Payload struct {
	// Bundle is the SHA-256 of the spec's JSON, under which NATS has it.
	Bundle string `json:"bundle"`
	// Traceparent is that of the run's span, to which the traces of its conversations are linked; empty for none.
	Traceparent string `json:"traceparent,omitempty"`
	// Definitions are the variants that a run of the kind replay names, Session the logged session of the job; both are
	// empty for other kinds. A large session is with NATS, under its SHA-256 in SessionAt.
	Definitions *replayrun.Definitions `json:"definitions,omitempty"`
	Session     json.RawMessage        `json:"session,omitempty"`
	SessionAt   string                 `json:"session_at,omitempty"`
	// Submitted are the rules of the server that leads the run. They hold for whoever holds its conversations.
	Submitted wire.Submitted `json:"submitted"`
	// Own is true of a run that the server itself has asked for, to which these rules do not apply.
	Own bool `json:"own,omitempty"`
}

// Opened is a run whose files are in a folder of their own. Close it.
type Opened struct {
	Spec  runspec.Spec
	Setup *wire.Setup
	root  *os.Root
	dir   string
}

// Unpack puts the files of a spec into a new folder below dir, and opens a setup that reads nothing else. options are
// those of the process; what the spec says goes before.
func Unpack(ctx context.Context, dir string, spec runspec.Spec, blobs bundle.Blobs,
	options wire.Options) (_ *Opened, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("unpack a run: %w", err)
	}
	o := &Opened{Spec: spec}
	if o.dir, err = os.MkdirTemp(dir, "files-"); err != nil {
		return nil, fmt.Errorf("unpack a run: %w", err)
	}
	if options.Secrets == nil {
		options.Secrets = wire.Secrets(options.Environ, spec.Named())
	}
	defer func() {
		if err != nil {
			err = &maskedError{errors.Join(err, o.Close()), options.Secrets, o.dir}
		}
	}()
	if err := bundle.Unpack(ctx, o.dir, spec, blobs); err != nil {
		return nil, err
	}
	if o.root, err = os.OpenRoot(o.dir); err != nil {
		return nil, fmt.Errorf("unpack a run: %w", err)
	}
	options.Files, options.Config, options.Model = source.Within(o.root).Limited(options.Allowance),
		spec.Config, spec.Model
	o.Setup, err = wire.Open(options)
	return o, err
}

// Masked returns an error whose text has none of the run's secrets; nil for none.
func (o *Opened) Masked(err error) error {
	if err == nil {
		return nil
	}
	return &maskedError{err, o.Setup.Secrets(), o.dir}
}

// maskedError is an error without the secrets of its run, and without the folder that its files are in.
type maskedError struct {
	error
	secrets *wire.Redactor
	dir     string
}

func (e *maskedError) Error() string {
	text := e.error.Error()
	if e.dir != "" {
		text = strings.ReplaceAll(text, e.dir+string(filepath.Separator), "")
	}
	return e.secrets.Text(text)
}

func (e *maskedError) Unwrap() error { return e.error }

// Close closes what was opened and removes the folder.
func (o *Opened) Close() error {
	var faults []error
	if o.Setup != nil {
		faults = append(faults, o.Setup.Close())
	}
	if o.root != nil {
		faults = append(faults, o.root.Close())
	}
	return errors.Join(append(faults, os.RemoveAll(o.dir))...)
}

// FromNATS returns a Config.Open that gets the bundles of runs from NATS and unpacks them below dir.
func FromNATS(conn *natsconn.Conn, dir string,
	options wire.Options) func(context.Context, string, json.RawMessage) (Runner, error) {
	return func(ctx context.Context, run string, payload json.RawMessage) (Runner, error) {
		var p Payload
		if err := json.Unmarshal(payload, &p); err != nil {
			return nil, fmt.Errorf("the job of run %s says not where its files are: %w", run, err)
		}
		var data bytes.Buffer
		err := natsconn.Again(ctx, func(ctx context.Context) error { // a NATS that goes away comes back
			data.Reset()
			return conn.GetBundle(ctx, p.Bundle, &data)
		})
		if err != nil {
			return nil, fmt.Errorf("get the files of run %s: %w", run, err)
		}
		spec, err := runspec.Read(data.Bytes())
		if err != nil {
			return nil, err
		}
		options, kind := options, cmp.Or(spec.Kind, runspec.KindSuite)
		if options.Submitted = &p.Submitted; p.Own {
			options.Submitted = nil
		}
		if kind == runspec.KindReplay {
			return openSessions(ctx, conn, dir, options, spec, p.Definitions)
		}
		return hold(ctx, dir, options, evaluation.Config{
			Spec: withoutFiles(spec), Verdicts: conn.Verdicts(), Artifacts: conn.RunArtifacts(run),
			Turned: func(k result.Key, turn, of int) {
				_ = conn.Notify(natsconn.Notice{Run: run, Kind: kind, Key: k, Turn: turn, Of: of}) // nobody may listen
			},
		}, spec)
	}
}

func hold(ctx context.Context, dir string, options wire.Options, c evaluation.Config,
	spec runspec.Spec) (h *suiteRun, err error) {
	o, err := Unpack(ctx, dir, spec, nil, options)
	if err != nil {
		return nil, err
	}
	h, c.Setup = &suiteRun{opened: o}, o.Setup
	if _, c, err = Planned(c); err == nil {
		h.holder, err = evaluation.NewConversationRunner(ctx, c)
	}
	if err != nil {
		return nil, o.Masked(errors.Join(err, o.Close()))
	}
	return h, nil
}

// withoutFiles returns a spec whose files are in a folder, so that they need not be in memory, too. What a run is
// compared with is the leader's.
func withoutFiles(s runspec.Spec) runspec.Spec {
	s.Files = nil
	return s.WithoutBaseline()
}

// suiteRun is a run of which conversations are held here.
type suiteRun struct {
	opened *Opened
	holder *evaluation.ConversationRunner
}

func (h *suiteRun) Run(ctx context.Context, j orchestrator.Job) (held Completed, err error) {
	var p Payload
	if err := json.Unmarshal(j.Payload, &p); err == nil { // else the run would not have been opened
		ctx = trace.Remote(ctx, p.Traceparent)
	}
	record, err := h.holder.Run(ctx, j)
	if err != nil || record == nil {
		return held, h.opened.Masked(err)
	}
	held.Record, held.Body, err = h.masked(record)
	return held, err
}

// masked returns a record, and its JSON, without the secrets of this process: the coordinator of the run may not know
// them. The key stays, by which the record is known.
func (h *suiteRun) masked(t *result.Test) (*result.Test, []byte, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return nil, nil, err
	}
	clean := h.opened.Setup.Secrets().Bytes(data)
	if bytes.Equal(clean, data) {
		return t, data, nil
	}
	var masked result.Test
	if err := json.Unmarshal(clean, &masked); err != nil {
		return nil, nil, fmt.Errorf("mask a record: %w", err)
	}
	masked.Suite, masked.TestID, masked.Target = t.Suite, t.TestID, t.Target
	data, err = json.Marshal(&masked)
	return &masked, data, err
}

func (h *suiteRun) Close() error {
	h.holder.Close()
	return h.opened.Close()
}
