package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// tool is a program that can be given a workload.
type tool interface {
	// write writes what the program reads into dir: the suite, and where the endpoint is.
	write(ctx context.Context, dir string, w workload, url string) error
	// command returns the command line; inputs is where write wrote, dir the fresh folder that it works in.
	command(inputs, dir string, w workload) program
	// check reads what a run left in dir and returns what is wrong with it.
	check(dir string, w workload, exit int) error
}

// preparer is a tool that works on copies of its inputs, so that one run leaves nothing for the next one to reuse.
type preparer interface {
	prepare(inputs, dir string) error
}

// task is one program doing one workload so many times.
type task struct {
	row  *row
	tool tool
	work workload
	runs int
	warm bool
}

// perform fills the task's row and adds it to the table. What goes wrong stands in the row.
func (b *bencher) perform(ctx context.Context, t task) {
	b.rows = append(b.rows, t.row)
	if err := b.repeat(ctx, t); err != nil {
		t.row.Error = err.Error()
	}
	t.row.settle()
	b.report(t.row)
}

func (b *bencher) report(r *row) {
	if r.Error != "" {
		say("%s, %s: %s", r.Tool, r.What, r.Error)
		return
	}
	say("%s, %s: wall %s, CPU %s, RSS %s",
		r.Tool, r.What, seconds(r.wall().Median), seconds(r.cpu().Median), megabytes(r.rss()))
}

func (b *bencher) repeat(ctx context.Context, t task) (err error) {
	s, err := startServer(ctx, t.work.latency)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	inputs, err := b.inputs(ctx, t, s)
	defer func() { err = errors.Join(err, os.RemoveAll(inputs)) }()
	if err != nil {
		return err
	}
	first := 0
	if t.warm {
		first = -1
	}
	for i := first; i < t.runs; i++ {
		u, err := b.once(ctx, t, s, inputs)
		if err != nil {
			return err
		}
		if i >= 0 {
			t.row.Runs = append(t.row.Runs, u)
		}
	}
	return nil
}

// inputs returns a folder with what the task's program reads. The caller removes the folder, also after an error.
func (b *bencher) inputs(ctx context.Context, t task, s *server) (dir string, err error) {
	if dir, err = os.MkdirTemp(b.dir, "inputs-"); err != nil {
		return dir, err
	}
	return dir, t.tool.write(ctx, dir, t.work, s.URL)
}

// once runs the program in a fresh folder, so that nothing is remembered, and checks what it found.
func (b *bencher) once(ctx context.Context, t task, s *server, inputs string) (u usage, err error) {
	dir, err := os.MkdirTemp(b.dir, "run-")
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if p, ok := t.tool.(preparer); ok {
		if err := p.prepare(inputs, dir); err != nil {
			return u, err
		}
	}
	if err := s.reset(ctx); err != nil {
		return u, err
	}
	u, exit, err := measure(ctx, b.limit, t.tool.command(inputs, dir, t.work))
	if err != nil {
		return u, err
	}
	got, err := s.stats(ctx)
	if err != nil {
		return u, err
	}
	u.Requests, u.MostInFlight, u.HeldMS = got.Requests, got.MostInFlight, got.HeldMS
	err = t.tool.check(dir, t.work, exit)
	if want := int64(t.work.requests()); err == nil && u.Requests != want {
		err = fmt.Errorf("%d requests were made instead of %d", u.Requests, want)
	}
	if err != nil {
		err = fmt.Errorf("%w; it printed: %s", err, lastOutput(dir))
	}
	return u, errors.Join(err, u.list(filepath.Join(dir, resultsDir)))
}

// times measures a program that asks nobody, in a folder of its own.
func (b *bencher) times(ctx context.Context, r *row, runs int, p program) {
	b.rows = append(b.rows, r)
	p.dir = filepath.Join(b.dir, "alone-"+r.Case)
	err := os.MkdirAll(p.dir, 0o755)
	for i := -1; i < runs && err == nil; i++ {
		var u usage
		var exit int
		u, exit, err = measure(ctx, b.limit, p)
		if err == nil && exit != 0 {
			err = fmt.Errorf("%w; it printed: %s", exitError(exit), lastOutput(p.dir))
		}
		if i >= 0 && err == nil {
			r.Runs = append(r.Runs, u)
		}
	}
	if err != nil {
		r.Error = err.Error()
	}
	r.settle()
	b.report(r)
}
