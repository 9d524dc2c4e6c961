package classify

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/report/classification"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Request is what somebody asks to be classified. Names in errors are those of flags. Check it before anything else.
type Request struct {
	Selection
	// Name is a classifier of the chatbot, or a file or dataset of items. Items are other items than the dataset of a
	// classifier's name.
	Name, Items string
	// Predictions is a file of predictions; empty means that they are made here. Write is a file for those.
	Predictions, Write string
	// Config is the configuration file; empty means the nearest.
	Config string
	// Labels is union or true, Rows how many classes and confusions are shown at most, 0 for all.
	Labels string
	Rows   int
	// Least is what each metric has to reach. What is Given counts for any kind of items, and goes before the
	// configuration.
	Least Thresholds
	Given []string
	// Spec says how items are asked about, Out is the folder of the results, Resume names a run to go on with.
	Spec        runspec.Spec
	Out, Resume string
	// Command and Version are kept with the results.
	Command []string
	Version string
}

// Thresholds are the least values of metrics.
type Thresholds struct{ MacroF1, MinClassF1, Recall, Accuracy float64 }

// named is a threshold with its flag.
type named struct {
	flag  string
	value *float64
}

func (t *Thresholds) named() []named {
	return []named{
		{"macro-f1", &t.MacroF1},
		{"min-class-f1", &t.MinClassF1},
		{"recall", &t.Recall},
		{"accuracy", &t.Accuracy},
	}
}

// Check refuses what cannot be meant. A classifier of the chatbot as the name becomes the target, unless the
// predictions come from elsewhere.
func (r *Request) Check() error {
	if r.classifier() && r.Predictions == "" && r.Target == "" {
		r.Target = r.Name
	}
	if err := r.checkSources(); err != nil {
		return err
	}
	switch {
	case r.Labels != "union" && r.Labels != "true":
		return source.Invalid("unknown --labels %q: use union or true", r.Labels)
	case r.Rows < 0:
		return source.Invalid("--classes cannot be negative; 0 shows all")
	case r.Spec.Limits.Workers < 1 || r.Spec.Limits.Workers > 10_000:
		return source.Invalid("--workers %d is out of range: use 1 to 10000", r.Spec.Limits.Workers)
	case strings.HasSuffix(r.Write, ".gz") || r.Write != "" && !strings.HasSuffix(r.Write, ".jsonl"):
		return source.Invalid("--write-predictions writes JSON lines: name a file that ends in .jsonl")
	case r.Resume != "" && r.Out != "":
		return source.Invalid("--resume goes on in the folder of the run: leave out --out")
	}
	for _, least := range r.Least.named() {
		if !(*least.value >= 0 && *least.value <= 1) { // also what is no number
			return source.Invalid("--%s %g is out of range: use a number between 0 and 1", least.flag, *least.value)
		}
	}
	return nil
}

// classifier reports whether the name is that of a classifier of the chatbot.
func (r *Request) classifier() bool {
	return slices.Contains([]string{IntentClassifier, SkillSelector}, r.Name)
}

// checkSources refuses predictions from several places, or from none.
func (r *Request) checkSources() error {
	made := cmp.Or(r.Target, r.Model)
	switch {
	case r.Predictions != "" && made != "":
		return source.Invalid("--predictions and --target or --model exclude each other: give one of them")
	case !r.classifier() && r.Predictions == "" && made == "":
		return source.Invalid(
			"say where the predictions come from: --predictions FILE, --target NAME, or --model PROVIDER:MODEL")
	case !r.classifier() && r.Items != "":
		return source.Invalid("--items is for a classifier of the chatbot: %s names the items already", r.Name)
	case r.Predictions != "" && cmp.Or(r.Examples, r.Write) != "":
		return source.Invalid(
			"--examples and --write-predictions are for classifying here: they have no effect with --predictions")
	case r.Predictions != "" && (cmp.Or(r.Sites, r.Site, r.Prompts) != "" || r.LocalPrompt):
		return source.Invalid("--sites, --site, --prompts and --local-prompt are for classifying here: " +
			"they have no effect with --predictions")
	}
	return nil
}

