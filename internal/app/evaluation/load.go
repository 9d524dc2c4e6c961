package evaluation

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Load loads suites from files, folders and globs, each file once. problems are the faults of all suites; err says that
// a file could not be read. Suites with the same name are distinguished by their files. The types of assertions are the
// built-in ones.
func Load(names []string, o suite.Options) (suites []*suite.Suite, problems source.Problems, err error) {
	o.Kinds = grader.New(grader.Config{Files: o.Files})
	seen, paths := map[string]bool{}, map[*suite.Suite]string{}
	for _, name := range names {
		files, err := suite.Find(o.Files, name)
		if err != nil {
			problems = append(problems, source.Problem{
				File: name, Message: err.Error(), Hint: "name a file, a folder or a glob",
			})
			continue
		}
		for _, file := range files {
			path, err := o.Files.Abs(file)
			if err == nil {
				if seen[path] { // named twice, or also by its folder
					continue
				}
				seen[path] = true
			}
			s, err := suite.Load(file, o)
			if found, ok := suite.Problems(err); ok {
				problems = append(problems, found...)
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			paths[s] = cmp.Or(path, file)
			suites = append(suites, s)
		}
	}
	distinguish(suites, paths)
	return suites, problems, nil
}

// distinguish gives suites whose name an earlier one has that of their file, from the folder that all suites have in
// common: so it is the same wherever that folder is.
func distinguish(suites []*suite.Suite, paths map[*suite.Suite]string) {
	common := ""
	for i, s := range suites {
		for dir := filepath.Dir(paths[s]); ; dir = filepath.Dir(dir) {
			if i == 0 || dir == common || dir == filepath.Dir(dir) ||
				strings.HasPrefix(common, dir+string(filepath.Separator)) {
				common = dir
				break
			}
		}
	}
	called := map[string]bool{}
	for _, s := range suites {
		if called[s.Name] {
			name, err := filepath.Rel(common, paths[s])
			if err != nil {
				name = s.File
			}
			s.Rename(filepath.ToSlash(name))
		}
		called[s.Name] = true
	}
}
