package dataset_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

// TestParseName tells where a dataset is kept by its name, and shows no password.
func TestParseName(t *testing.T) {
	for text, want := range map[string]struct {
		kind                  dataset.Kind
		store, dataset, shown string
	}{
		"store:main":        {dataset.InStore, "store", "main", "store:main"},
		"store:items.jsonl": {dataset.InStore, "store", "items.jsonl", "store:items.jsonl"},
		"sqlite:a/b.db#folder/main": {
			dataset.InStore, "sqlite:a/b.db", "folder/main", "sqlite:a/b.db#folder/main",
		},
		"sqlite:b.db#items.jsonl": {dataset.InStore, "sqlite:b.db", "items.jsonl", "sqlite:b.db#items.jsonl"},
		"postgres://me@db.example/app#a#b": {
			dataset.InStore, "postgres://me@db.example/app", "a#b", "postgres://me@db.example/app#a#b",
		},
		"postgresql://db.example/app?sslmode=off#a b": {
			dataset.InStore, "postgresql://db.example/app?sslmode=off", "a b",
			"postgresql://db.example/app?sslmode=off#a b",
		},
		"items.jsonl":          {dataset.InFile, "", "items.jsonl", "items.jsonl"},
		"a/items.csv.gz":       {dataset.InFile, "", "a/items.csv.gz", "a/items.csv.gz"},
		"name_test.go":         {dataset.InFile, "", "name_test.go", "name_test.go"}, // it exists
		"./store:main.jsonl":   {dataset.InFile, "", "./store:main.jsonl", "./store:main.jsonl"},
		"main":                 {dataset.InLangfuse, "", "main", "langfuse:main"},
		"langfuse:main":        {dataset.InLangfuse, "", "main", "langfuse:main"},
		"langfuse:items.jsonl": {dataset.InLangfuse, "", "items.jsonl", "langfuse:items.jsonl"},
		"langfuse:store:main":  {dataset.InLangfuse, "", "store:main", "langfuse:store:main"},
	} {
		n, err := dataset.ParseName(text)
		if err != nil || n.Kind != want.kind || n.Store != want.store || n.Dataset != want.dataset ||
			n.String() != want.shown {
			t.Errorf("%s: %+v, shown as %s, %v", text, n, n, err)
		}
		if dataset.IsFile(text) != (want.kind == dataset.InFile) ||
			dataset.NamesStore(text) != (want.kind == dataset.InStore) {
			t.Errorf("%s: a file %v, in a store %v", text, dataset.IsFile(text), dataset.NamesStore(text))
		}
	}
	for _, text := range []string{
		"store:", "store: ", "store", "sqlite:a.db", "sqlite:a.db#", "postgres://h/d",
		"store:" + strings.Repeat("x", 256), "", " ", "langfuse:",
	} {
		if n, err := dataset.ParseName(text); err == nil || !source.IsInvalid(err) {
			t.Errorf("%.40s: %+v, %v", text, n, err)
		}
	}
	for _, address := range []string{
		"postgres://me:geheim@db.example/app", "postgres://db.example/app?user=me&password=geheim",
		"postgres://me:geheim%zz@db.example/app",
	} {
		n, err := dataset.ParseName(address + "#main")
		if err != nil || strings.Contains(n.String(), "geheim") {
			t.Errorf("%s shows the password, %v", n, err)
		}
		if _, err := dataset.ParseName(address); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%v shows the password", err)
		}
	}
}

func TestTitle(t *testing.T) {
	for text, want := range map[string]string{
		"a/items.v1.jsonl.gz": "items.v1", "langfuse:folder/main": "folder/main", "sqlite:b.db#main": "main",
		"store:items.jsonl": "items.jsonl",
	} {
		if n, err := dataset.ParseName(text); err != nil || n.Title() != want {
			t.Errorf("%s: %s, %v", text, n.Title(), err)
		}
	}
}
