package sitebot

import (
	"slices"
)

// Rest periods of skills, in turns.
const (
	demoRest    = 3
	emailRest   = 3
	maxAsks     = 2
	maxProposed = 2
)

// known are the skills that a selector may propose.
var knownSkills = []Skill{
	NoSkill, SuggestFollowUp, RequestQualification, ProposeDemoSkill, RequestEmail, CaptureEmail, DeliverContent,
}

// emojiSkills mark the answer; one answer has at most one of them, the first of this order.
var emojiSkills = []Skill{CaptureEmail, ProposeDemoSkill, RequestQualification, RequestEmail}

// proposals keeps what a selector may say: known skills, each once, at most two.
func proposals(skills []Skill) []Skill {
	kept := []Skill{}
	for _, s := range skills {
		if slices.Contains(knownSkills, s) && !slices.Contains(kept, s) && len(kept) < maxProposed {
			kept = append(kept, s)
		}
	}
	return kept
}

// apply turns the proposals into the skills of this answer, by the rules in their order.
func apply(s *State, rules *rules) []Skill {
	if s.Booking.Active { // 1
		return []Skill{NoSkill}
	}
	var skills []Skill
	if s.Skills != nil {
		skills = slices.DeleteFunc(slices.Clone(s.Skills.Proposed), func(k Skill) bool {
			return k == NoSkill || k == DeliverContent
		})
	}
	plain := s.Skills != nil && slices.Contains(s.Skills.Proposed, NoSkill)
	add := func(k Skill) {
		if !slices.Contains(skills, k) {
			skills = append(skills, k)
		}
	}
	if rules.captureDue(s) { // 2
		add(CaptureEmail)
		if addressIn(s.Input) != "" {
			add(DeliverContent)
		}
	}
	// 3: also where the router doubts it, as then it has led here and not to the booking
	forced := s.Intents.Intent == Book
	if forced {
		add(ProposeDemoSkill)
	}
	if rules.interested(s) { // 4
		if rules.blocked(s) {
			add(RequestQualification)
		} else {
			add(ProposeDemoSkill)
		}
	}
	skills = slices.DeleteFunc(skills, func(k Skill) bool { return booked(s, k) || tired(s, rules, k, forced) }) // 5, 6
	skills = oneEmoji(skills)                                                                                    // 7
	switch {                                                                                                     // 8
	case len(skills) > 0:
		return skills
	case plain:
		return []Skill{NoSkill}
	}
	return []Skill{SuggestFollowUp}
}

// booked reports whether a skill has nothing left to do once a demo is booked.
func booked(s *State, k Skill) bool {
	return s.Booking.Converted && (k == ProposeDemoSkill || k == RequestEmail || k == CaptureEmail)
}

// tired reports whether a skill has to rest in this turn.
func tired(s *State, rules *rules, k Skill, forced bool) bool {
	turn := s.SkillTurn()
	switch k {
	case ProposeDemoSkill:
		proposed, ever := proposedTurn(s)
		return ever && turn-proposed <= demoRest || s.Dialog.DemoDeclined || turn < rules.CTA.MinTurn && !forced
	case RequestEmail:
		recent := s.Dialog.RequestTurn != nil && turn-*s.Dialog.RequestTurn < emailRest
		return s.Dialog.RequestCount >= maxAsks || recent || s.Dialog.CapturedEmail != nil ||
			!rules.ContentGating.Enabled
	case RequestQualification:
		return rules.unanswered(s) || !rules.missing(s)
	}
	return false
}

// proposedTurn returns the skill turn in which a demo was last proposed, by whichever trace it has left: an injected
// state may have only one.
func proposedTurn(s *State) (turn int, ever bool) {
	if s.Skills != nil {
		turn, ever = s.Skills.Used[ProposeDemoSkill], s.Skills.Used[ProposeDemoSkill] > 0
	}
	if t := s.Dialog.ProposedTurn; t != nil {
		turn, ever = max(turn, *t), true
	}
	if is(s.Dialog.DemoProposedLastTurn) {
		turn, ever = max(turn, s.SkillTurn()-1), true
	}
	return turn, ever
}

// oneEmoji keeps the most important of the skills that mark an answer, and all others.
func oneEmoji(skills []Skill) []Skill {
	kept := false
	for _, k := range emojiSkills {
		if !slices.Contains(skills, k) {
			continue
		}
		if kept {
			skills = slices.DeleteFunc(skills, func(other Skill) bool { return other == k })
		}
		kept = true
	}
	return skills
}
