package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/chatsession"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/base/shell"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func newChat(env *Env) *cobra.Command {
	f := &chatFlags{}
	c := &cobra.Command{
		Use:   "chat",
		Short: "Talk to any agent in the terminal, and save the talk as a test",
		Long: `Talk to a target in the terminal, or send it the lines of standard input. /state shows what the agent remembers, /reset starts a new
conversation, /quit ends. A message that is not answered is said, and the talk goes on.

Without --target, the default target of rehearse.yaml answers. --sites talks to the chatbot of a website: its words come as they are found, and
the signals 👉 👇 💌 are left out, as a web page does.

--save adds the talk to a suite, which is made if it is missing, as a test with a turn for each message: the reply as expected_output, and
assertions for the tool calls and the node that were seen.

Exit codes: 0 all messages were answered, 2 wrong usage, 3 a message was not answered, 130 interrupted.`,
		Example: `  rehearse chat                                             the default target of rehearse.yaml
  rehearse chat --target openai:gpt-5-mini --system 'Be brief.'
  rehearse chat --target shop --save evals/shop.suite.yaml  the talk becomes a test
  rehearse chat --target-curl request.txt                   a curl line, pasted into a file
  printf 'hello\n' | rehearse chat --target scripted:examples/quickstart/agent.yaml
  rehearse chat --sites examples/sites --site kestrel-rota.example --model openai:gpt-5-mini
  printf 'hello\nwhat does it cost?\n' | rehearse chat --sites examples/sites --site kestrel-rota.example --model scripted:examples/sites/bot.yaml -v`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c, env) },
	}
	c.AddCommand(newChatGraph(env))
	flags := c.Flags()
	flags.StringVarP(&f.target, "target", "t", "", "the target: a name in rehearse.yaml, "+
		"or a short form such as openai:gpt-5-mini (default: that of rehearse.yaml)")
	flags.StringVar(&f.targetCurl, "target-curl", "",
		"file with a pasted curl line as target; - reads it from standard input, which then has no messages")
	flags.StringVar(&f.system, "system", "", "system message before the conversation")
	flags.StringVar(&f.save, "save", "", "suite to which the talk is added as a test when it ends")
	flags.BoolVar(&f.inputsOnly, "no-expected", false, "save the messages only, not the replies")
	flags.StringVar(&f.sites.Dir, "sites", ".", "folder of websites' chatbots, or the file of one")
	flags.StringVar(&f.site, "site", "", "name of the site (default: the only one)")
	flags.StringVar(&f.sites.Model, "model", "",
		"model that answers for a chatbot or a flow: PROVIDER:MODEL, or a name in rehearse.yaml (default: its own)")
	flags.StringVar(&f.sites.Prompts, "prompts", "", "folder of prompts that the site names")
	flags.BoolVar(&f.localPrompt, "local-prompt", false, "prompts from files and built in only, not from Langfuse")
	flags.StringVar(&f.language, "language", "", "language of a site's fixed messages (default: the site's)")
	flags.StringVar(&f.config, "config", "",
		"configuration file (default: the nearest rehearse.yaml at or above the sites or this folder)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false,
		"show node, tool calls, time and tokens of a reply; of a site intent, route, skills and warnings")
	c.MarkFlagsMutuallyExclusive("target", "target-curl", "sites")
	c.MarkFlagsMutuallyExclusive("target-curl", "site")
	c.MarkFlagsMutuallyExclusive("target", "site")
	c.MarkFlagsMutuallyExclusive("system", "sites")
	c.MarkFlagsMutuallyExclusive("system", "site")
	return c
}

type chatFlags struct {
	target, targetCurl, system, save string
	site, language, config           string
	sites                            chatbot.Options
	inputsOnly, localPrompt, verbose bool
}

func (f *chatFlags) run(c *cobra.Command, env *Env) error {
	pasted, err := env.curlTarget("--target-curl", f.targetCurl, true)
	if err != nil {
		return err
	}
	if pasted != nil {
		f.target = wire.CurlTarget
	}
	s, err := env.open(wire.Options{
		Config: f.config, LocalPrompt: f.localPrompt, Model: f.sites.Model, Targets: pasted,
	})
	if err != nil {
		return outcome(err)
	}
	defer env.closed(s)
	here, err := s.At(".")
	if err != nil {
		return outcome(err)
	}
	given := c.Flags().Changed
	if f.target == "" && !given("sites") && !given("site") {
		f.target = here.Config().Target
	}
	if f.target != "" {
		return f.toTarget(c.Context(), env, here)
	}
	return f.toSite(c.Context(), env, s)
}

