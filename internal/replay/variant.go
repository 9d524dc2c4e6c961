package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
)

// Variant is a flow with a prompt and a model, under a name.
type Variant struct {
	ID           string `json:"id" required:"id is missing" notblank:"true" doc:"an id"`
	ExperimentID string `json:"experiment_id,omitempty"`
	Name         string `json:"name,omitempty"`
	// Config is kept as it was given: a product's table holds variants that are not replayed, too. Settings reads it.
	Config json.RawMessage `json:"config"`
}

// PromptVersion is a prompt with the model that answers to it.
type PromptVersion struct {
	ID string `json:"id" required:"id is missing" notblank:"true" doc:"an id"`
	// FilePath is where the text stands, below the folder of prompts.
	FilePath      string `json:"file_path" required:"file_path is missing" doc:"a path below the folder of prompts"`
	ModelProvider string `json:"model_provider" required:"model_provider is missing" notblank:"true" doc:"a provider"`
	ModelName     string `json:"model_name"`
	// ConfigDefaults are parameters of the model, a JSON object; nil means none.
	ConfigDefaults json.RawMessage `json:"config_defaults,omitempty"`
}

// Model names the model as the configuration does: PROVIDER:MODEL, or the provider alone where it has no models.
func (p PromptVersion) Model() string {
	if p.ModelName == "" {
		return p.ModelProvider
	}
	return p.ModelProvider + ":" + p.ModelName
}

// Variants knows variants and prompts. Implementations are safe for concurrent use. What there is not is ErrUnknown.
type Variants interface {
	Variant(ctx context.Context, id string) (Variant, error)
	Prompt(ctx context.Context, id string) (PromptVersion, error)
}

// ErrUnknown says that a store has no such thing.
var ErrUnknown = errors.New("it is not in the store")

// unknownIsInvalid makes an ErrUnknown wrong input.
func unknownIsInvalid(err error) error {
	if errors.Is(err, ErrUnknown) {
		return source.AsInvalid(err)
	}
	return err
}

// PromptTemplate is the only execution strategy that can be replayed.
const PromptTemplate = "prompt_template"

// Settings is what a variant's configuration says.
type Settings struct {
	ExecutionStrategy string `json:"execution_strategy"`
	PromptConfig      struct {
		PromptVersionID string `json:"prompt_version_id"`
	} `json:"prompt_config"`
	FlowConfig FlowConfig `json:"flow_config"`
	// Params override the prompt's ConfigDefaults.
	Params map[string]json.RawMessage `json:"params"`
}

// FlowConfig names the flow of a variant. JSON is all of it: what it has about the turns of the flow overrides the
// configured target of the flow.
type FlowConfig struct {
	FlowID string
	JSON   json.RawMessage
}

// UnmarshalJSON reads the object and keeps all of it.
func (c *FlowConfig) UnmarshalJSON(data []byte) error {
	var named struct {
		FlowID string `json:"flow_id"`
	}
	if err := json.Unmarshal(data, &named); err != nil {
		return err
	}
	c.FlowID, c.JSON = named.FlowID, slices.Clone(data)
	return nil
}

// Settings reads the variant's configuration and checks that it can be replayed.
func (v Variant) Settings() (Settings, error) {
	var s Settings
	if err := json.Unmarshal(orNull(v.Config), &s); err != nil {
		return s, fmt.Errorf("variant %s: its config cannot be read: %w", v.ID, err)
	}
	switch {
	case s.ExecutionStrategy != PromptTemplate:
		return s, fmt.Errorf("variant %s: Variant must use prompt_template execution strategy, not %q",
			v.ID, s.ExecutionStrategy)
	case s.PromptConfig.PromptVersionID == "":
		return s, fmt.Errorf("variant %s: its config names no prompt_config.prompt_version_id", v.ID)
	case s.FlowConfig.FlowID == "":
		return s, fmt.Errorf("variant %s: its config names no flow_config.flow_id", v.ID)
	}
	if _, err := (target.FlowConfig{}).Over(s.FlowConfig.JSON); err != nil {
		return s, fmt.Errorf("variant %s: %w", v.ID, err)
	}
	return s, nil
}

// Parameters are the prompt's defaults, overridden by the variant's.
func (s Settings) Parameters(p PromptVersion) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(orNull(p.ConfigDefaults), &all); err != nil {
		return nil, fmt.Errorf("prompt version %s: its config_defaults are not a JSON object: %w", p.ID, err)
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, s.Params)
	return all, nil
}

// Description is a variant with everything that the store says of it, also when it cannot be replayed.
type Description struct {
	Variant Variant `json:"variant"`
	// Prompt is nil where the variant names none that is in the store.
	Prompt *PromptVersion `json:"prompt_version"`
	// Parameters are the prompt's defaults, overridden by the variant's.
	Parameters map[string]json.RawMessage `json:"parameters"`
	// Problem says why the variant cannot be replayed; empty when it can.
	Problem string `json:"problem,omitempty"`

	Settings Settings `json:"-"`
}

// Describe returns what the store says of the variant of that id.
func Describe(ctx context.Context, variants Variants, id string) (*Description, error) {
	variant, err := variants.Variant(ctx, id)
	if err != nil {
		return nil, unknownIsInvalid(err)
	}
	d := &Description{Variant: variant, Problem: variant.Problem()}
	d.Settings, _ = variant.Settings() // Problem says what is wrong with them
	prompt, err := variants.Prompt(ctx, d.Settings.PromptConfig.PromptVersionID)
	switch {
	case errors.Is(err, ErrUnknown):
		if d.Problem == "" {
			d.Problem = fmt.Sprintf("its prompt version %q is not in the store",
				d.Settings.PromptConfig.PromptVersionID)
		}
	case err != nil:
		return nil, err
	default:
		d.Prompt = &prompt
	}
	if d.Parameters, err = d.Settings.Parameters(prompt); err != nil {
		d.Problem = err.Error()
	}
	return d, nil
}

// Problem says why a variant cannot be replayed; empty when its configuration can.
func (v Variant) Problem() string {
	if _, err := v.Settings(); err != nil {
		return strings.TrimPrefix(err.Error(), "variant "+v.ID+": ")
	}
	return ""
}
