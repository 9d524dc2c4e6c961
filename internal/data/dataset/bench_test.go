package dataset_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

// BenchmarkLoad reads as many items and predictions as CLINC150 has, 23,700 each. The goal is two seconds for scoring
// them.
func BenchmarkLoad(b *testing.B) {
	const n = 23_700
	dir := b.TempDir()
	itemsFile, predictionsFile := filepath.Join(dir, "items.jsonl"), filepath.Join(dir, "predictions.jsonl")
	var items, predictions bytes.Buffer
	for i := range n {
		fmt.Fprintf(&items, `{"id":"item-%d","input":{"message":"what is the equivalent of 'life is good' in french","history":[]},`+`"expected_output":{"intent":"intent_%d"},"metadata":{"source":"made up","split":"test","domain":"travel"}}`+"\n", i, i%150)
		fmt.Fprintf(&predictions, `{"id":"item-%d","output":{"intent":"intent_%d","confidence":0.75}}`+"\n", i, i%149)
	}
	for file, data := range map[string][]byte{itemsFile: items.Bytes(), predictionsFile: predictions.Bytes()} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		set, err := dataset.Load(itemsFile)
		if err != nil {
			b.Fatal(err)
		}
		loaded, err := dataset.LoadPredictions(predictionsFile)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := loaded.For(set); err != nil {
			b.Fatal(err)
		}
	}
}
