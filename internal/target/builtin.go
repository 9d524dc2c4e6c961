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

// Parts are what targets are made of. Whoever opens models, flows and chatbots hands them in.
type Parts struct {
	// Model opens a model as the test wants it to be asked.
	Model func(m config.Model) (llm.Model, error)
	// Flow loads the flow of a target with the engine that plays it.
	Flow func(c config.Target) (*flow.Engine, *flow.Flow, error)
	// Definition loads the flow that is sent to a server.
	Definition func(c config.Flow) (*flow.Flow, error)
	// Site opens the chatbot of a place and returns it with the name of the site that is meant.
	Site func(c config.Site) (bot *sitebot.Bot, site string, err error)
	// Token returns the bearer token of an environment variable.
	Token func(variable string) (string, error)
	// Recorded stands for what is asked like a model: behind the recording, if there is one.
	Recorded func(name string, m llm.Model) llm.Model
	// Client sends requests.
	Client *http.Client
	// Retries and Timeout are those that the test asks for; nil and 0 leave them to the target.
	Retries *int
	Timeout time.Duration
}

// Kind is a kind of target.
type Kind struct {
	Name config.Kind
	open func(c config.Target, p Parts) (runner.Target, error)
}

// Kinds returns the table of what Open can open.
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
