package main

import (
	"encoding/json"
	"slices"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/dataset"
	"rehearse/internal/sitebot"
	"rehearse/internal/text"
)

// replyReader reads what a target has said of a message from its reply. The first of these that there is, is the prediction:
//
//  1. of a site's chatbot, what its turn found: the intent or, where items have lists, the skills that were applied
//  2. a JSON object in the text with one of intent, label, skill, intents, labels, skills, and a confidence where there is one
//  3. the text, if it is one of the labels or, where items have lists, several with commas or line breaks between them
//  4. the node to which a flow has gone, if it is one of the labels
//
// Upper and lower case do not matter. Anything else is no prediction.
type replyReader struct {
	labels  []string
	several bool
	// site is true of a site's chatbot, whose text is for people and whose node is a route.
	site bool
}

func (r *replyReader) prediction(reply *chat.Reply) dataset.Prediction {
	if r.site {
		return r.ofSite(reply.State)
	}
	if p, ok := r.ofJSON(reply.Text); ok {
		return p
	}
	for _, said := range []string{reply.Text, reply.Node} {
		if labels := r.known(said); labels != nil {
			return dataset.Prediction{Labels: labels}
		}
	}
	return dataset.Prediction{Null: true}
}

// ofSite reads the state that a turn of a chatbot has left.
func (r *replyReader) ofSite(state json.RawMessage) dataset.Prediction {
	var s sitebot.State
	if json.Unmarshal(state, &s) != nil {
		return dataset.Prediction{Null: true}
	}
	switch {
	case r.several && s.Skills != nil:
		labels := []string{}
		for _, skill := range s.Skills.Applied {
			labels = append(labels, string(skill))
		}
		return dataset.Prediction{Labels: labels}
	case !r.several && s.Intents.Intent != "":
		return dataset.Prediction{Labels: []string{string(s.Intents.Intent)}, Confidence: &s.Intents.Confidence}
	}
	return dataset.Prediction{Null: true}
}

// ofJSON reads an object in the text, which may stand in a fence; ok is false where there is none that is a prediction.
func (r *replyReader) ofJSON(reply string) (p dataset.Prediction, ok bool) {
	object, ok := text.JSONIn(reply)
	if !ok {
		return p, false
	}
	p, ok = dataset.ReadOutput(object, r.several)
	for i, label := range p.Labels {
		p.Labels[i] = r.canonical(label)
	}
	if len(p.Labels) > 1 { // two that differ in their case only are one
		slices.Sort(p.Labels)
		p.Labels = slices.Compact(p.Labels)
	}
	return p, ok
}

// known returns the labels that a text consists of, nil where it says anything else.
func (r *replyReader) known(text string) []string {
	parts := []string{text}
	if r.several {
		parts = strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == '\n' })
	}
	var labels []string
	for _, part := range parts {
		label := r.canonical(strings.TrimSpace(part))
		if !slices.Contains(r.labels, label) {
			return nil
		}
		if !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

// canonical returns a label as the items write it, where upper and lower case are the only difference.
func (r *replyReader) canonical(label string) string {
	if slices.Contains(r.labels, label) {
		return label
	}
	for _, known := range r.labels {
		if strings.EqualFold(known, label) {
			return known
		}
	}
	return label
}
