package evaluation

import (
	"rehearse/internal/grader"
	"rehearse/internal/source"
	"rehearse/internal/suite"
)

// Load loads suites from files, folders and globs, each file once. problems are the faults of all suites; err says that a file could not be
// read. Suites with the same name are distinguished by their files. The types of assertions are the built-in ones.
func Load(names []string, o suite.Options) (suites []*suite.Suite, problems source.Problems, err error) {
	o.Kinds = grader.New(grader.Config{Files: o.Files})
	called, seen := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		files, err := suite.Find(o.Files, name)
		if err != nil {
			problems = append(problems, source.Problem{File: name, Message: err.Error(), Hint: "name a file, a folder or a glob"})
			continue
		}
		for _, file := range files {
			if path, err := o.Files.Abs(file); err == nil {
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
			if called[s.Name] {
				s.Rename(s.File)
			}
			called[s.Name] = true
			suites = append(suites, s)
		}
	}
	return suites, problems, nil
}
