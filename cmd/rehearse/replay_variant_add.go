package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// variantFlags is what can be said on the command line of replay variant add.
type variantFlags struct {
	replay.VariantDraft
	store  string
	params []string
}

func newReplayVariantAdd(env *Env) *cobra.Command {
	f := &variantFlags{}
	c := &cobra.Command{
		Use:   "add FILE…",
		Short: "Add variants and versions of prompts",
		Long: `Add variants and versions of prompts to a store, from files or by flags. All of it is checked before anything is written. What is there already
is left as it is, and what has changed is replaced, which is said.

A file (YAML or JSON) has {variants: [{id, experiment_id?, name?, config: {execution_strategy: prompt_template, prompt_config: {prompt_version_id},
flow_config: {flow_id, knowledge_bases?, memory?, limits?}, params?}}], prompt_versions: [{id, file_path, model_provider, model_name?,
config_defaults?}]}, or is one variant. The path of a prompt is one below the folder of prompts, which "rehearse replay run" names.

By flags, --prompt-file and --model make the version of the prompt in the same step.`,
		Example: `  rehearse replay variant add examples/replay/variants.yaml --store sqlite:history.db
  rehearse replay variant add --id short --flow ride_book --prompt-version short-3 --param temperature=0.2
  rehearse replay variant add --id short --flow ride_book --prompt-file short.md --model openai:gpt-5-mini`,
		RunE: func(c *cobra.Command, args []string) error {
			found, err := f.read(c, args)
			if err != nil {
				return err
			}
			return withHistory(c.Context(), env, f.store, func(h *storage.History) error {
				return putVariants(c.Context(), env, h, found)
			})
		},
	}
	f.register(c.Flags())
	underscored(c)
	return c
}

func (f *variantFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.store, "store", "", "where variants are kept: "+historyPlaces)
	flags.StringVar(&f.ID, "id", "", "id of the variant")
	flags.StringVar(&f.Name, "name", "", "name of the variant, for people")
	flags.StringVar(&f.ExperimentID, "experiment", "", "id of the experiment that the variant belongs to")
	flags.StringVar(&f.FlowID, "flow", "", "id of the flow")
	flags.StringVar(&f.Prompt, "prompt-version", "",
		"id of the version of the prompt (with --prompt-file: by default that of the variant)")
	flags.StringArrayVar(&f.params, "param", nil,
		"parameter of the model, NAME=VALUE, such as temperature=0.2; may be given several times")
	flags.StringVar(&f.PromptFile, "prompt-file", "",
		"make a version of the prompt: its file, below the folder of prompts")
	flags.StringVar(&f.Model, "model", "", "model of that version of the prompt: PROVIDER:MODEL")
}

// read takes the variants out of files, or makes one of flags.
func (f *variantFlags) read(c *cobra.Command, files []string) (*replay.VariantSet, error) {
	byFlags := false
	c.Flags().Visit(func(flag *pflag.Flag) { byFlags = byFlags || flag.Name != "store" })
	switch {
	case byFlags && len(files) > 0:
		return nil, usage("%s: write what the flags say into a file, or leave the files out", strings.Join(files, ", "))
	case !byFlags && len(files) == 0:
		return nil,
			usage("name a file of variants, or say one with --id, --flow and --prompt-version (see `%s --help`)",
				c.CommandPath())
	case !byFlags:
		found, err := replay.ReadVariants(files...)
		return found, outcome(err)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	found, err := f.Read()
	return found, outcome(err)
}

// check looks for flags that are missing, and reads the parameters.
func (f *variantFlags) check() (err error) {
	switch {
	case f.ID == "":
		return usage("--id is missing: give the variant an id")
	case f.FlowID == "":
		return usage("--flow is missing: name the flow that the variant runs")
	case f.PromptFile == "" && f.Model != "":
		return usage("--model belongs to a version of a prompt: name its file with --prompt-file")
	case f.PromptFile != "" && f.Model == "":
		return usage("--model is missing: name the model that answers to --prompt-file, as PROVIDER:MODEL")
	case f.PromptFile == "" && f.Prompt == "":
		return usage(
			"--prompt-version is missing: name one that is in the store, or make one with --prompt-file and --model")
	}
	f.Params, err = readParams(f.params)
	return err
}

// readParams reads parameters NAME=VALUE, whose values are JSON or else text.
func readParams(params []string) (map[string]any, error) {
	read := map[string]any{}
	for _, param := range params {
		name, text, ok := strings.Cut(param, "=")
		if !ok || name == "" {
			return nil, usage("--param %q is not NAME=VALUE, such as temperature=0.2", param)
		}
		if _, twice := read[name]; twice {
			return nil, usage("--param %s is given twice: keep one", name)
		}
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			value = text
		}
		read[name] = value
	}
	return read, nil
}

// putVariants writes the variants, and says what became of each.
func putVariants(ctx context.Context, env *Env, h *storage.History, found *replay.VariantSet) error {
	changes, err := found.Put(ctx, h.Variants)
	count := map[replay.ChangeKind]int{}
	for _, c := range changes {
		count[c.Kind]++
		fmt.Fprintln(env.Stdout, oneLine(c.String()))
	}
	if err == nil {
		_, err = fmt.Fprintf(env.Stdout, "%d added, %d replaced, %d unchanged\n", count[replay.Added],
			count[replay.Replaced], count[replay.Unchanged])
	}
	return err
}
