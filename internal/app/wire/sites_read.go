package wire

import (
	"context"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/siteconfig"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
)

// readSites are the sites of a place, which is named without secrets.
type readSites struct {
	library *site.Library
	place   string
}

// siteLibrary reads the sites of a folder or file or, when dir is an address, of a database, once. place is where they
// are, without secrets.
func (s *shared) siteLibrary(ctx context.Context, dir string) (library *site.Library, place string, err error) {
	if known, ok := s.read[dir]; ok {
		return known.library, known.place, nil
	}
	place = dir
	if siteconfig.IsAddress(dir) {
		s.secrets.Address(dir)
		if s.Submitted != nil { // the driver of a database would take passwords from this process
			return nil, "",
				source.Invalid("chatbots in a database are for local runs: give a submitted run the files of its sites")
		}
		from, err := siteconfig.Open(dir, s.Getenv, s.outside)
		if err != nil {
			return nil, "", source.AsInvalid(err)
		}
		place = from.String() // an address may hold a password
		if library, err = from.Load(ctx); err != nil {
			return nil, "", err // a site's Problems are for the user to fix; an unreachable address is not
		}
	} else if library, err = site.OpenLibrary(s.Files, dir); err != nil {
		return nil, "", source.AsInvalid(err)
	}
	s.read[dir] = readSites{library, place}
	return library, place, nil
}

// ReadSites reads the sites of a place, once, and opens nothing of them. place is where they are, without secrets. What
// they name and a submitted run may not is noted.
func (s *Setup) ReadSites(c target.SiteConfig) (library *site.Library, place string, err error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if library, place, err = s.siteLibrary(context.Background(), c.Dir); err == nil && s.Submitted != nil {
		for _, one := range library.Sites() {
			s.siteNames(one)
		}
	}
	return library, place, err
}

// chooseSite returns the name of a site: the requested one, or the only one.
func chooseSite(library *site.Library, place, name string) (string, error) {
	all := library.Sites()
	if name == "" && len(all) == 1 {
		return all[0].Name, nil
	}
	if name == "" {
		names := make([]string, 0, len(all))
		for _, one := range all {
			names = append(names, one.Name)
		}
		return "", source.Invalid("%s holds %d sites: choose one with `site:` or --site: %s", place, len(all),
			strings.Join(names, ", "))
	}
	found, err := library.Find(name)
	if err != nil {
		return "", source.AsInvalid(err)
	}
	return found.Name, nil
}

// siteModel finds the model that a site calls by a name.
func (s *Setup) siteModel(one *site.Site, name string) (config.Model, error) {
	if name == "" {
		return config.Model{}, source.Invalid(
			"%s does not say which model answers: add --model PROVIDER:MODEL, or `models: {default: …}` to the site",
			one.File)
	}
	m, err := s.ModelNamed(name, "model", Names(s.config.Models))
	if source.IsInvalid(err) {
		err = source.Invalid("%s: %w; name one with --model", one.File, err)
	}
	return m, err
}
