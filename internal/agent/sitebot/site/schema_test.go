package site_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// compiled is the schema, ready to check files.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(site.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("site.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("site.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fits says what the schema says of a file.
func fits(t *testing.T, s *jsonschema.Schema, yaml string) error {
	t.Helper()
	v, err := source.ParseYAML("s.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v.Any())
}

// loads reports whether the program reads a file. What it says of folders that are missing is no matter of a schema.
func loads(yaml string) bool {
	_, err := site.Load("s.yaml", []byte(yaml))
	return err == nil
}

// probes are files with an unknown key in each mapping, by the path of the mapping in the schema.
var probes = map[string]string{
	"":                               "?",
	"company":                        "company: {?}",
	"prompts":                        "prompts: {?}",
	"models":                         "models: {?}",
	"qualification":                  "qualification: {?}",
	"qualification.profiling":        "qualification: {profiling: {?}}",
	"qualification.interest_signals": "qualification: {interest_signals: {?}}",
	"cta":                            "cta: {?}",
	"booking":                        "booking: {?}",
	"content_gating":                 "content_gating: {?}",
	"suggestions":                    "suggestions: {?}",
	"knowledge_base":                 "knowledge_base: {?}",
	"knowledge_base.lightrag":        "knowledge_base: {lightrag: {?}}",
	"enrichment":                     "enrichment: {?}",
	"integrations":                   "integrations: {?}",
	"integrations.lead_webhook":      "integrations: {lead_webhook: {?}}",
	"integrations.posthog":           "integrations: {posthog: {?}}",
	"#form":                          "qualification: {profiling: {forms: [{?}]}}",
	"#field_group":                   "qualification: {profiling: {forms: [{field_groups: [{?}]}]}}",
	"#field":                         "qualification: {profiling: {forms: [{field_groups: [{fields: [{?}]}]}]}}",
	"#signal":                        "qualification: {interest_signals: {signals: [{?}]}}",
	"#booking_field":                 "booking: {fields: [{?}]}",
	"limits":                         "limits: {?}",
	"widget":                         "widget: {?}",
}

var known = regexp.MustCompile(`unknown key "q{16}" \(known: ([^)]*)\)`)

// The reader of site files and their schema know the same keys in every mapping.
func TestSchemaHasEveryKey(t *testing.T) {
	inSchema := mappings(t)
	for path := range inSchema {
		if _, ok := probes[path]; !ok {
			t.Errorf("nothing says what keys %s has", path)
		}
	}
	for path, probe := range probes {
		_, err := site.Load("s.yaml", []byte("site: x\n"+strings.Replace(probe, "?", "qqqqqqqqqqqqqqqq: 1", 1)))
		if err == nil {
			t.Fatalf("%s is read", probe)
		}
		found := known.FindStringSubmatch(err.Error())
		if found == nil {
			t.Fatalf("%s: %v", probe, err)
		}
		keys, ok := inSchema[path]
		if !ok {
			t.Errorf("the schema has no mapping %s", path)
			continue
		}
		if d := cmp.Diff(strings.Split(found[1], ", "), keys); d != "" {
			t.Errorf("%s (-read +in the schema): %s", path, d)
		}
	}
}

// mappings returns the keys of each mapping of the schema.
func mappings(t *testing.T) map[string][]string {
	t.Helper()
	type part struct {
		Properties map[string]json.RawMessage `json:"properties"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	found := map[string][]string{}
	var walk func(path string, raw json.RawMessage)
	walk = func(path string, raw json.RawMessage) {
		var p part
		if err := json.Unmarshal(raw, &p); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if p.Properties != nil {
			found[path] = slices.Sorted(maps.Keys(p.Properties))
		}
		for name, inner := range p.Properties {
			walk(strings.TrimPrefix(path+"."+name, "."), inner)
		}
		for _, inner := range p.AnyOf {
			walk(path, inner)
		}
		for name, inner := range p.Defs {
			walk("#"+name, inner)
		}
	}
	walk("", site.Schema())
	return found
}

// What the program reads fits the schema: every site of this repository, and files with each key in its several forms.
func TestSitesFitTheSchema(t *testing.T) {
	s := compiled(t)
	read := 0
	for _, pattern := range []string{
		"testdata/*.yaml", "../../../../examples/sites/*.yaml", "../../../../examples/*/sites/*.yaml",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := site.Load(file, data); err == nil {
				read++
				if err := fits(t, s, string(data)); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
	}
	if read < 3 {
		t.Errorf("only %d sites were read", read)
	}
	for _, yaml := range accepted {
		if !loads(yaml) {
			t.Errorf("the program refuses: %s", yaml)
		}
		if err := fits(t, s, yaml); err != nil {
			t.Errorf("%s: %v", yaml, err)
		}
	}
	for _, w := range warnings {
		if loads(w.yaml) {
			if err := fits(t, s, w.yaml); err != nil {
				t.Errorf("%s: %v", w.yaml, err)
			}
		}
	}
}

// accepted are forms that are rarely written and read all the same.
var accepted = []string{
	"site: 5", "site: X.Example.\nlanguage:\ncompany:\ncta:",
	"site: x\naliases: y\nlanguage: fr_CA", "site: x\naliases: [a, 2]",
	"site: x\nbooking: {fields: [email, {id: when, type: date}], post_conversion_fields: []}",
	"site: x\nqualification: {profiling: {forms: [{field_groups: [{fields: [{id: a, required: 'true', choices: [1, " +
		"two]}]}]}]}, interest_signals: {threshold: '-1', signals: [{id: a, weight: '3'}]}}",
	"site: x\nknowledge_base: {lightrag: {url: 'http://127.0.0.1:9621', mode: mix}}",
	"site: x\nenrichment: {sources: [enrich-so], keep_ip: false}", "site: x\nwidget: {title: 5, color: ' #FFee00 ', " +
		"logo: 'https://x.example/a b.png', greeting: hi, starters: [1, b], position: left}",
	"site: x\nwidget:", "site: x\ncta: {url: ' HTTPS://a.example/', min_turn: 0, form_fields: {email: e}}",
	"site: x\nintegrations: {posthog: {key_env: ' KEY '}}",
}

// What the schema refuses, the program refuses: each file that a test of the program refuses, and each change of a good
// one.
func TestSchemaRefusesNoMore(t *testing.T) {
	s, refused := compiled(t), 0
	for _, p := range problems {
		v, err := source.ParseYAML("s.yaml", []byte(p.yaml))
		if err == nil && s.Validate(v.Any()) != nil {
			refused++
		}
	}
	if refused < len(problems)/3 {
		t.Errorf("the schema refuses %d of %d faulty files", refused, len(problems))
	}
	example, err := os.ReadFile("testdata/example.site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	v, err := source.ParseYAML("s.yaml", example)
	if err != nil {
		t.Fatal(err)
	}
	changes := 0
	for _, changed := range mutations(v.Any()) {
		data, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		if fits(t, s, string(data)) == nil {
			continue
		}
		if changes++; loads(string(data)) {
			t.Errorf("the schema refuses and the program reads %s", data)
		}
	}
	if changes < 100 {
		t.Errorf("the schema refuses only %d changes", changes)
	}
}

// mutations returns a document with each of its values replaced in turn, and with a key more in each mapping.
func mutations(doc any) (all []any) {
	others := []any{
		nil, true, false, -1.0, 0.5, 1e6, "", " ", "x y", "true", "7", "http://a.example/", []any{}, []any{nil},
		[]any{"a", "a"}, map[string]any{}, map[string]any{"q": 1.0},
	}
	all = append(all, others...)
	switch v := doc.(type) {
	case map[string]any:
		more := maps.Clone(v)
		more["qqqq"] = 1.0
		all = append(all, more)
		for key, value := range v {
			less := maps.Clone(v)
			delete(less, key)
			all = append(all, less)
			for _, changed := range mutations(value) {
				with := maps.Clone(v)
				with[key] = changed
				all = append(all, with)
			}
		}
	case []any:
		for i, value := range v {
			for _, changed := range mutations(value) {
				with := slices.Clone(v)
				with[i] = changed
				all = append(all, with)
			}
		}
	}
	return all
}
