// Package storage opens the stores of runs, logged events and annotations at their addresses.
package storage

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// IsPostgres reports whether an address is that of a PostgreSQL database.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// SQLitePath returns the file of an address sqlite:PATH, or of a bare path. scheme is that of another kind of store,
// else empty.
func SQLitePath(address string) (path, scheme string) {
	path, postgres, err := config.Store(address, "")
	if err != nil || postgres != "" {
		scheme, _, _ = strings.Cut(address, ":")
		if scheme == "sqlite" {
			scheme = ""
		}
	}
	return path, scheme
}

// NamesStore returns source.Invalid for an address that is none of a store. It opens nothing.
func NamesStore(address string) error {
	if path, _ := SQLitePath(address); path == "" && !IsPostgres(address) {
		return source.Invalid("--store %q names no store: write sqlite:PATH, or postgres://USER@HOST/DATABASE",
			text.Address(address))
	}
	return nil
}
