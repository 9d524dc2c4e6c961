package config_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/config"
)

func TestStore(t *testing.T) {
	for address, want := range map[string]string{
		"kept/x.db": "dir/kept/x.db", "sqlite:x.db": "dir/x.db", "sqlite:/x.db": "/x.db", "/x.db": "/x.db",
		"postgres://u:pw@db/x": "postgres://u:pw@db/x", "postgresql://db/x": "postgresql://db/x",
		"mysql://u:pw@db/x": "the kind mysql", "redis://db": "the kind redis", "file:x.db": "the kind file",
		"postgres:x": "the kind postgres", "sqlite:": "no path", "": "no path", "a b.db": "dir/a b.db",
	} {
		path, postgres, err := config.Store(address, "dir")
		got := path + postgres
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != want || err != nil && !strings.Contains(got, want) ||
			strings.Contains(got, "pw") && postgres == "" {
			t.Errorf("Store(%q) = %q, want %q", address, got, want)
		}
	}
}
