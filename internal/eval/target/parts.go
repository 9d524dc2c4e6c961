package target

import (
	"context"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/model/mcp"
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
	// NoCommands refuses to start programs.
	NoCommands bool
	// Files say where on the disk programs find what a configuration names.
	Files source.Files
	// Site opens a chatbot and returns it with the name of its site.
	Site func(c SiteConfig) (bot *sitebot.Bot, site string, err error)
	// Answers opens a file of answers.
	Answers func(c AnswersConfig) (*Answers, error)
	// SiteDependencies returns what a chatbot may ask, without opening it.
	SiteDependencies func(ctx context.Context, c SiteConfig) (Dependencies, error)
	// Token returns the bearer token that an environment variable holds.
	Token func(variable string) (string, error)
	// Recorded wraps whatever is asked like a model in the recording, if there is one.
	Recorded func(name string, m llm.Model) llm.Model
	// Limited makes a model share limits with all others of its provider and address.
	Limited func(m llm.Model, c config.Model, at string) llm.Model
	// Environ returns the environment of a program: without secrets but those that its own configuration names.
	Environ func(configuration source.Value) []string
	// Closing keeps what is to be closed in the end.
	Closing func(func() error)
	// Tools returns the host of tools over MCP, which it starts on first use.
	Tools func() (*mcp.Host, error)
	// Playing is true while a recording is played: nothing is sent.
	Playing bool
	// Warn is told of what stops nothing; nil tells nobody.
	Warn func(sentence string)
	// Client sends requests.
	Client *http.Client
	// Retries and Timeout are the test's own; nil and 0 leave them to the target.
	Retries *int
	Timeout time.Duration
}

// limited returns what wraps an agent in its limits and the recording.
func (p Parts) limited(c config.Model, at string) func(name string, m llm.Model) llm.Model {
	return func(name string, m llm.Model) llm.Model {
		if p.Limited != nil {
			m = p.Limited(m, c, at)
		}
		return p.Recorded(name, m)
	}
}

// conversationID returns the id of the conversation or, where a recording is played, the recorded one: requests hold
// it.
func (p Parts) conversationID(ctx context.Context, id string) (string, error) {
	reply, err := p.Recorded("conversation", fixed(id)).Generate(ctx, llm.Request{Messages: []chat.Message{
		chat.NewMessage(chat.User, "id"),
	}})
	return reply.Text, err
}

// fixed is a model that always says the same.
type fixed string

// Generate returns the text.
func (f fixed) Generate(context.Context, llm.Request) (chat.Reply, error) {
	return chat.Reply{Text: string(f), Attempts: 1}, nil
}
