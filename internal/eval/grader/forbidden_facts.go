package grader

import (
	"context"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// ban is a fact that must not be live. A mapping matches key and value together; a plain text matches either of them.
type ban struct {
	fact
	either bool
}

func newForbiddenFacts(a *Args) runner.Grader {
	bans := a.bans()
	texts := make([]string, len(bans))
	for i, b := range bans {
		texts[i] = b.String()
	}
	want := "no fact " + fewOf(texts)
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		live, err := liveFacts(x.Reply.State)
		if err != nil {
			return result.Grade{}, err
		}
		var found []fact
		for _, f := range live {
			if slices.ContainsFunc(bans, func(b ban) bool { return b.forbids(f) }) {
				found = append(found, f)
			}
		}
		if len(found) > 0 {
			return coded(result.FactDrift, want, false, factsText(found)), nil
		}
		return coded(result.FactDrift, want, true, counted(len(live), "live fact")+", none of them forbidden"), nil
	})
}

func (b ban) forbids(f fact) bool {
	if b.either {
		return sameText(b.Key, f.Key) || sameText(b.Key, f.Value)
	}
	return (b.Key == "" || sameText(b.Key, f.Key)) && (b.Value == nil || sameText(b.Value, f.Value))
}

// String names what is forbidden.
func (b ban) String() string {
	if b.Key == "" && b.Value != nil {
		return "with the value " + quote(plainText(b.Value))
	}
	return b.fact.String()
}

// bans reads value: texts that no fact may have as key or value, or {key, value} that must not come together.
func (a *Args) bans() []ban {
	n, ok := a.Node("value", "list",
		"texts that no live fact may have as its key or value, or {key: …, value: …}, of which one may be left out",
		true)
	a.refers("forbidden")
	if !ok {
		return nil
	}
	if n.Kind == source.String {
		return []ban{readBan(n)}
	}
	if n.Kind == source.List && len(n.Items) == 0 {
		n.Report("add the key of a fact", "the list is empty")
	}
	var bans []ban
	for _, item := range n.List() {
		bans = append(bans, readBan(item))
	}
	return bans
}

func readBan(n source.Node) ban {
	b := ban{readFact(n), n.Kind != source.Map}
	if b.Key == "" && b.Value == nil {
		n.Report("write a key, or {key: …, value: …}", "the forbidden fact says nothing")
	}
	return b
}
