package sitebot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// Bounds of the classifier's confidence below which the router does not believe it.
const (
	minConfidence     = 0.4
	minHackConfidence = 0.6
)

// routing is what the router decides from, and what it changes.
type routing struct {
	Decision
	Booking   Booking
	HackCount int
	// Declined is true once the visitor has refused a demo.
	Declined bool
}

// believed returns the intent that the router goes by.
func (in Intents) believed() Intent {
	switch {
	case in.Intent == Hack && in.Confidence < minHackConfidence:
		return Other
	case in.Intent != Hack && in.Confidence < minConfidence:
		return Learn
	}
	return in.Intent
}

// route decides where the turn goes: the first rule that matches.
func route(s *State, rules *rules) routing {
	r := routing{Booking: rules.asked(s), HackCount: s.HackCount, Declined: s.Dialog.DemoDeclined}
	intent := s.Intents.believed()
	switch {
	case intent == Hack:
		r.HackCount++
		r.Booking.Active, r.Booking.Paused = false, false
		r.to(RedirectRoute, HandleHack, "the message tries to misuse the assistant")
	case s.Booking.Active:
		r.whileBooking(s, rules, intent)
	case s.Booking.Converted && r.afterConversion(s, rules, intent):
	case intent == Book:
		r.startBooking(rules)
	case intent == StopBooking:
		r.Declined = true
		r.to(AnswerRoute, Continue, "the visitor declines a demo")
	case redirected[intent] != "":
		r.to(RedirectRoute, redirected[intent], "the intent is "+string(intent))
	default:
		r.answer(s, rules, intent)
	}
	if r.Booking.Converted && r.Action != HandlePost && s.SkillTurn()-r.Booking.RequestTurn >= openTurns {
		r.Booking.Field = "" // nobody answers it any more
	}
	return r
}

func (r *routing) to(route Route, action Action, reason string) {
	r.Decision = Decision{Action: action, Route: route, Reason: reason}
}

// redirected are the intents that are not the site's business.
var redirected = map[Intent]Action{Support: HandleSupport, OffTopic: HandleOff, Other: HandleOther}

// whileBooking leaves, keeps or pauses an active booking.
func (r *routing) whileBooking(s *State, rules *rules, intent Intent) {
	switch {
	case intent == StopBooking:
		r.Booking.Active, r.Booking.Paused = false, false
		r.to(RedirectRoute, HandleStop, "the visitor stops the booking")
	case redirected[intent] != "":
		r.Booking.Active, r.Booking.Paused = false, false
		r.to(RedirectRoute, redirected[intent], "the visitor leaves the booking: "+string(intent))
	case intent == Book || rules.find(&r.Booking, rules.Booking.Fields, r.Booking.Field, s).holds:
		r.Booking.Paused = false
		r.to(BookingRoute, HandleBooking, fmt.Sprintf("the booking goes on with %q", r.Booking.Field))
	default:
		r.Booking.Paused = true
		r.to(AnswerRoute, Educate, "the booking is paused for a question")
	}
}

// openTurns is how many turns a question that was asked after the conversion waits for its answer.
const openTurns = 3

// afterConversion routes what is about the booking once it is complete, and reports whether the message is.
func (r *routing) afterConversion(s *State, rules *rules, intent Intent) bool {
	found := rules.findAfter(&r.Booking, s)
	_, answered := found.values[r.Booking.Field]
	switch {
	case answered:
		r.to(PostConversion, HandlePost, fmt.Sprintf("the visitor answers %q", r.Booking.Field))
	case found.correct(&r.Booking):
		r.to(PostConversion, HandlePost, "the visitor corrects the booking")
	case intent == Book:
		r.to(PostConversion, HandleBooking, "the visitor asks for what is booked")
	case intent == StopBooking:
		r.to(RedirectRoute, HandleStop, "the visitor gives the booking up")
	default:
		return false
	}
	return true
}

// findAfter is find once the booking is complete: what is kept may be corrected, and as long as a question is open it
// and those behind it may be answered. Free text is no answer in a message that is about something else.
func (r *rules) findAfter(b *Booking, s *State) findings {
	fields := r.changeable(b)
	found := r.find(b, fields, b.Field, s)
	intent := s.Intents.believed()
	if f, open := fieldOf(fields, b.Field); open && f.Type == site.Text &&
		(intent == Learn || intent == Support || intent == OffTopic) {
		delete(found.values, b.Field)
	}
	return found
}

// changeable returns the fields of a complete booking that a message may fill or correct.
func (r *rules) changeable(b *Booking) (fields []site.BookingField) {
	for _, f := range slices.Concat(r.Booking.Fields, r.Booking.PostConversion) {
		if b.Values[f.ID] != "" || b.Field != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

func (r *routing) startBooking(rules *rules) {
	r.Booking.Active, r.Booking.Paused, r.Booking.RequestTurn = true, false, 0 // nothing is asked yet
	next, _ := site.Next(rules.Booking.Fields, r.Booking.Values)
	r.Booking.Field = next.ID
	r.to(BookingRoute, HandleBooking, "the visitor wants a demo")
}

// answer is the rule for visitors who learn or tell about themselves.
func (r *routing) answer(s *State, rules *rules, intent Intent) {
	ready, blocked := rules.interested(s), rules.blocked(s)
	switch {
	case ready && !blocked && !s.Booking.Converted:
		r.to(AnswerRoute, ProposeDemo, fmt.Sprintf("the interest of %d is enough for a demo", s.Interest.Cumulative))
	case ready && blocked:
		r.to(AnswerRoute, Qualify, "a demo waits for the qualification")
	case intent == Context && rules.missing(s):
		r.to(AnswerRoute, Qualify, "the visitor tells about themselves and a field is missing")
	default:
		r.to(AnswerRoute, Educate, "the intent is "+string(intent))
	}
}

// asked returns the booking with what an injected state may have left out of one that is active or complete: the field,
// and that it was asked before. A question that has waited for too long is closed.
func (r *rules) asked(s *State) Booking {
	b := s.Booking.clone()
	switch {
	case b.Active && b.Field == "":
		next, _ := site.Next(r.Booking.Fields, b.Values)
		b.Field = next.ID
	case b.Active:
	case b.Converted && b.Field == "" && b.RequestTurn == 0:
		next, _ := site.Next(r.Booking.PostConversion, b.Values)
		b.Field = next.ID
	case b.Converted:
		_, open := fieldOf(r.Booking.PostConversion, b.Field)
		if !open || b.Values[b.Field] != "" || b.RequestTurn > 0 && s.SkillTurn()-b.RequestTurn > openTurns {
			b.Field = ""
		}
	default:
		return b
	}
	if b.RequestTurn == 0 {
		b.RequestTurn = max(1, s.SkillTurn()-1)
	}
	return b
}

// question reports whether a text asks something.
func question(text string) bool { return strings.ContainsAny(text, "?？؟") }

// clone returns a copy that shares nothing.
func (b Booking) clone() Booking {
	values, said := make(map[string]string, len(b.Values)), make(map[string]string, len(b.Words))
	maps.Copy(values, b.Values)
	maps.Copy(said, b.Words)
	b.Values, b.Words, b.Corrections = values, said, slices.Clone(b.Corrections)
	return b
}
