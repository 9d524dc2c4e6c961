package grader

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/label"
)

// Labels reads from a reply what an agent takes a message for. All that it reads stands in the record of a turn
// (output, node and state), so that a report reads the same prediction afterwards. The first of these that there is, is
// the prediction:
//
//  1. the state of a classifier: its labels and its confidence
//  2. the state of a site's chatbot: the intent that the turn found or, of several labels, the skills that were applied
//  3. a JSON object in the text with one of intent, label, skill, intents, labels, skills, and a confidence where there is one
//  4. the text, if it is one of the known labels or, of several, some with commas or line breaks between them
//  5. the node to which a flow has gone, if it is one of the known labels
//
// Upper and lower case do not matter in 3 to 5. Anything else is no prediction.
type Labels struct {
	// Known are the labels that there are.
	Known []string
	// Several is true where a message has any number of labels.
	Several bool
}

// labelState is what the states of classifiers and chatbots say of a message. A part that is absent is nil.
type labelState struct {
	// Labels are those of a classifier; null where it has no answer.
	Label      json.RawMessage `json:"label"`
	Labels     json.RawMessage `json:"labels"`
	Confidence json.RawMessage `json:"confidence"`
	// Intents and Skills are what a chatbot's turn found.
	Intents json.RawMessage `json:"intent_classification_state"`
	Skills  json.RawMessage `json:"skill_selection_state"`
}

// Prediction reads the prediction from a reply's text, node and state.
func (l Labels) Prediction(said, node string, state json.RawMessage) label.Prediction {
	if p, ok := l.ofState(state); ok {
		return p
	}
	if p, ok := l.ofJSON(said); ok {
		return p
	}
	for _, word := range []string{said, node} {
		if labels := l.known(word); labels != nil {
			return label.Prediction{Labels: labels}
		}
	}
	return label.Prediction{Null: true}
}

// ofState reads a state; ok is false for one of neither a classifier nor a chatbot.
func (l Labels) ofState(state json.RawMessage) (p label.Prediction, ok bool) {
	var s labelState
	switch {
	case len(state) == 0 || json.Unmarshal(state, &s) != nil:
		return p, false
	case s.Labels != nil && s.Label != nil:
		if json.Unmarshal(s.Labels, &p.Labels) != nil ||
			s.Confidence != nil && json.Unmarshal(s.Confidence, &p.Confidence) != nil {
			return label.Prediction{}, false
		}
		p.Null = p.Labels == nil
		return p, true
	case s.Intents == nil && s.Skills == nil:
		return p, false
	}
	return l.ofChatbot(&s), true
}

// ofChatbot reads what a turn of a chatbot has found.
func (l Labels) ofChatbot(s *labelState) label.Prediction {
	var intents sitebot.Intents
	var skills *sitebot.Skills
	switch {
	case l.Several && s.Skills != nil && json.Unmarshal(s.Skills, &skills) == nil && skills != nil:
		labels := []string{}
		for _, skill := range skills.Applied {
			labels = append(labels, string(skill))
		}
		return label.Prediction{Labels: labels}
	case !l.Several && s.Intents != nil && json.Unmarshal(s.Intents, &intents) == nil && intents.Intent != "":
		return label.Prediction{Labels: []string{string(intents.Intent)}, Confidence: &intents.Confidence}
	}
	return label.Prediction{Null: true}
}

// ofJSON reads an object in the text, which may stand in a fence; ok is false where there is none that is a prediction.
func (l Labels) ofJSON(said string) (p label.Prediction, ok bool) {
	object, ok := text.JSONIn(said)
	if !ok {
		return p, false
	}
	p, ok = label.ReadOutput(object, l.Several)
	for i, label := range p.Labels {
		p.Labels[i] = l.canonical(label)
	}
	if len(p.Labels) > 1 { // two that differ in their case only are one
		slices.Sort(p.Labels)
		p.Labels = slices.Compact(p.Labels)
	}
	return p, ok
}

// known returns the labels that a text consists of, nil where it says anything else.
func (l Labels) known(said string) []string {
	parts := []string{said}
	if l.Several {
		parts = strings.FieldsFunc(said, func(c rune) bool { return c == ',' || c == '\n' })
	}
	var labels []string
	for _, part := range parts {
		label := l.canonical(strings.TrimSpace(part))
		if !slices.Contains(l.Known, label) {
			return nil
		}
		if !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

// canonical returns a label as it is known, where upper and lower case are the only difference.
func (l Labels) canonical(label string) string {
	if slices.Contains(l.Known, label) {
		return label
	}
	for _, known := range l.Known {
		if strings.EqualFold(known, label) {
			return known
		}
	}
	return label
}
