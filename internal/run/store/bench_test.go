package store_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/store"
)

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "store.db")
	if err := open(b, path).Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := open(b, path).Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenNew(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		if err := open(b, filepath.Join(b.TempDir(), fmt.Sprint(i, ".db"))).Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPutVerdict includes writing them: Close is timed.
func BenchmarkPutVerdict(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "store.db"))
	verdict := make([]byte, 400)
	for i := 0; b.Loop(); i++ {
		if err := s.PutVerdict(b.Context(), fmt.Sprintf("%064x", i*7919), verdict); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkVerdict(b *testing.B) {
	s := filled(b)
	defer s.Close()
	for i := 0; b.Loop(); i++ {
		if _, ok, err := s.Verdict(b.Context(), fmt.Sprint("key", i%5_000)); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func filled(b *testing.B) *store.Store {
	path := filepath.Join(b.TempDir(), "store.db")
	s := open(b, path)
	for i := range 5_000 {
		if err := s.PutVerdict(b.Context(), fmt.Sprint("key", i), make([]byte, 400)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return open(b, path)
}