// converse holds the conversation of a terminal until it ends or a signal comes.
func converse(ctx context.Context, env *Env, t chatsession.Terminal) error {
	t.In = env.Stdin
	if env.Interactive {
		t.Prompt = env.Stderr
	}
	ctx, release := untilSignal(ctx, env)
	defer release()
	err := t.Run(ctx)
	if errors.Is(err, context.Canceled) {
		return &exitError{code: result.ExitInterrupted}
	}
	return err
}

// toTarget talks to a target.
func (f *chatFlags) toTarget(ctx context.Context, env *Env, s *wire.Setup) error {
	opened, err := s.Target(f.target, suite.Execution{})
	if err != nil {
		return outcome(err)
	}
	t := &targetChat{env: env, talk: chatsession.New(opened, f.system), verbose: f.verbose}
	err = converse(ctx, env, chatsession.Terminal{Send: t.say, State: t.state, Reset: t.reset})
	if closed := t.talk.Close(); closed != nil {
		fmt.Fprintln(env.Stderr, "rehearse: the conversation could not be closed: "+closed.Error())
	}
	return f.end(env, s, err, t.talk.Turns(), t.failed)
}

// end saves the talk, however it has ended, and says so.
func (f *chatFlags) end(env *Env, s *wire.Setup, err error, turns []chatsession.Turn, failed int) error {
	if failed > 0 && err == nil {
		err = &exitError{code: result.ExitNotRun}
	}
	saved := f.saved(env, s, turns)
	switch {
	case err == nil:
		return outcome(saved)
	case saved != nil:
		fmt.Fprintln(env.Stderr, "rehearse: "+saved.Error())
	}
	return outcome(err)
}

// saved keeps the talk as a test, where that is wanted.
func (f *chatFlags) saved(env *Env, s *wire.Setup, turns []chatsession.Turn) error {
	if f.save == "" {
		return nil
	}
	id, err := chatsession.Save(f.system, turns, chatsession.Saving{
		File: f.save, Now: env.Now(), InputsOnly: f.inputsOnly, Options: s.Suites(), Mask: s.Secrets().Text,
	})
	if err == nil {
		fmt.Fprintf(env.Stderr, "saved as test %s; run it with\n  rehearse run %s --filter %s\n", id,
			shell.Quote(f.save), id)
		if !f.inputsOnly {
			fmt.Fprintln(env.Stderr, "replies must have similar words (type: similar, method: lexical); "+
				"for a judge, write them as expected_output: instead")
		}
	}
	return err
}

// targetChat is a conversation with a target in a terminal.
type targetChat struct {
	env     *Env
	talk    *chatsession.Session
	verbose bool
	// failed counts messages that were not answered.
	failed int
}

func (c *targetChat) reset(ctx context.Context) error {
	if err := c.talk.Reset(ctx); err != nil {
		return err
	}
	for _, m := range c.talk.Greeting() {
		fmt.Fprintln(c.env.Stdout, m.Content.String())
	}
	return nil
}

func (c *targetChat) say(ctx context.Context, message string) (over bool, err error) {
	reply, err := c.talk.Send(ctx, message)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		c.failed++
		fmt.Fprintf(c.env.Stderr, "  (not answered: %v)\n", err)
		return false, nil
	}
	fmt.Fprintln(c.env.Stdout, reply.Text)
	if c.verbose {
		fmt.Fprintf(c.env.Stderr, "  (%s)\n", chatsession.Details(reply))
	}
	if reply.Ended {
		fmt.Fprintln(c.env.Stderr, "  (the agent has ended the conversation)")
	}
	return reply.Ended, nil
}

// state shows what is known of the agent's state, from its last reply.
func (c *targetChat) state(context.Context) error { return printJSON(c.env.Stderr, c.talk.State()) }
