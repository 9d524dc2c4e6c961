package classify

import (
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/spec/label"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// request are the items as tests, and the targets that they name.
type request struct {
	suite  *suite.Suite
	makers map[string]wire.Maker
	// targets are the names of the targets by the items' ids.
	targets map[string]string
	// labels are the labels of the items and of the examples.
	labels []string
}

// tests makes a test of each item: its message after its history, with its labels as the assertion.
func (c *Config) tests() (*request, error) {
	examples, err := c.examples()
	if err != nil {
		return nil, err
	}
	a := &request{
		makers: map[string]wire.Maker{}, targets: map[string]string{}, labels: slices.Sorted(maps.Keys(examples)),
	}
	var known *source.Value // what a reply in words may say
	if c.Classifier != nil && c.Classifier.target != nil && len(c.Classifier.places) == 0 {
		known = new(listOf(a.labels))
	}
	tests := make([]*suite.Test, 0, len(c.Set.Items))
	for i := range c.Set.Items {
		item := &c.Set.Items[i]
		name, err := c.targetOf(item, examples, a.makers)
		if err != nil {
			return nil, err
		}
		a.targets[item.ID] = name
		tests = append(tests, &suite.Test{
			Suite: c.Dataset, ID: item.ID, At: suite.LocationOfRow(c.Set.File, item.Line), Aggregation: suite.Mean,
			Input: item.History, Metadata: item.Metadata, Turns: []suite.Turn{{
				Input: chat.Content{Text: item.Message}, Assertions: []suite.Assertion{c.expects(item, known)},
			}},
			Execution: suite.Execution{Targets: []string{name}},
		})
	}
	a.suite = suite.Of(c.Dataset, c.Set.File, tests)
	return a, nil
}

// expects is the assertion that a reply has the item's labels.
func (c *Config) expects(item *dataset.Item, known *source.Value) suite.Assertion {
	value := listOf(item.Labels)
	if !c.Set.Several {
		value = source.Text(item.Labels[0])
	}
	fields := []source.Field{{Name: "type", Value: source.Text("label")}, {Name: "value", Value: value}}
	if known != nil {
		fields = append(fields, source.Field{Name: "labels", Value: *known})
	}
	node := (&source.Reader{File: c.Set.File}).Node(source.Value{
		Kind: source.Map, Line: item.Line, Fields: fields,
	}, item.ID)
	return suite.Assertion{Type: "label", Weight: 1, Threshold: -1, Params: node}
}

func listOf(texts []string) source.Value {
	list := source.Value{Kind: source.List}
	for _, t := range texts {
		list.Items = append(list.Items, source.Text(t))
	}
	return list
}

// examples returns the labels of the items and of the examples, and the messages of the examples by label.
func (c *Config) examples() (map[string][]string, error) {
	said := map[string][]string{}
	for i := range c.Set.Items {
		for _, label := range c.Set.Items[i].Labels {
			said[label] = nil
		}
	}
	if c.Classifier == nil || c.Classifier.request.Examples == "" {
		return said, nil
	}
	learnt, err := dataset.Load(c.Classifier.request.Examples)
	if err != nil {
		return nil, source.AsInvalid(err)
	}
	for i := range learnt.Items {
		for _, label := range learnt.Items[i].Labels {
			said[label] = append(said[label], learnt.Items[i].Message)
		}
	}
	return said, nil
}

// targetOf returns the name of the target that classifies an item. It adds the target if it is missing.
func (c *Config) targetOf(item *dataset.Item, examples map[string][]string,
	makers map[string]wire.Maker) (string, error) {
	name, made := c.Title(), wire.Maker(nil)
	switch k := c.Classifier; {
	case k == nil:
		made = func(target.Parts) (runner.Target, error) { return predicted(c.Predictions), nil }
	case k.model != nil:
		made = func(p target.Parts) (runner.Target, error) {
			return target.OpenChoice(*k.model, target.Choice{Examples: examples, Several: c.Set.Several}, p)
		}
	default:
		t := *k.target
		if len(k.places) > 0 {
			place, err := k.siteOf(item)
			if err != nil {
				return "", err
			}
			t = target.OnSite(t, place)
			name = siteTarget(t)
		}
		made = func(p target.Parts) (runner.Target, error) {
			opened, err := target.Open(t, p)
			return target.UnlessBlank(opened), err
		}
	}
	if makers[name] == nil {
		makers[name] = made
	}
	return name, nil
}

// siteTarget is the name of the target for a chatbot, or one of its nodes, on a site.
func siteTarget(t config.Target) string {
	place, _ := target.SiteOf(t)
	if node, ok := t.Options.(target.ClassifierConfig); ok {
		return node.Node + ":" + place.Name
	}
	return t.Kind + ":" + place.Name
}

// predicted is the target that answers with the predictions of a file.
func predicted(all []label.Prediction) runner.Target {
	known := make(map[string]target.Classification, len(all))
	for i := range all {
		p := &all[i]
		found := target.Classification{Labels: p.Labels, Confidence: p.Confidence}
		if p.Null {
			found.Labels = nil
		} else if p.Labels == nil {
			found.Labels = []string{}
		}
		known[p.ID] = found
	}
	return target.Predictions(known)
}

// writePredictions writes the predictions that were made in the form that dataset.LoadPredictions reads. If several is
// true, each prediction is a list.
func writePredictions(w io.Writer, predictions []label.Prediction, several bool) error {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for i := range predictions {
		p := &predictions[i]
		line := struct {
			ID         string   `json:"id"`
			Output     any      `json:"output"`
			Confidence *float64 `json:"confidence,omitempty"`
		}{ID: p.ID, Confidence: p.Confidence}
		switch {
		case p.ID == "": // not made
			continue
		case p.Null:
		case several:
			line.Output = p.Labels
		default:
			line.Output = p.Labels[0]
		}
		if err := lines.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
