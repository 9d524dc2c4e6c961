package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestDeployment: what is shipped to run the program with starts commands that there are, with flags that they have,
// and sets variables that the program reads.
func TestDeployment(t *testing.T) {
	files, err := filepath.Glob("../../deploy/kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	started := map[string]int{}
	for _, name := range append(files, "../../compose.yaml") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for part := range bytes.SplitSeq(data, []byte("\n---\n")) {
			var whole any
			if err := yaml.Load(part, &whole); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			words(whole, func(list []string) {
				if i := slices.Index(list, "/rehearse"); i >= 0 {
					list = list[i+1:]
				}
				if !slices.Contains([]string{"serve", "worker", "doctor"}, list[0]) {
					return
				}
				started[list[0]]++
				c, rest, err := newRoot(&Env{}).Find(list)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.ParseFlags(rest); err != nil || c.Flags().NArg() > 0 {
					t.Errorf("%s starts %q: %v", name, list, err)
				}
			})
		}
		for _, found := range regexp.MustCompile(`\b(REHEARSE_[A-Z_]+)\b`).FindAllString(string(data), -1) {
			if !slices.Contains([]string{
				"REHEARSE_TOKEN", "REHEARSE_STORE", "REHEARSE_NATS", "REHEARSE_NATS_TOKEN", "REHEARSE_WEBHOOK_SECRET",
			}, found) {
				t.Errorf("%s sets %s, which no command reads", name, found)
			}
		}
		if strings.Contains(string(data), ":latest") {
			t.Errorf("%s has an image without a version", name)
		}
	}
	if started["serve"] != 2 || started["worker"] != 2 || started["doctor"] != 2 {
		t.Errorf("the files start %v", started)
	}
}

// words calls f with every list of words in a document.
func words(value any, f func([]string)) {
	switch v := value.(type) {
	case map[string]any:
		for _, member := range v {
			words(member, f)
		}
	case []any:
		var list []string
		for _, item := range v {
			if word, is := item.(string); is {
				list = append(list, word)
			}
			words(item, f)
		}
		if len(list) > 0 && len(list) == len(v) {
			f(list)
		}
	}
}
