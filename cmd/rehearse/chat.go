package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rehearse/internal/marker"
	"rehearse/internal/setup"
	"rehearse/internal/sitebot"
)

func newChat(env *Env) *cobra.Command {
	var o setup.SitesOptions
	var name, language, configFile string
	var verbose, localPrompt bool
	c := &cobra.Command{
		Use:   "chat",
		Short: "Talk to a website's chatbot in the terminal",
		Long: `Talk to the chatbot of a website in the terminal, or send it the lines of standard input. The signals 👉 👇 💌 are left out, as a web page does.
/state shows what the chatbot remembers, /reset starts a new session, /quit ends.`,
		Example: `  rehearse chat --sites examples/sites --site kestrel-rota.example --model openai:gpt-5-mini
  printf 'hello\nwhat does it cost?\n' | rehearse chat --sites examples/sites --site kestrel-rota.example --model scripted:examples/sites/bot.yaml -v`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := env.open(setup.Options{Config: configFile, LocalPrompt: localPrompt})
			if err != nil {
				return outcome(err)
			}
			defer env.closed(s)
			if !o.InDatabase() {
				if s, err = s.At(setup.FolderOf(o.Dir)); err != nil {
					return outcome(err)
				}
			}
			opened, err := s.Sites(c.Context(), o)
			if err != nil {
				return outcome(err)
			}
			found, err := opened.Choose(name)
			if err != nil {
				return outcome(err)
			}
			talk := &siteChat{env: env, bot: opened.Bot, site: found, language: language, verbose: verbose}
			return talk.run(c.Context())
		},
	}
	c.AddCommand(newChatGraph(env))
	flags := c.Flags()
	flags.StringVar(&o.Dir, "sites", ".", "folder of websites' chatbots, or the file of one")
	flags.StringVar(&name, "site", "", "name of the site (default: the only one)")
	flags.StringVar(&o.Model, "model", "", "model that answers: PROVIDER:MODEL, or a name in rehearse.yaml (default: that of the site)")
	flags.StringVar(&o.Prompts, "prompts", "", "folder of prompts that the site names")
	flags.BoolVar(&localPrompt, "local-prompt", false, "prompts from files and built in only, not from Langfuse")
	flags.StringVar(&language, "language", "", "language of fixed messages (default: the site's)")
	flags.StringVar(&configFile, "config", "", "configuration file (default: the nearest rehearse.yaml at or above the sites)")
	flags.BoolVarP(&verbose, "verbose", "v", false, "show intent, route, skills and warnings")
	return c
}

func newChatGraph(env *Env) *cobra.Command {
	var format, out string
	c := &cobra.Command{
		Use:   "graph",
		Short: "Draw the graph that a turn of the chatbot runs",
		Long:  `Draw the graph that a turn of the chatbot runs, from the definition that runs it. What a rule chooses is a dashed line.`,
		Example: `  rehearse chat graph
  rehearse chat graph --format svg --out chatbot.svg`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			g, err := sitebot.Drawing()
			if err != nil {
				return outcome(err)
			}
			return drawGraph(env, g, format, out)
		},
	}
	c.Flags().StringVar(&format, "format", "mermaid", "mermaid or svg")
	c.Flags().StringVarP(&out, "out", "o", "", "file to write (default: standard output)")
	return c
}

// siteChat is one visitor in a terminal.
type siteChat struct {
	env            *Env
	bot            *sitebot.Bot
	site, language string
	session        string
	verbose        bool
}

func (c *siteChat) run(ctx context.Context) error {
	t := terminal{env: c.env, say: c.say, state: c.state, reset: c.reset}
	return t.run(ctx)
}

func (c *siteChat) reset() error {
	c.session = "terminal-" + rand.Text()
	return nil
}

// say has the chatbot answer one message; its conversation has no end of its own.
func (c *siteChat) say(ctx context.Context, text string) (over bool, err error) {
	var said, shown string
	o, err := c.bot.Turn(ctx, sitebot.Request{Site: c.site, Session: c.session, Input: text, Language: c.language}, func(e sitebot.Event) {
		said += e.Token
		visible := marker.Strip(said) // what is cut out never comes back, so what was shown stays
		fmt.Fprint(c.env.Stdout, visible[len(shown):])
		shown = visible
	})
	if err != nil {
		return false, outcome(err)
	}
	fmt.Fprintln(c.env.Stdout)
	c.tell(o.Metadata)
	return false, nil
}

// tell shows what a page would show around the answer and, when asked, how it came about.
func (c *siteChat) tell(m sitebot.Metadata) {
	for _, suggestion := range append(m.Answers, m.FollowUps...) {
		fmt.Fprintf(c.env.Stderr, "  [%s]\n", suggestion)
	}
	if c.verbose {
		var skills []string
		if m.Skills != nil {
			for _, k := range m.Skills.Applied {
				skills = append(skills, string(k))
			}
		}
		fmt.Fprintf(c.env.Stderr, "  (%s → %s %s; skills: %s)\n", m.Intent, m.Route, m.Action, strings.Join(skills, ", "))
	}
	for _, w := range m.Warnings {
		fmt.Fprintf(c.env.Stderr, "  (warning: %s)\n", w)
	}
}

func (c *siteChat) state(ctx context.Context) error {
	data, err := c.bot.State(ctx, c.site, c.session)
	if err != nil {
		return outcome(err)
	}
	return printJSON(c.env.Stderr, json.RawMessage(data))
}

// terminal holds a conversation with whoever writes lines on standard input, a person or a pipe.
type terminal struct {
	env *Env
	// say answers a message; over is true when the conversation has come to its end.
	say func(ctx context.Context, message string) (over bool, err error)
	// state shows what the agent remembers, reset begins anew.
	state func(ctx context.Context) error
	reset func() error
}

// maxLine bounds one message.
const maxLine = 64 << 10

func (t *terminal) run(ctx context.Context) error {
	if err := t.reset(); err != nil {
		return err
	}
	lines := bufio.NewScanner(t.env.Stdin)
	lines.Buffer(nil, maxLine)
	for t.prompt(); lines.Scan(); t.prompt() {
		over, err := t.line(ctx, strings.TrimSpace(lines.Text()))
		if err != nil || over {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return usage("a message is longer than %d KB", maxLine>>10)
	} else if err != nil {
		return outcome(err)
	}
	return nil
}

func (t *terminal) prompt() {
	if t.env.Interactive {
		fmt.Fprint(t.env.Stderr, "> ")
	}
}

// line carries out a command, or answers a message.
func (t *terminal) line(ctx context.Context, text string) (over bool, err error) {
	switch text {
	case "":
		return false, nil
	case "/quit", "/exit":
		return true, nil
	case "/reset":
		return false, t.reset()
	case "/state":
		return false, t.state(ctx)
	}
	return t.say(ctx, text)
}
