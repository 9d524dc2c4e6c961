package target

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// Classifier is a node of a website's chatbot that says what a message is, as a target. The text of a reply is the
// label, or the labels with ", " between them; it is empty where the node had no answer. State is a Classification. A
// message is classified in the state that what was said before it would have left: the test's input, its history, and
// the users' messages of earlier turns. Labels are no answers, and leave none.
type Classifier struct {
	Node *sitebot.Classifier
	// Site is the site's name.
	Site string
}

var _ runner.Target = (*Classifier)(nil)

// Classification is what a classifier has made of a message.
type Classification struct {
	// Label is the label of a node that gives one; nil of a node that gives a list.
	Label *string `json:"label"`
	// Labels are all that the node gave; nil where it had no answer, which is not the same as an empty list.
	Labels []string `json:"labels"`
	// Confidence is how sure the node was, between 0 and 1; nil where it does not say.
	Confidence *float64 `json:"confidence"`
}

// ClassificationOf returns what a node has made of a message.
func ClassificationOf(c *sitebot.Classified) Classification {
	switch {
	case !c.Answered:
		return Classification{}
	case c.Intents.Intent != "":
		label, confidence := string(c.Intents.Intent), c.Intents.Confidence
		return Classification{Label: &label, Labels: []string{label}, Confidence: &confidence}
	}
	labels := make([]string, 0, len(c.Proposed))
	for _, skill := range c.Proposed {
		labels = append(labels, string(skill))
	}
	return Classification{Labels: labels}
}

// Open begins a conversation with what was said before it.
func (c *Classifier) Open(ctx context.Context, o runner.Opening) (runner.Session, error) {
	if o.Test.Start.Fields != nil || o.Test.Start.Node != "" || o.Test.Start.Memory != nil {
		return nil, fmt.Errorf(
			"test %s begins with a state: a classifier has only what was said before, so give a history instead",
			o.Test.ID)
	}
	return labels(func(ctx context.Context, a classifierRequest) (Classification, chat.Reply, error) {
		found, err := c.Node.Classify(ctx, c.Site, a.message, a.history)
		return ClassificationOf(&found), used(found.Use), err
	}).Open(ctx, o)
}

// labels is a target that says what each message is.
type labels func(context.Context, classifierRequest) (Classification, chat.Reply, error)

// classifierRequest is a message to be classified, with what was said before it. test is the id of the test.
type classifierRequest struct {
	test, message string
	history       []chat.Message
}

// Open begins a conversation with what was said before it.
func (l labels) Open(_ context.Context, o runner.Opening) (runner.Session, error) {
	said, err := before(o.Test)
	return &labelSession{l, said, o.Test.ID, said}, err
}

type labelSession struct {
	classify labels
	earlier
	test    string
	history []chat.Message
}

// Send classifies one message. After an error the reply says what the call has used.
func (s *labelSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	ctx, span := sending(ctx, "classifier", "")
	found, reply, err := s.classify(ctx, classifierRequest{s.test, message.String(), s.history})
	sent(span, err)
	if err != nil {
		return reply, err
	}
	s.history = append(slices.Clip(s.history), chat.Message{Role: chat.User, Content: message})
	if found.Labels != nil { // else what a model has said instead stays in the record
		reply.Text = strings.Join(found.Labels, ", ")
	}
	reply.State, err = json.Marshal(found)
	return reply, err
}

// Close does nothing: a classifier keeps nothing.
func (s *labelSession) Close() error { return nil }
