package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// RunVariants runs every conformance test on the variants that open returns, of which there are none yet. They end with
// the test.
func RunVariants(t *testing.T, open func(t *testing.T) *store.Variants) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, *store.Variants)
	}{
		{"what is not there is unknown", variantsUnknown},
		{"a variant comes back as it was put", variantsSame},
		{"the last one with an id counts", variantsReplaced},
		{"lists are in byte order", variantsOrdered},
		{"what cannot be kept is an error that names it", variantsRefused},
		{"many put the same at once", variantsAtOnce},
		{"a cancelled context ends a call", variantsCancelled},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open(t)) })
	}
}

func variantsUnknown(t *testing.T, v *store.Variants) {
	for _, id := range []string{
		"", "v1", "V1", "' OR ''='", "\xff", "00000000-0000-0000-0000-000000000000", strings.Repeat("long", 1000),
	} {
		_, err := v.Variant(t.Context(), id)
		wantUnknown(t, err, "variant", id)
		_, err = v.Prompt(t.Context(), id)
		wantUnknown(t, err, "prompt version", id)
	}
	variants, err := v.List(t.Context())
	prompts, err2 := v.Prompts(t.Context())
	if len(variants) != 0 || len(prompts) != 0 || err != nil || err2 != nil {
		t.Errorf("%v, %v, %v, %v", variants, err, prompts, err2)
	}
}

// wantUnknown wants an error that says what, where, and what to do, and is not long.
func wantUnknown(t *testing.T, err error, what, id string) {
	t.Helper()
	if !errors.Is(err, replay.ErrUnknown) || !strings.Contains(err.Error(), what) ||
		!strings.Contains(err.Error(), "; ") || len(err.Error()) > 1000 {
		t.Errorf("%s %.20q: %v", what, id, err)
	}
}

var (
	sampleVariant = replay.Variant{
		ID: "v1", ExperimentID: "e1", Name: "Shorter questions",
		Config: json.RawMessage(`{"execution_strategy":"prompt_template","prompt_config":{"prompt_version_id":"p1"},"flow_config":{"flow_id":"f"},"params":{"temperature":0.10}}`),
	}
	samplePrompt = replay.PromptVersion{
		ID: "p1", FilePath: "booking/short.md", ModelProvider: "openai", ModelName: "gpt-5-mini",
		ConfigDefaults: json.RawMessage(`{"temperature":1}`),
	}
)

