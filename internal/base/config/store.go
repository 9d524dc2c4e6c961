package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// storeScheme finds the scheme of an address. A single letter is the drive of a path.
var storeScheme = text.Regexp(`^([A-Za-z][A-Za-z0-9+.-]+):`)

// Store reads where a store is: sqlite:PATH, a bare path, or postgres://…, which it returns as it is. A relative path
// starts at dir. The error does not repeat the address, which may hold a password.
func Store(address, dir string) (path, postgres string, err error) {
	scheme := ""
	if found := storeScheme().FindStringSubmatch(address); found != nil {
		scheme = strings.ToLower(found[1])
	}
	switch scheme {
	case "":
		path = address
	case "sqlite":
		path = strings.TrimPrefix(address[len(scheme)+1:], "//")
	case "postgres", "postgresql":
		if strings.HasPrefix(address[len(scheme):], "://") {
			return "", address, nil
		}
		fallthrough
	default:
		return "", "", fmt.Errorf("there is no store of the kind %s", scheme)
	}
	if path == "" {
		return "", "", fmt.Errorf("the store has no path")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path, "", nil
}
