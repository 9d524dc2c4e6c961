package flow

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Library holds the flows that a context may refer to. It is immutable and safe for concurrent use.
type Library struct {
	flows []*Flow
	// byName holds the newest version of a flow, byVersion each one as id@version.
	byName, byVersion map[string]*Flow
}

// NewLibrary returns a library of flows. Two flows of one name must differ in version.
func NewLibrary(flows ...*Flow) (*Library, error) {
	l := &Library{byName: map[string]*Flow{}, byVersion: map[string]*Flow{}}
	for _, f := range flows {
		if err := l.add(f); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// OpenLibrary reads a file of flows, or every .yaml, .yml and .json file of a folder that contains a flow.
// Other files of a folder are left out. For a broken flow, the error is a source.Problems.
func OpenLibrary(from source.Files, path string) (*Library, error) {
	files, single, err := flowFiles(from, path)
	if err != nil {
		return nil, err
	}
	var flows []*Flow
	var problems source.Problems
	for _, file := range files {
		loaded, err := readFile(from, file)
		var faults source.Problems
		switch {
		case err == nil:
			flows = append(flows, loaded...)
		case !errors.As(err, &faults):
			return nil, err
		case !single && notAFlow(faults):
		default:
			problems = append(problems, faults...)
		}
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if len(flows) == 0 {
		return nil, fmt.Errorf("there is no flow in %s: %s", path, hintShape)
	}
	others := func() []*Flow { return nil }
	if single {
		others = flowsInFolder(from, path)
	}
	if flows, err = link(flows, others); err != nil {
		return nil, err
	}
	return NewLibrary(flows...)
}

// maxFlowFiles bounds how many files of a folder are read.
const maxFlowFiles = 10_000

func flowFiles(from source.Files, path string) (files []string, single bool, err error) {
	err = from.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if file != path && (strings.HasPrefix(d.Name(), ".") || d.Name() == knowledgeFolder) {
				return filepath.SkipDir
			}
		case file == path:
			single = true
			files = append(files, file)
		case flowFile(d.Name()):
			files = append(files, file)
		}
		if len(files) > maxFlowFiles {
			return fmt.Errorf("%s holds more than %d files", path, maxFlowFiles)
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("flows: %w", err)
	}
	return files, single, nil
}

// knowledgeFolder is the name of a folder beside flows that holds their knowledge bases.
const knowledgeFolder = "knowledge"

// notAFlow reports whether a file is not a flow at all, rather than a flow with faults.
func notAFlow(faults source.Problems) bool { return len(faults) == 1 && faults[0].Hint == hintShape }

func (l *Library) add(f *Flow) error {
	slug := Slug(f.ID)
	key := slug + "@" + f.Version
	if other, taken := l.byVersion[key]; taken && other.Version == f.Version {
		return source.Problems{{
			File: f.File, Message: fmt.Sprintf("flow %q stands here and in %s", f.ID, other.File),
			Hint: "give one of them another id or version",
		}}
	}
	l.flows = append(l.flows, f)
	l.byVersion[key] = f
	if number := slug + "@" + strconv.Itoa(major(f.Version)); number != key && l.byVersion[number] == nil {
		l.byVersion[number] = f // @1 finds 1.0.0
	}
	if newest, ok := l.byName[slug]; !ok || major(newest.Version) <= major(f.Version) {
		l.byName[slug] = f
	}
	return nil
}

// Flows returns the flows in the order in which they were read.
func (l *Library) Flows() []*Flow { return slices.Clone(l.flows) }

// Find returns the flow that ref names by its ID or the ID's slug. @version may follow; without it, Find returns the
// newest version. The error is an *Error.
func (l *Library) Find(ref string) (*Flow, error) {
	name, version, exact := strings.Cut(ref, "@")
	slug := Slug(name)
	if l != nil {
		if exact {
			if f, ok := l.byVersion[slug+"@"+version]; ok {
				return f, nil
			}
		} else if f, ok := l.byName[slug]; ok {
			return f, nil
		}
	}
	return nil, notFound("/flow/ref", source.Suggest(ref, l.names()), "there is no flow %q", ref)
}

func (l *Library) names() []string {
	if l == nil {
		return nil
	}
	names := make([]string, 0, len(l.flows))
	for _, f := range l.flows {
		names = append(names, f.ID)
	}
	return names
}

var notSlug = text.Regexp(`[^a-z0-9_-]+`)

// Slug returns the form of an ID that a reference can contain: lower case, with _ for other characters.
func Slug(id string) string {
	if nodeID().MatchString(id) { // nearly all are; spares the search and copy
		return id
	}
	return notSlug().ReplaceAllString(strings.ToLower(id), "_")
}

// major returns the number that a version starts with; 0 when it has none.
func major(version string) int {
	digits, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(digits)
	return n
}
