package sitebot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rehearse/internal/graph"
	"rehearse/internal/llm"
	"rehearse/internal/sitebot/enrich"
	"rehearse/internal/sitebot/lead"
	"rehearse/internal/sitebot/prompt"
	"rehearse/internal/sitebot/site"
)

// decideRoute is the intent_router.
func (b *Bot) decideRoute(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	r := route(&s, t.rules)
	if r.Route != AnswerRoute {
		cancelTasks(ctx) // nobody will wait for them
	}
	u := update{
		routerColumn.Set(&r.Decision), routeColumn.Set(r.Route), bookingColumn.Set(r.Booking), hackColumn.Set(r.HackCount),
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

// book is the booking_handler: it takes down what the visitor gave, asks for what is next, and tells of the first address.
func (b *Bot) book(ctx context.Context, s State, out graph.TokenSink) (update, error) {
	t := turnOf(ctx)
	booking := s.Booking.clone()
	var u update
	if value, ok := t.bookingValue(t.Booking.Fields, booking.Field, s.Input); ok && t.takes(&s) {
		booking.Values[booking.Field] = value
	}
	next, missing := site.Next(t.Booking.Fields, booking.Values)
	booking.Field, booking.AskedTurn = next.ID, s.SkillTurn()
	if !missing {
		booking.Active, booking.Converted, booking.Field = false, true, ""
	}
	if address := captured(t, booking); address != "" && !booking.WebhookSent {
		booking.WebhookSent = true
		u = append(u, dialogColumn.Set(Dialog{CapturedEmail: &address}))
		t.capture(lead.InChatBooking, &s, address, booking.Values)
	}
	u = append(u, bookingColumn.Set(booking))
	return b.respondWith(ctx, u, "booking_handler", &s, prompt.Vars{Field: next.ID, Values: booking.Values}, out)
}

// takes reports whether the message may be taken as the value that the booking waits for. In the turn that begins a booking
// nothing was asked yet: then only an address, which is never anything else, counts.
func (t *turn) takes(s *State) bool {
	if s.Booking.AskedTurn > 0 {
		return true
	}
	i := slices.IndexFunc(t.Booking.Fields, func(f site.BookingField) bool { return f.ID == s.Booking.Field })
	return i >= 0 && t.Booking.Fields[i].Type == site.Email
}

// captured returns the e-mail address among the values of a booking.
func captured(t *turn, b Booking) string {
	for _, f := range t.Booking.Fields {
		if f.Type == site.Email && b.Values[f.ID] != "" {
			return b.Values[f.ID]
		}
	}
	return ""
}

func (t *turn) capture(where string, s *State, address string, values map[string]string) {
	if t.leads == nil {
		return
	}
	t.leads.Capture(lead.Capture{
		Context: where, Site: t.Name, Session: s.SessionID, Person: t.request.PersonID, Email: address, Values: values, Profile: s.Visitor,
	})
}

// afterConversion is the post_conversion_handler: once a demo is booked, it asks the rest, one question a turn.
func (b *Bot) afterConversion(ctx context.Context, s State, out graph.TokenSink) (update, error) {
	t := turnOf(ctx)
	booking := s.Booking.clone()
	if value, ok := t.bookingValue(t.Booking.PostConversion, booking.Field, s.Input); ok {
		booking.Values[booking.Field] = value
	}
	next, _ := site.Next(t.Booking.PostConversion, booking.Values)
	booking.Field, booking.AskedTurn = next.ID, s.SkillTurn()
	u := update{bookingColumn.Set(booking)}
	return b.respondWith(ctx, u, "post_conversion_handler", &s, prompt.Vars{Field: next.ID, Values: booking.Values}, out)
}

// respond streams the answer of a node.
func (b *Bot) respond(ctx context.Context, m llm.Model, node string, s *State, vars prompt.Vars, out graph.TokenSink) (update, error) {
	text, err := b.say(ctx, m, node, s, vars, out)
	if err != nil {
		return nil, err
	}
	return update{responseColumn.Set(text)}, nil
}

func (b *Bot) respondWith(ctx context.Context, u update, node string, s *State, vars prompt.Vars, out graph.TokenSink) (update, error) {
	t := turnOf(ctx)
	said, err := b.respond(ctx, t.models.Default, node, s, vars, out)
	if err != nil {
		return nil, err
	}
	return append(u, said...), nil
}

// describeProfile says what is known of a visitor, one line a fact.
func describeProfile(p enrich.Profile) string {
	var b strings.Builder
	for _, fact := range [][2]string{
		{"company", p.CompanyName}, {"about the company", p.CompanyDescription}, {"sector", p.Sector}, {"sub-sector", p.SubSector},
		{"wants to", p.JobToBeDone}, {"is after", p.Intent}, {"features asked about", strings.Join(p.FeatureList, ", ")},
	} {
		if fact[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", fact[0], fact[1])
		}
	}
	return strings.TrimSpace(b.String())
}
