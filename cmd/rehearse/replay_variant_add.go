package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rehearse/internal/replay"
	"rehearse/internal/source"
	"rehearse/internal/store"
)

// variantFlags is what can be said on the command line of replay variant add.
type variantFlags struct {
	store                              string
	id, name, experiment, flow, prompt string
	promptFile, model                  string
	params                             []string
}

func newReplayVariantAdd(env *Env) *cobra.Command {
	f := &variantFlags{}
	c := &cobra.Command{
		Use:   "add FILE…",
		Short: "Add variants and versions of prompts",
		Long: `Add variants and versions of prompts to a store, from files or by flags. All of it is checked before anything is written. What is there already
is left as it is, and what has changed is replaced, which is said.

A file (YAML or JSON) has {variants: [{id, experiment_id?, name?, config: {execution_strategy: prompt_template, prompt_config: {prompt_version_id},
flow_config: {flow_id}, params?}}], prompt_versions: [{id, file_path, model_provider, model_name?, config_defaults?}]}, or is one variant. The path of
a prompt is one below the folder of prompts, which "rehearse replay run" names.

By flags, --prompt-file and --model make the version of the prompt in the same step.`,
		Example: `  rehearse replay variant add examples/replay/variants.yaml --store sqlite:history.db
  rehearse replay variant add --id short --flow ride_book --prompt-version short-3 --param temperature=0.2
  rehearse replay variant add --id short --flow ride_book --prompt-file short.md --model openai:gpt-5-mini`,
		RunE: func(c *cobra.Command, args []string) error {
			found, err := f.read(c, args)
			if err != nil {
				return err
			}
			return withVariants(c.Context(), f.store, func(v *store.Variants) error { return found.add(c.Context(), env, v) })
		},
	}
	f.register(c.Flags())
	underscored(c)
	return c
}

func (f *variantFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.store, "store", defaultHistory, "where variants are kept: sqlite:PATH or postgres://…")
	flags.StringVar(&f.id, "id", "", "id of the variant")
	flags.StringVar(&f.name, "name", "", "name of the variant, for people")
	flags.StringVar(&f.experiment, "experiment", "", "id of the experiment that the variant belongs to")
	flags.StringVar(&f.flow, "flow", "", "id of the flow")
	flags.StringVar(&f.prompt, "prompt-version", "", "id of the version of the prompt (with --prompt-file: by default that of the variant)")
	flags.StringArrayVar(&f.params, "param", nil, "parameter of the model, NAME=VALUE, such as temperature=0.2; may be given several times")
	flags.StringVar(&f.promptFile, "prompt-file", "", "make a version of the prompt: its file, below the folder of prompts")
	flags.StringVar(&f.model, "model", "", "model of that version of the prompt: PROVIDER:MODEL")
}

// read takes the variants out of files, or makes one of flags.
func (f *variantFlags) read(c *cobra.Command, files []string) (*variantDocuments, error) {
	byFlags := false
	c.Flags().Visit(func(flag *pflag.Flag) { byFlags = byFlags || flag.Name != "store" })
	switch {
	case byFlags && len(files) > 0:
		return nil, usage("%s: write what the flags say into a file, or leave the files out", strings.Join(files, ", "))
	case !byFlags && len(files) == 0:
		return nil, usage("name a file of variants, or say one with --id, --flow and --prompt-version (see `%s --help`)", c.CommandPath())
	}
	found := newVariantDocuments()
	if byFlags {
		if err := f.check(); err != nil {
			return nil, err
		}
		document, err := f.document()
		if err != nil {
			return nil, err
		}
		found.read("the command line", document)
	}
	for _, file := range files {
		found.load(file)
	}
	if err := found.problems.Err(); err != nil {
		return nil, outcome(source.AsInvalid(err))
	}
	return found, nil
}

// check looks for flags that are missing.
func (f *variantFlags) check() error {
	switch {
	case f.id == "":
		return usage("--id is missing: give the variant an id")
	case f.flow == "":
		return usage("--flow is missing: name the flow that the variant runs")
	case f.promptFile == "" && f.model != "":
		return usage("--model belongs to a version of a prompt: name its file with --prompt-file")
	case f.promptFile != "" && f.model == "":
		return usage("--model is missing: name the model that answers to --prompt-file, as PROVIDER:MODEL")
	case f.promptFile == "" && f.prompt == "":
		return usage("--prompt-version is missing: name one that is in the store, or make one with --prompt-file and --model")
	}
	return nil
}

