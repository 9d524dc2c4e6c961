package chatbot

import (
	"context"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/siteconfig"
	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Source is a place of sites.
type Source struct {
	Library *site.Library
	// Location is where the sites were found, without secrets.
	Location string
}

// Sources reads the sites of places, each once. It is not safe for concurrent use.
type Sources struct {
	Files     source.Files
	Getenv    func(name string) string
	Transport http.RoundTripper
	// Secrets learns the passwords of addresses.
	Secrets *redact.Redactor
	// FilesOnly refuses databases: their driver would take passwords from this process.
	FilesOnly bool
	read      map[string]*Source
}

// Read reads the sites of a folder or file or, when dir is an address, of a database.
func (s *Sources) Read(ctx context.Context, dir string) (*Source, error) {
	if known, ok := s.read[dir]; ok {
		return known, nil
	}
	found := &Source{Location: dir}
	var err error
	if siteconfig.IsAddress(dir) {
		s.Secrets.Address(dir)
		if s.FilesOnly {
			return nil,
				source.Invalid("chatbots in a database are for local runs: give a submitted run the files of its sites")
		}
		from, err := siteconfig.Open(dir, s.Getenv, s.Transport)
		if err != nil {
			return nil, source.AsInvalid(err)
		}
		found.Location = from.String() // an address may hold a password
		if found.Library, err = from.Load(ctx); err != nil {
			return nil, err // a site's Problems are for the user to fix; an unreachable address is not
		}
	} else if found.Library, err = site.OpenLibrary(s.Files, dir); err != nil {
		return nil, source.AsInvalid(err)
	}
	if s.read == nil {
		s.read = map[string]*Source{}
	}
	s.read[dir] = found
	return found, nil
}

// Choose returns the name of a site: the requested one, or the only one.
func (s *Source) Choose(name string) (string, error) {
	all := s.Library.Sites()
	if name == "" && len(all) == 1 {
		return all[0].Name, nil
	}
	if name == "" {
		names := make([]string, 0, len(all))
		for _, one := range all {
			names = append(names, one.Name)
		}
		return "", source.Invalid("%s holds %d sites: choose one with `site:` or --site: %s", s.Location, len(all),
			strings.Join(names, ", "))
	}
	found, err := s.Library.Find(name)
	if err != nil {
		return "", source.AsInvalid(err)
	}
	return found.Name, nil
}
