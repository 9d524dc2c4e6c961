package target

import (
	"context"
	"net/http"
	"time"

	"rehearse/internal/config"
	"rehearse/internal/flow"
	"rehearse/internal/llm"
	"rehearse/internal/sitebot"
)

// Parts open what targets are made of. Package setup provides them.
type Parts struct {
	// Model opens a model with the settings that the test asks for.
	Model func(m config.Model) (llm.Model, error)
	// Flow loads the flow of a target and returns it with its engine.
	Flow func(m config.Model, c FlowConfig) (*flow.Engine, *flow.Flow, error)
	// Definition loads the flow that is sent to a server.
	Definition func(c FlowConfig) (*flow.Flow, error)
	// Knowledge returns the folder of the knowledge bases that a flow has; empty for none.
	Knowledge func(c FlowConfig) string
	// Site opens a chatbot and returns it with the name of its site.
	Site func(c SiteConfig) (bot *sitebot.Bot, site string, err error)
	// SiteAsks returns what a chatbot may ask, without opening it.
	SiteAsks func(ctx context.Context, c SiteConfig) (Asks, error)
	// Token returns the bearer token that an environment variable holds.
	Token func(variable string) (string, error)
	// Recorded wraps whatever is asked like a model in the recording, if there is one.
	Recorded func(name string, m llm.Model) llm.Model
	// Client sends requests.
	Client *http.Client
	// Retries and Timeout are the test's own; nil and 0 leave them to the target.
	Retries *int
	Timeout time.Duration
}
