package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/marker"
	"github.com/rehearse-dev/rehearse/internal/app/chatsession"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// toSite talks to the chatbot of a website.
func (f *chatFlags) toSite(ctx context.Context, env *Env, s *wire.Setup) (err error) {
	if !f.sites.InDatabase() {
		if s, err = s.At(source.Files{}.FolderOf(f.sites.Dir)); err != nil {
			return outcome(err)
		}
	}
	opened, err := s.Sites(ctx, f.sites)
	if err != nil {
		return outcome(err)
	}
	found, err := opened.Choose(f.site)
	if err != nil {
		return outcome(err)
	}
	t := &siteChat{env: env, bot: opened.Bot, site: found, language: f.language, verbose: f.verbose}
	err = converse(ctx, env, chatsession.Terminal{Send: t.say, State: t.state, Reset: t.reset})
	return f.end(env, s, err, t.turns, 0)
}

// siteChat is one visitor in a terminal.
type siteChat struct {
	env            *Env
	bot            *sitebot.Bot
	site, language string
	session        string
	verbose        bool
	turns          []chatsession.Turn
}

func (c *siteChat) reset(context.Context) error {
	c.session, c.turns = "terminal-"+rand.Text(), nil
	return nil
}

// say has the chatbot answer one message; its conversation has no end of its own.
func (c *siteChat) say(ctx context.Context, text string) (over bool, err error) {
	var said, shown string
	o, err := c.bot.Turn(ctx, sitebot.Request{
		Site: c.site, Session: c.session, Input: text, Language: c.language,
	}, func(e sitebot.Event) {
		said += e.Token
		visible := marker.Strip(said) // what is cut out never comes back, so what was shown stays
		fmt.Fprint(c.env.Stdout, visible[len(shown):])
		shown = visible
	})
	if err != nil {
		return false, outcome(err)
	}
	fmt.Fprintln(c.env.Stdout)
	c.turns = append(c.turns, chatsession.Turn{Message: text, Reply: chat.Reply{Text: marker.Strip(said)}})
	c.printDetails(o.Metadata)
	return false, nil
}

// printDetails shows what a page would show around the answer and, when asked, how it came about.
func (c *siteChat) printDetails(m sitebot.Metadata) {
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
		fmt.Fprintf(c.env.Stderr, "  (%s → %s %s; skills: %s)\n", m.Intent, m.Route, m.Action,
			strings.Join(skills, ", "))
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
