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
var knownSkills = []Skill{NoSkill, SuggestFollowUp, AskQualification, ProposeDemoSkill, AskEmail, CaptureEmail, DeliverContent}

// emojiSkills mark the answer; one answer has at most one of them, the first of this order.
var emojiSkills = []Skill{CaptureEmail, ProposeDemoSkill, AskQualification, AskEmail}

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

// apply turns the proposals into the skills of this answer, by the rules of sitebot.md 2.7 in their order.
func apply(s *State, rules *rules) []Skill {
	if s.Booking.Active { // 1
		return []Skill{NoSkill}
	}
	var skills []Skill
	if s.Skills != nil {
		skills = slices.DeleteFunc(slices.Clone(s.Skills.Proposed), func(k Skill) bool { return k == NoSkill })
	}
	add := func(k Skill) {
		if !slices.Contains(skills, k) {
			skills = append(skills, k)
		}
	}
	if rules.captureDue(s) { // 2
		add(CaptureEmail)
	}
	forced := s.Intents.believed() == Book // 3
	if forced {
		add(ProposeDemoSkill)
	}
	if rules.interested(s) { // 4
		if rules.blocked(s) {
			add(AskQualification)
		} else {
			add(ProposeDemoSkill)
		}
	}
	skills = slices.DeleteFunc(skills, func(k Skill) bool { return tired(s, rules, k, forced) }) // 5, 6
	skills = oneEmoji(skills)                                                                    // 7
	if len(skills) == 0 {                                                                        // 8
		skills = []Skill{SuggestFollowUp}
	}
	return skills
}

// tired reports whether a skill has to rest in this turn.
func tired(s *State, rules *rules, k Skill, forced bool) bool {
	turn := s.SkillTurn()
	switch k {
	case ProposeDemoSkill:
		recent := s.Dialog.ProposedTurn != nil && turn-*s.Dialog.ProposedTurn <= demoRest
		return recent || s.Dialog.DemoDeclined || turn < rules.CTA.MinTurn && !forced
	case AskEmail:
		recent := s.Dialog.AskTurn != nil && turn-*s.Dialog.AskTurn < emailRest
		return s.Dialog.AskCount >= maxAsks || recent || s.Dialog.CapturedEmail != nil || !rules.ContentGating.Enabled
	case AskQualification:
		return rules.unanswered(s) || !rules.missing(s)
	}
	return false
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
