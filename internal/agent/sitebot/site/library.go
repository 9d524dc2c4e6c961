package site

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Library holds the sites that a program serves. It is immutable and safe for concurrent use.
type Library struct {
	sites  []*Site
	byName map[string]*Site
}

// ErrUnknown is wrapped by the error of Find.
var ErrUnknown = errors.New("there is no such site")

// maxSites bounds how many files of a folder are read.
const maxSites = 10_000

// OpenLibrary reads every .yaml, .yml and .json file of a folder that holds a site, one site a file; other files may
// lie beside them. A path to a file gives a library of one. Faults of all files are one source.Problems.
func OpenLibrary(from source.Files, dir string) (*Library, error) {
	files, err := siteFiles(from, dir)
	if err != nil {
		return nil, err
	}
	var sites []*Site
	var problems source.Problems
	for _, file := range files {
		s, err := loadFrom(from, file, file == dir)
		var faults source.Problems
		switch {
		case errors.As(err, &faults):
			problems = append(problems, faults...)
		case err != nil:
			return nil, err
		case s != nil:
			sites = append(sites, s)
		}
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if len(sites) == 0 {
		return nil, fmt.Errorf("there is no site in %s: put a file there that begins with `site: NAME`", dir)
	}
	return NewLibrary(sites...)
}

// siteFiles returns the files of a folder that may hold sites, by name.
func siteFiles(from source.Files, dir string) ([]string, error) {
	info, err := from.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("sites: %w", err)
	}
	if !info.IsDir() {
		return []string{dir}, nil
	}
	entries, err := from.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("sites: %w", err)
	}
	var files []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); e.IsDir() || strings.HasPrefix(e.Name(), ".") ||
			!slices.Contains([]string{".yaml", ".yml", ".json"}, ext) {
			continue
		}
		if files = append(files, filepath.Join(dir, e.Name())); len(files) > maxSites {
			return nil, fmt.Errorf("%s holds more than %d files: serve a folder of sites only", dir, maxSites)
		}
	}
	return files, nil
}

// loadFrom reads a file of a folder. It returns nothing for a file that is about something else, unless that one was
// asked for.
func loadFrom(from source.Files, file string, asked bool) (*Site, error) {
	data, err := readFile(from, file)
	if err != nil {
		return nil, err
	}
	root, err := from.ParseYAML(file, data)
	if err != nil {
		return nil, err
	}
	if !asked && !aboutSite(root) {
		return nil, nil // neither a site nor a mistake
	}
	return read(from, file, root)
}

// siteKeys are found in no other file of this program. A file with one of them is a site, even if its name was
// forgotten.
var siteKeys = []string{
	"site", "aliases", "company", "qualification", "cta", "booking", "content_gating", "knowledge_base", "enrichment",
	"integrations", "widget",
}

func aboutSite(root source.Value) bool {
	return slices.ContainsFunc(root.Fields, func(f source.Field) bool { return slices.Contains(siteKeys, f.Name) })
}

// NewLibrary returns a library of sites. A name or alias belongs to one site only.
func NewLibrary(sites ...*Site) (*Library, error) {
	l := &Library{sites: slices.Clone(sites), byName: map[string]*Site{}}
	var problems source.Problems
	for _, s := range sites {
		for _, name := range append([]string{s.Name}, s.Aliases...) {
			if other, taken := l.byName[normal(name)]; taken && other != s {
				p := s.names[name]
				p.Message = fmt.Sprintf("%q is a name of the site in %s too", name, other.File)
				p.Hint = "give each site names and aliases of its own"
				problems = append(problems, p)
				continue
			}
			l.byName[normal(name)] = s
		}
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return l, nil
}

// Sites returns the sites in the order of their files.
func (l *Library) Sites() []*Site { return slices.Clone(l.sites) }

// Find returns the site with a name or alias, whatever its case. The error wraps ErrUnknown and names no other site:
// visitors may read it.
func (l *Library) Find(name string) (*Site, error) {
	if s, ok := l.byName[normal(name)]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("%w: %q is neither the name nor an alias of one; check site_name", ErrUnknown, clip(name))
}

// Warnings returns what is strange about the files of all sites.
func (l *Library) Warnings() source.Problems {
	var all source.Problems
	for _, s := range l.sites {
		all = append(all, s.Warnings...)
	}
	return all
}
