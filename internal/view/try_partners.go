package view

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/grader"
	"rehearse/internal/result"
	"rehearse/internal/runner"
	"rehearse/internal/setup"
	"rehearse/internal/source"
	"rehearse/internal/suite"
	"rehearse/internal/talk"
	"rehearse/internal/target"
)

// Partners are whom the page Try talks to: the targets of a configuration, as it is when they are opened. Only what the configuration names is
// opened, whatever a form says. Close them.
type Partners struct {
	// Setup opens the targets. The partners own it.
	Setup *setup.Setup
}

// Close closes what was opened.
func (p *Partners) Close() error { return p.Setup.Close() }

// names returns the targets, the default first.
func (p *Partners) names() []string {
	c := p.Setup.Config()
	names := slices.Sorted(maps.Keys(c.Targets))
	if c.Target != "" {
		names = append([]string{c.Target}, slices.DeleteFunc(names, func(name string) bool { return name == c.Target })...)
	}
	return names
}

// open opens a target of the configuration.
func (p *Partners) open(name string) (runner.Target, error) {
	if !slices.Contains(p.names(), name) {
		return nil, source.Invalid("there is no target %q in the configuration: choose one of the list", name)
	}
	return p.Setup.Target(name, suite.Execution{})
}

// goesOn returns how a target begins after what was said before, and what somebody should know of that.
func (p *Partners) goesOn(name string, earlier []chat.Message, last *result.Turn) (b talk.Beginning, notes []string, err error) {
	if len(earlier) == 0 && last == nil {
		return b, nil, nil
	}
	reply := chat.Reply{}
	if last != nil {
		reply.Node, reply.State = last.Node, last.State
	}
	start, told, stated, err := p.Setup.GoesOn(name, reply)
	switch {
	case err != nil:
		return b, nil, err
	case !told:
		return b, []string{"Target " + name + " cannot be told what was said before: this talk begins anew."}, nil
	}
	b.Earlier = earlier
	switch {
	case stated:
		b.Start = start
	case len(reply.State) > 0 || reply.Node != "":
		notes = append(notes, "Target "+name+" was told what was said before. The state of the recorded conversation was not set: the target takes none, or not one of this form.")
	}
	return b, notes, nil
}

// Bounds of looking for suites.
const (
	maxSuites  = 200
	maxVisited = 5_000
	maxBelow   = 4
)

// suitesHere returns the files of suites in the working folder and below it, as far as the bounds reach.
func suitesHere() (files []string) {
	folder, visited := ".", 0
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error { // what cannot be read has no suites
		if visited++; visited > maxVisited || len(files) == maxSuites {
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return fs.SkipDir
		case d.IsDir() && path != folder && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || strings.Count(path, string(filepath.Separator)) >= maxBelow):
			return fs.SkipDir
		case d.Type().IsRegular() && suite.IsName(d.Name()):
			files = append(files, filepath.ToSlash(path))
		}
		return nil
	})
	return files
}

// load loads a suite of the list.
func (p *Partners) load(file string) (*suite.Suite, error) {
	if !slices.Contains(suitesHere(), file) {
		return nil, source.Invalid("there is no suite %q here: choose one of the list", file)
	}
	o := p.Setup.Suites()
	o.Kinds = grader.New(grader.Config{Files: o.Files})
	return suite.Load(filepath.FromSlash(file), o)
}

// maxOffered is how many tests of a suite are offered.
const maxOffered = 500

// tests returns the ids of tests of a suite.
func (p *Partners) tests(file string) (ids []string, err error) {
	s, err := p.load(file)
	if err != nil {
		return nil, err
	}
	for t, err := range s.Tests() {
		if err != nil {
			return nil, err
		}
		if ids = append(ids, t.ID); len(ids) == maxOffered {
			break
		}
	}
	return ids, nil
}

// expected returns what a test of a suite expects; without an id the suite's first. A judge is opened where one is asked.
func (p *Partners) expected(file, id string) (e talk.Expected, err error) {
	s, err := p.load(file)
	if err != nil {
		return e, err
	}
	for t, err := range s.Tests() {
		if err != nil {
			return e, err
		}
		if t.ID == id || id == "" {
			e.Test = t
			break
		}
	}
	if e.Test == nil {
		return e, source.Invalid("suite %s has no test %q: choose one of its tests", file, id)
	}
	e.Grading, err = p.grading(s, e.Test)
	return e, err
}

// grading opens the graders of a test.
func (p *Partners) grading(s *suite.Suite, t *suite.Test) (runner.Grading, error) {
	p.Setup.Graded()
	kinds := grader.New(grader.Config{})
	asked := t.Criteria != ""
	for _, turn := range t.Turns {
		asked = asked || slices.ContainsFunc(turn.Assertions, kinds.Judged)
	}
	if !asked && !slices.ContainsFunc(t.EveryTurn, kinds.Judged) {
		return p.Setup.Graders(nil)
	}
	judging := setup.Judging{Suite: s.Judge, Call: setup.CallOf(t.Execution)}
	if m := judging.Suite.Model; m != "" && judging.Suite.Provider != "" && !strings.Contains(m, ":") {
		judging.Suite.Model = judging.Suite.Provider + ":" + m
	}
	judging.Suite.Panel = slices.Clone(judging.Suite.Panel)
	for i := range judging.Suite.Panel {
		p.local(s, &judging.Suite.Panel[i])
	}
	p.local(s, &judging.Suite.Model)
	p.local(s, &judging.Suite.Secondary)
	judge, err := p.Setup.Judge(judging)
	if err != nil {
		return nil, err
	}
	return p.Setup.Graders(judge)
}

// local makes the name of a model's file one that is relative to this folder, as the suite means it.
func (p *Partners) local(s *suite.Suite, name *string) {
	if _, configured := p.Setup.Config().Models[*name]; !configured && *name != "" {
		*name = target.Kinds().LocalName(*name, s.File)
	}
}

// partners opens the configuration that applies to a suite, or to the server where the file is empty. Nil stands for pages without one. A file that
// is not among the suites here counts as none: a record may name any.
func (p *Pages) partners(file string) (*Partners, error) {
	if p.Try.Partners == nil || p.Try.Desk == nil {
		return nil, nil
	}
	folder := ""
	if file != "" && slices.Contains(suitesHere(), file) {
		folder = filepath.Dir(filepath.FromSlash(file))
	}
	found, err := p.Try.Partners(folder)
	if err == nil && len(found.names()) == 0 {
		err = errors.Join(errNoTargets, found.Close())
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// errNoTargets says that there is nobody to talk to.
var errNoTargets = source.Invalid("the configuration names no target")