// document is what the flags say, as a file would.
func (f *variantFlags) document() (source.Value, error) {
	params := map[string]any{}
	for _, param := range f.params {
		name, text, ok := strings.Cut(param, "=")
		if !ok || name == "" {
			return source.Value{}, usage("--param %q is not NAME=VALUE, such as temperature=0.2", param)
		}
		if _, twice := params[name]; twice {
			return source.Value{}, usage("--param %s is given twice: keep one", name)
		}
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			value = text
		}
		params[name] = value
	}
	prompt := cmp.Or(f.prompt, f.id)
	document := map[string]any{
		"variants": []any{map[string]any{
			"id": f.id, "name": f.name, "experiment_id": f.experiment,
			"config": map[string]any{
				"execution_strategy": replay.PromptTemplate, "prompt_config": map[string]any{"prompt_version_id": prompt},
				"flow_config": map[string]any{"flow_id": f.flow}, "params": params,
			},
		}},
	}
	if f.promptFile != "" {
		provider, model, _ := strings.Cut(f.model, ":")
		document["prompt_versions"] = []any{map[string]any{"id": prompt, "file_path": f.promptFile, "model_provider": provider, "model_name": model}}
	}
	return source.FromAny(document), nil
}

// add writes what has changed, prompts first, so that no variant names a prompt that is not there.
func (d *variantDocuments) add(ctx context.Context, env *Env, v *store.Variants) error {
	promptsBefore, variantsBefore, err := d.compare(ctx, v)
	if err != nil {
		return err
	}
	count := map[string]int{}
	tell := func(what, id, happened string) {
		kind, _, _ := strings.Cut(happened, ":")
		count[kind]++
		fmt.Fprintf(env.Stdout, "%s %s: %s\n", what, oneLine(id), happened)
	}
	for i, p := range d.prompts {
		happened := changedPrompt(promptsBefore[i], p)
		if happened != unchanged {
			if err := v.PutPrompt(ctx, p); err != nil {
				return fmt.Errorf("%w (what was written stays; run the command again to write the rest)", err)
			}
		}
		tell("prompt version", p.ID, happened)
	}
	for i, variant := range d.variants {
		happened := changedVariant(variantsBefore[i], variant)
		if happened != unchanged {
			if err := v.PutVariant(ctx, variant); err != nil {
				return fmt.Errorf("%w (what was written stays; run the command again to write the rest)", err)
			}
		}
		tell("variant", variant.ID, happened)
	}
	_, err = fmt.Fprintf(env.Stdout, "%d added, %d replaced, %d unchanged\n", count[added], count[replaced], count[unchanged])
	return err
}

// compare reads what the store has under the same ids, nil for nothing, and looks whether every prompt is known that a variant names.
func (d *variantDocuments) compare(ctx context.Context, v *store.Variants) (prompts []*replay.PromptVersion, variants []*replay.Variant, err error) {
	known := map[string]bool{}
	for _, p := range d.prompts {
		known[p.ID] = true
		before, err := v.Prompt(ctx, p.ID)
		prompt, err := orUnknown(before, err)
		if err != nil {
			return nil, nil, err
		}
		prompts = append(prompts, prompt)
	}
	for _, one := range d.variants {
		before, err := v.Variant(ctx, one.ID)
		variant, err := orUnknown(before, err)
		if err != nil {
			return nil, nil, err
		}
		variants = append(variants, variant)
		settings, err := one.Settings()
		if err != nil {
			return nil, nil, err
		}
		name := settings.PromptConfig.PromptVersionID
		if known[name] {
			continue
		}
		if _, err := v.Prompt(ctx, name); err != nil {
			return nil, nil, fmt.Errorf("variant %q: %w (nothing was written)", one.ID, err)
		}
		known[name] = true
	}
	return prompts, variants, nil
}

// orUnknown makes nil of what is not in the store.
func orUnknown[T any](found T, err error) (*T, error) {
	if errors.Is(err, replay.ErrUnknown) {
		return nil, nil
	}
	return &found, err
}

// What can happen to something that is added.
const (
	added     = "added"
	replaced  = "replaced"
	unchanged = "unchanged"
)

// changes is what happens when something takes the place of something else, of which these parts differ.
func changes(parts []string) string {
	if len(parts) == 0 {
		return unchanged
	}
	return replaced + ": another " + strings.Join(parts, ", ")
}

func changedPrompt(before *replay.PromptVersion, now replay.PromptVersion) string {
	if before == nil {
		return added
	}
	var parts []string
	for _, part := range []struct{ name, before, now string }{
		{"file_path", before.FilePath, now.FilePath}, {"model_provider", before.ModelProvider, now.ModelProvider}, {"model_name", before.ModelName, now.ModelName},
	} {
		if part.before != part.now {
			parts = append(parts, part.name)
		}
	}
	if !sameDocument(before.ConfigDefaults, now.ConfigDefaults) {
		parts = append(parts, "config_defaults")
	}
	return changes(parts)
}

func changedVariant(before *replay.Variant, now replay.Variant) string {
	if before == nil {
		return added
	}
	var parts []string
	if before.Name != now.Name {
		parts = append(parts, "name")
	}
	if before.ExperimentID != now.ExperimentID {
		parts = append(parts, "experiment_id")
	}
	if !sameDocument(before.Config, now.Config) {
		parts = append(parts, "config")
	}
	return changes(parts)
}

// sameDocument compares JSON, of which there may be none.
func sameDocument(a, b json.RawMessage) bool {
	return len(a) == 0 && len(b) == 0 || len(a) > 0 && len(b) > 0 && source.SameJSON(a, b)
}
