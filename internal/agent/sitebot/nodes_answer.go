package sitebot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// decideRoute is the intent_router.
func (b *Bot) decideRoute(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	r := route(&s, t.rules)
	cancelTasks(ctx, r.Route)
	u := update{
		routerColumn.Set(&r.Decision), routeColumn.Set(r.Route), bookingColumn.Set(r.Booking),
		hackColumn.Set(r.HackCount),
	}
	if r.Declined {
		u = append(u, dialogColumn.Set(Dialog{DemoDeclined: true}))
	}
	return u, nil
}

// applySkills is the skill_applier.
func (b *Bot) applySkills(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	next := Skills{Proposed: []Skill{}, Reasons: map[Skill]string{}, Used: used(&s)}
	if s.Skills != nil {
		next.Proposed, next.Reasons = s.Skills.Proposed, s.Skills.Reasons
	}
	next.Applied = apply(&s, t.rules)
	for _, k := range next.Applied {
		if k != NoSkill {
			next.Used[k] = s.SkillTurn()
		}
	}
	return update{skillsColumn.Set(&next)}, nil
}

// write is the answer_writer.
func (b *Bot) write(ctx context.Context, s State, out graph.TokenSink) (update, error) {
	t := turnOf(ctx)
	vars := prompt.Vars{Docs: s.RetrievedDocs, Profile: describeProfile(s.Visitor), Collected: s.Profiling.Collected}
	if field, missing := t.nextField(&s); missing {
		vars.Field = field.ID
	}
	if s.Skills != nil {
		for _, k := range s.Skills.Applied {
			vars.Skills = append(vars.Skills, string(k))
		}
	}
	return b.respond(ctx, t.models.Default, "answer_writer", &s, vars, out)
}

// redirect is the redirect_handler.
func (b *Bot) redirect(ctx context.Context, s State, out graph.TokenSink) (update, error) {
	t := turnOf(ctx)
	vars := prompt.Vars{Intent: string(s.Intents.believed()), Action: string(s.Router.Action)}
	return b.respond(ctx, t.models.Fast, "redirect_handler", &s, vars, out)
}

// respond streams the answer of a node, without the markers that nobody asked for.
func (b *Bot) respond(ctx context.Context, m llm.Model, node string, s *State, vars prompt.Vars,
	out graph.TokenSink) (update, error) {
	f := &markerFilter{believed: b.believed(node, s), out: out}
	_, fallen, err := b.say(ctx, m, node, s, vars, f.token)
	if err != nil {
		return nil, err
	}
	if err := f.end(ctx); err != nil {
		return nil, err
	}
	text := f.said.String()
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("the model's answer is nothing but a marker")
	}
	u := update{responseColumn.Set(text)}
	if f.stripped {
		u = append(u, warningsColumn.Add("marker_stripped"))
	}
	if fallen > 0 {
		u = append(u, fallenColumn.Set(fallen))
	}
	return u, nil
}

func (b *Bot) respondWith(ctx context.Context, u update, node string, s *State, vars prompt.Vars,
	out graph.TokenSink) (update, error) {
	t := turnOf(ctx)
	said, err := b.respond(ctx, t.models.Default, node, s, vars, out)
	if err != nil {
		return nil, err
	}
	return append(u, said...), nil
}

// Bounds of what a prompt has of a profile, in characters.
const (
	maxProfileName = 200
	maxProfileText = 1000
)

// describeProfile says what is known of a visitor, one line a fact. Values are quoted and bounded: they come from
// visitors, browsers and services.
func describeProfile(p enrich.Profile) string {
	p = p.Shown()
	var b strings.Builder
	for _, fact := range []struct {
		name, value string
		most        int
	}{
		{"company", p.CompanyName, maxProfileName},
		{"about the company", p.CompanyDescription, maxProfileText},
		{"sector", p.Sector, maxProfileName},
		{"sub-sector", p.SubSector, maxProfileName},
		{"wants to", p.JobToBeDone, maxProfileText},
		{"is after", p.Intent, maxProfileText},
		{"features asked about", strings.Join(p.FeatureList, ", "), maxProfileText},
	} {
		if fact.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", fact.name, strconv.Quote(text.OneLine(fact.value, fact.most)))
		}
	}
	return strings.TrimSpace(b.String())
}
