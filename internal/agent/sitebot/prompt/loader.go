package prompt

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// loader gets the templates of one site and collects what is wrong with them.
type loader struct {
	site *site.Site
	from func(name string) (text string, err error)
	// read are the answers of the source so far.
	read     []reading
	problems source.Problems
	failure  error
	// absent are the names that the site gives and no source has.
	absent []string
}

func (s *Set) loader(ctx context.Context, of *site.Site) *loader {
	from := func(name string) (string, error) {
		text, _, err := s.prompt(ctx, name)
		return strings.TrimSpace(text), err
	}
	return &loader{site: of, from: from}
}

// prompt asks the source of the set and then the built-in prompts.
func (s *Set) prompt(ctx context.Context, name string) (text, version string, err error) {
	if s.Source == nil {
		return Builtin{}.Prompt(ctx, name)
	}
	return fallback{s.Source, Builtin{}}.Prompt(ctx, name)
}

// reading is what a source said when it was asked for a name.
type reading struct {
	name, text string
	err        error
}

// same reports whether a later reading of the name leads to the same template.
func (r reading) same(later reading) bool {
	if r.err != nil || later.err != nil {
		return errors.Is(r.err, ErrUnknown) && errors.Is(later.err, ErrUnknown)
	}
	return r.text == later.text
}

// fetch asks the source, once for each name.
func (l *loader) fetch(name string) reading {
	for _, r := range l.read {
		if r.name == name {
			return r
		}
	}
	text, err := l.from(name)
	r := reading{name, text, err}
	l.read = append(l.read, r)
	return r
}

// prepared is a template with all that was read to make it.
type prepared struct {
	template template
	read     []reading
}

// prepare returns what load makes, from memory while the source says the same as when it was made. What is faulty is
// not kept.
func (l *loader) prepare(kept *cache[string, prepared], name string, load func(*loader, string) template) template {
	l.read = l.read[:0]
	if p, ok := kept.get(name); ok && l.unchanged(p.read) {
		return p.template
	}
	t := load(l, name)
	if l.err() == nil {
		kept.put(name, prepared{t, slices.Clone(l.read)})
	}
	return t
}

// unchanged reports whether the source says the same as before. What it says is noted only where it does not, as that
// is rare.
func (l *loader) unchanged(before []reading) bool {
	for i, r := range before {
		text, err := l.from(r.name)
		if now := (reading{r.name, text, err}); !r.same(now) {
			l.read = append(slices.Clone(before[:i]), now)
			return false
		}
	}
	return true
}

func (l *loader) err() error {
	if l.failure != nil {
		return l.failure
	}
	return l.problems.Err()
}

// get returns a template by its name.
func (l *loader) get(name string, known []string) (template, error) {
	r := l.fetch(name)
	if r.err != nil {
		return nil, r.err
	}
	return parse(name, r.text, known)
}

// note keeps what went wrong.
func (l *loader) note(err error) {
	var problems source.Problems
	switch {
	case errors.As(err, &problems):
		l.problems = append(l.problems, problems...)
	case err != nil && l.failure == nil:
		l.failure = err
	}
}
