package main

import (
	"strings"
	"testing"
)

// TestStoredNames holds that a dataset in a store is told from files and from datasets in Langfuse, and is named without a password.
func TestStoredNames(t *testing.T) {
	for name, want := range map[string]storedDataset{
		"store:main":                                  {"store", "main"},
		"store:items.jsonl":                           {"store", "items.jsonl"},
		"sqlite:a/b.db#folder/main":                   {"sqlite:a/b.db", "folder/main"},
		"sqlite:b.db#items.jsonl":                     {"sqlite:b.db", "items.jsonl"},
		"postgres://me@db.example/app#a#b":            {"postgres://me@db.example/app", "a#b"},
		"postgresql://db.example/app?sslmode=off#a b": {"postgresql://db.example/app?sslmode=off", "a b"},
	} {
		got, err := readStored(name)
		if got != want || err != nil || !isStored(name) || isItemsFile(name) || got.String() != name {
			t.Errorf("%s: %+v, %v, %q", name, got, err, got)
		}
	}
	for _, name := range []string{"store:", "store: ", "sqlite:a.db", "sqlite:a.db#", "postgres://h/d", "store:" + strings.Repeat("x", 256)} {
		if got, err := readStored(name); err == nil {
			t.Errorf("%.40s: %+v", name, got)
		}
	}
	for _, name := range []string{"items.jsonl", "main", "langfuse:store:main", "./store:main.jsonl"} {
		if isStored(name) {
			t.Errorf("%s is taken for a dataset in a store", name)
		}
	}
	for _, address := range []string{
		"postgres://me:geheim@db.example/app", "postgres://db.example/app?user=me&password=geheim", "postgres://me:geheim%zz@db.example/app",
	} {
		if shown := (storedDataset{address, "main"}).String(); strings.Contains(shown, "geheim") {
			t.Errorf("%s shows the password", shown)
		}
	}
}
