package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Sessions keeps the sessions of chatbots: a file, or a Redis.
type Sessions interface {
	graph.Checkpointer
	// ThreadsEnding returns the threads whose names end so, in order of name.
	ThreadsEnding(ctx context.Context, end string) ([]string, error)
}

// Reader opens a chatbot that reads what the sessions of a site remember.
type Reader func(site string, kept graph.Checkpointer) (*sitebot.Bot, error)

// chatbotSession is a session of a chatbot, as somebody names it.
type chatbotSession struct {
	kept Sessions
	open Reader
	// where names the sessions' store in errors.
	where, site, id string
}

// OfChatbot finds a session of a chatbot where its sessions are kept, which where names in errors. The site may be
// empty where only one has a session of that id.
func OfChatbot(ctx context.Context, kept Sessions, open Reader, where, site, id string) (*Recorded, error) {
	f := chatbotSession{kept, open, where, site, id}
	if f.site == "" {
		var err error
		if f.site, err = f.onlySite(ctx); err != nil {
			return nil, err
		}
	}
	s, err := f.state(ctx)
	if err != nil {
		return nil, err
	}
	c := &Recorded{
		Site: f.site, kind: "session", name: id, parts: []string{f.site, id}, why: "the last",
		source: func(int) map[string]any { return map[string]any{"session": id, "site": f.site} },
	}
	for _, m := range s.Messages {
		if m.Role == chat.User {
			c.turns = append(c.turns, len(c.said))
		}
		c.said = append(c.said, utterance{m.Role, m.Content})
	}
	c.chosen = len(c.turns)
	return c, nil
}

// state returns what the session remembers.
func (f *chatbotSession) state(ctx context.Context) (s sitebot.State, err error) {
	bot, err := f.open(f.site, f.kept)
	if err != nil {
		return s, err
	}
	data, err := bot.State(ctx, f.site, f.id)
	if e, ok := errors.AsType[*sitebot.Error](err); ok && e.Fault == sitebot.UnknownSession {
		return s, f.unknown(ctx)
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	return s, err
}

// sites returns the sites that have a session of the id.
func (f *chatbotSession) sites(ctx context.Context) ([]string, error) {
	behind := sitebot.Thread("", f.id)
	threads, err := f.kept.ThreadsEnding(ctx, behind)
	if err != nil {
		return nil, err
	}
	for i := range threads {
		threads[i] = strings.TrimSuffix(threads[i], behind)
	}
	// that is a longer id
	return slices.DeleteFunc(threads, func(site string) bool { return strings.Contains(site, ":") }), nil
}

// onlySite returns the only site that has a session of the id.
func (f *chatbotSession) onlySite(ctx context.Context) (string, error) {
	sites, err := f.sites(ctx)
	switch {
	case err != nil:
		return "", err
	case len(sites) == 0:
		return "", source.Invalid("there is no session %q in %s: write the id as the chatbot has it", f.id, f.where)
	case len(sites) > 1:
		return "", source.Invalid("several sites have a session %q in %s: add --site with one of %s", f.id, f.where,
			strings.Join(sites, ", "))
	}
	return sites[0], nil
}

// unknown says that the site has no such session, and which sites have one.
func (f *chatbotSession) unknown(ctx context.Context) error {
	sites, err := f.sites(ctx)
	if err != nil {
		return err
	}
	hint := "write both as the chatbot has them"
	if len(sites) > 0 {
		hint = source.Suggest(f.site, sites)
	}
	return source.Invalid("there is no session %q of the site %q in %s: %s", f.id, f.site, f.where, hint)
}