func variantsSame(t *testing.T, v *store.Variants) {
	odd := "'\"\\ %s $1 日本語 😀\n"
	for _, one := range []replay.Variant{
		sampleVariant,
		{ID: "bare"},
		{ID: odd, Name: odd, ExperimentID: odd, Config: json.RawMessage(`{"a":{"b":[1.50,1e300,null,"\u00e9"]}}`)},
		{
			ID:     strings.Repeat("é", replay.MaxName/2),
			Config: json.RawMessage(`{"text":"` + strings.Repeat("x", 1<<20-20) + `"}`),
		},
	} {
		if err := v.PutVariant(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		wantVariant(t, v, one.ID, one)
	}
	for _, one := range []replay.PromptVersion{
		samplePrompt,
		{ID: "bare"},
		{ID: odd, FilePath: odd, ModelProvider: odd, ModelName: odd, ConfigDefaults: json.RawMessage(`{}`)},
	} {
		if err := v.PutPrompt(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		wantPrompt(t, v, one.ID, one)
	}
	nul := replay.Variant{ID: "a\x00\xff", Name: "\x00", Config: json.RawMessage(`{"a":"\u0000"}`)}
	if err := v.PutVariant(t.Context(), nul); err != nil {
		t.Fatal(err)
	}
	wantVariant(t, v, nul.ID, replay.Variant{
		ID: "a\uFFFD\uFFFD", Name: "\uFFFD", Config: json.RawMessage(`{"a":"\ufffd"}`),
	})
	null := replay.Variant{ID: "null", Config: json.RawMessage(` null `)}
	if err := v.PutVariant(t.Context(), null); err != nil {
		t.Fatal(err)
	}
	wantVariant(t, v, null.ID, replay.Variant{ID: "null"})
}

func wantVariant(t *testing.T, v *store.Variants, id string, want replay.Variant) {
	t.Helper()
	got, err := v.Variant(t.Context(), id)
	if diff := cmp.Diff(want, got, sameJSON); diff != "" || err != nil {
		t.Errorf("Variant(%.40q): %v, -want +got:\n%.2000s", id, err, diff)
	}
}

func wantPrompt(t *testing.T, v *store.Variants, id string, want replay.PromptVersion) {
	t.Helper()
	got, err := v.Prompt(t.Context(), id)
	if diff := cmp.Diff(want, got, sameJSON); diff != "" || err != nil {
		t.Errorf("Prompt(%q): %v, -want +got:\n%s", id, err, diff)
	}
}

func variantsReplaced(t *testing.T, v *store.Variants) {
	variant, prompt := sampleVariant, samplePrompt
	for range 2 {
		if err := errors.Join(v.PutVariant(t.Context(), variant), v.PutPrompt(t.Context(), prompt)); err != nil {
			t.Fatal(err)
		}
		wantVariant(t, v, "v1", variant)
		wantPrompt(t, v, "p1", prompt)
		variant = replay.Variant{ID: "v1", Name: "Longer", Config: json.RawMessage(`{"b":2}`)}
		prompt = replay.PromptVersion{ID: "p1", FilePath: "b.md"}
	}
	variants, _ := v.List(t.Context())
	prompts, _ := v.Prompts(t.Context())
	if len(variants) != 1 || len(prompts) != 1 {
		t.Errorf("%d variants and %d prompts, want one each", len(variants), len(prompts))
	}
}

func variantsOrdered(t *testing.T, v *store.Variants) {
	ids := []string{" ", "A", "B", "a", "a-b", "a10", "a2", "ab", "é", "\uFF5E", "😀"}
	for i := range ids {
		id := ids[(i*7)%len(ids)]
		if err := errors.Join(v.PutVariant(t.Context(), replay.Variant{ID: id}),
			v.PutPrompt(t.Context(), replay.PromptVersion{ID: id})); err != nil {
			t.Fatal(err)
		}
	}
	variants, err := v.List(t.Context())
	prompts, err2 := v.Prompts(t.Context())
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	var gotVariants, gotPrompts []string
	for i := range variants {
		gotVariants, gotPrompts = append(gotVariants, variants[i].ID), append(gotPrompts, prompts[i].ID)
	}
	if diff := cmp.Diff(ids, gotVariants) + cmp.Diff(ids, gotPrompts); diff != "" {
		t.Error(diff)
	}
}

func variantsRefused(t *testing.T, v *store.Variants) {
	long := strings.Repeat("x", replay.MaxName+1)
	for _, tc := range []struct {
		variant replay.Variant
		want    string
	}{
		{replay.Variant{}, "it has no id: give it one"},
		{replay.Variant{ID: long}, "its id has 513 bytes, and at most 512 can be kept"},
		{replay.Variant{ID: "v", ExperimentID: long}, `variant "v": its experiment_id has 513 bytes`},
		{replay.Variant{ID: "v", Name: long}, "its name has"},
		{replay.Variant{ID: "v", Config: json.RawMessage(`{"a":`)}, "its config is no JSON object: correct it"},
		{replay.Variant{ID: "v", Config: json.RawMessage(`[1]`)}, "its config is no JSON object"},
		{replay.Variant{ID: "v", Config: json.RawMessage(`"{}"`)}, "its config is no JSON object"},
		{
			replay.Variant{ID: "v", Config: json.RawMessage(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)},
			"at most 1048576 can be kept: shorten it",
		},
	} {
		if err := v.PutVariant(t.Context(), tc.variant); err == nil || !strings.Contains(err.Error(), tc.want) ||
			len(err.Error()) > 1000 {
			t.Errorf("PutVariant: %v, want %s", err, tc.want)
		}
	}
	for _, tc := range []struct {
		prompt replay.PromptVersion
		want   string
	}{
		{replay.PromptVersion{FilePath: "a.md"}, "it has no id"},
		{
			replay.PromptVersion{ID: "p", FilePath: strings.Repeat("x", 5000)},
			`prompt version "p": its file_path has 5000 bytes`,
		},
		{replay.PromptVersion{ID: "p", ModelProvider: long}, "its model_provider has"},
		{replay.PromptVersion{ID: "p", ModelName: long}, "its model_name has"},
		{replay.PromptVersion{ID: "p", ConfigDefaults: json.RawMessage(`7`)}, "its config_defaults is no JSON object"},
	} {
		if err := v.PutPrompt(t.Context(), tc.prompt); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("PutPrompt: %v, want %s", err, tc.want)
		}
	}
	if all, err := v.List(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("%d variants were kept, %v", len(all), err)
	}
}

func variantsAtOnce(t *testing.T, v *store.Variants) {
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				id := fmt.Sprint("v", i)
				err := errors.Join(
					v.PutVariant(t.Context(), replay.Variant{ID: id, Name: fmt.Sprint(w)}),
					v.PutPrompt(t.Context(), replay.PromptVersion{ID: id, ModelName: fmt.Sprint(w)}))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	variants, _ := v.List(t.Context())
	prompts, _ := v.Prompts(t.Context())
	if len(variants) != 20 || len(prompts) != 20 {
		t.Errorf("%d variants and %d prompts, want 20 each", len(variants), len(prompts))
	}
}

func variantsCancelled(t *testing.T, v *store.Variants) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, one := v.Variant(ctx, "v1")
	_, two := v.Prompt(ctx, "p1")
	_, three := v.List(ctx)
	_, four := v.Prompts(ctx)
	for _, err := range []error{
		one, two, three, four, v.PutVariant(ctx, sampleVariant), v.PutPrompt(ctx, samplePrompt),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want %v", err, context.Canceled)
		}
	}
}