// Configured returns the setup with the configuration of the request: --config, else the nearest at or above the items,
// else that of the sites. Its thresholds count where none is given.
func (r *Request) Configured(s *wire.Setup) (*wire.Setup, error) {
	around := "."
	if items := cmp.Or(r.Items, r.Name); dataset.IsFile(items) {
		around = filepath.Dir(items)
	}
	s, err := s.At(around)
	if err == nil && s.Config().Path == "" && r.Sites != "" {
		s, err = s.At(source.Files{}.FolderOf(r.Sites))
	}
	if err != nil {
		return nil, err
	}
	c := s.Config()
	configured := Thresholds{
		MacroF1: c.Least().MacroF1, MinClassF1: c.Least().MinClassF1, Recall: c.Least().SkillRecall,
		Accuracy: r.Least.Accuracy,
	}
	for i, least := range r.Least.named() {
		if !slices.Contains(r.Given, least.flag) {
			*least.value = *configured.named()[i].value
		}
	}
	return s, nil
}

// Dataset returns the items of a dataset, and its name as it was understood.
type Dataset func(ctx context.Context, name string) ([]dataset.Record, dataset.Name, error)

// Read reads the items and, side by side, their predictions if they are in a file. remote is true of items of Langfuse.
func (r *Request) Read(ctx context.Context, s *wire.Setup, from Dataset) (c Config, remote bool, err error) {
	c = Config{
		Setup: s, From: r.Predictions, View: r.view(), Spec: r.Spec, Out: r.Out, Command: r.Command, Version: r.Version,
	}
	if r.Predictions == "" {
		if c.Classifier, err = Choose(s, r.Selection); err != nil {
			return c, false, err
		}
	}
	if r.Resume != "" {
		c.Resume = true
		if c.Out, err = runNamed(ctx, s, r.Resume); err != nil {
			return c, false, err
		}
	}
	var loaded dataset.Predictions
	var reading errgroup.Group
	if r.Predictions != "" {
		reading.Go(func() (err error) {
			loaded, err = dataset.LoadPredictions(r.Predictions)
			return err
		})
	}
	c.Set, c.Dataset, remote, err = itemsOf(ctx, cmp.Or(r.Items, r.Name), from)
	// What is wrong with the items is told first, however the two happen to end.
	if second := reading.Wait(); err == nil {
		err = second
	}
	if err != nil {
		return c, false, source.AsInvalid(err)
	}
	// it answers with a list, whatever the items expect
	if r.Name == SkillSelector || c.Classifier != nil && c.Classifier.Lists() {
		c.Set.Several = true
	}
	if r.Predictions != "" {
		c.Predictions, err = loaded.For(c.Set)
	}
	return c, remote, source.AsInvalid(err)
}

// runNamed returns the folder of a run that the store of the configuration for this folder knows.
func runNamed(ctx context.Context, s *wire.Setup, name string) (string, error) {
	here, err := s.At(".")
	if err != nil {
		return "", err
	}
	return evaluation.FindRun(ctx, here, name)
}

// itemsOf loads the items from a file, or from a dataset of that name.
func itemsOf(ctx context.Context, name string, from Dataset) (set dataset.Set, title string, remote bool, err error) {
	if dataset.IsFile(name) {
		base, _, _ := strings.Cut(filepath.Base(name), ".")
		set, err = dataset.Load(name)
		return set, base, false, err
	}
	records, found, err := from(ctx, name)
	if err == nil {
		set, err = dataset.FromRecords(found.String(), records)
	}
	return set, found.Title(), found.Kind == dataset.InLangfuse, err
}

// view says what decides, and how much is shown.
func (r *Request) view() classification.Options {
	least := func(flag string, value float64) classification.Least {
		return classification.Least{Value: value, Always: slices.Contains(r.Given, flag)}
	}
	return classification.Options{
		TrueLabels: r.Labels == "true", Rows: r.Rows,
		Thresholds: classification.Thresholds{
			MacroF1: least("macro-f1", r.Least.MacroF1), MinClassF1: least("min-class-f1", r.Least.MinClassF1),
			Recall: least("recall", r.Least.Recall), Accuracy: least("accuracy", r.Least.Accuracy),
		},
	}
}
