package site

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// YesWords are the ways to accept a proposal in all languages.
func YesWords() []string { return slices.Concat(yesWords...) }

// LoadFile reads the file of a site as a library reads those of its folder.
func LoadFile(path string) (*Site, error) {
	data, err := readFile(source.Files{}, path)
	if err != nil {
		return nil, err
	}
	return Load(path, data)
}
