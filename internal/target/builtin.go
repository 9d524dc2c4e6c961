package target

import (
	"fmt"
	"net/http"
	"time"

	"rehearse/internal/config"
	"rehearse/internal/flow"
	"rehearse/internal/llm"
	"rehearse/internal/runner"
	"rehearse/internal/sitebot"
)

// Parts open what targets are made of. Package setup provides them.
type Parts struct {
	// Model opens a model with the settings that the test asks for.
	Model func(m config.Model) (llm.Model, error)
	// Flow loads the flow of a target and returns it with its engine.
	Flow func(c config.Target) (*flow.Engine, *flow.Flow, error)
	// Definition loads the flow that is sent to a server.
	Definition func(c config.Flow) (*flow.Flow, error)
	// Site opens a chatbot and returns it with the name of its site.
	Site func(c config.Site) (bot *sitebot.Bot, site string, err error)
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

// Kind is a kind of target.
type Kind struct {
	Name config.Kind
	open func(c config.Target, p Parts) (runner.Target, error)
}

// Kinds lists the kinds of target that Open can open.
func Kinds() []Kind {
	return []Kind{
		{config.ModelTarget, openModel},
		{config.FlowTarget, openFlow},
		{config.HTTPTarget, openExecute},
		{config.SiteTarget, openSitebot},
		{config.ClassifierTarget, openClassifier},
	}
}

// Open opens the target that a configuration describes.
func Open(c config.Target, p Parts) (runner.Target, error) {
	for _, kind := range Kinds() {
		if kind.Name == c.Kind {
			return kind.open(c, p)
		}
	}
	return nil, fmt.Errorf("unknown kind of target %q", c.Kind)
}
