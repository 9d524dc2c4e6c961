package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// readSuite keeps the suite of standard input in a file of its own until the run has ended: tests are read when they
// are held.
func (f *runFlags) readSuite(env *Env) (path string, err error) {
	switch {
	case f.server.url != "" || f.watch:
		return "", usage("a suite on standard input is for local runs that are held once: write it into a file, " +
			"or leave out --server and --watch")
	case f.targetCurl == source.Stdin:
		return "", usage("standard input holds the suite or the curl line, not both: write one into a file")
	}
	type input struct {
		data []byte
		err  error
	}
	read := make(chan input, 1)
	go func() { // it ends with the program, where nobody writes
		data, err := io.ReadAll(io.LimitReader(env.Stdin, source.MaxBytes+1))
		read <- input{data, err}
	}()
	var data []byte
	select {
	case in := <-read:
		data, err = in.data, in.err
	case <-env.Signals:
		return "", tooSoon(context.Canceled)
	}
	switch {
	case err != nil:
		return "", usage("cannot read the suite on standard input: %w", err)
	case len(bytes.TrimSpace(data)) == 0:
		return "", usage("standard input is empty: pipe a suite into it, or name a file")
	}
	kept, err := os.CreateTemp("", "rehearse-*.suite")
	if err != nil {
		return "", outcome(err)
	}
	if _, err := kept.Write(data); err != nil {
		return "", outcome(errors.Join(err, kept.Close(), os.Remove(kept.Name())))
	}
	return kept.Name(), outcome(kept.Close())
}
