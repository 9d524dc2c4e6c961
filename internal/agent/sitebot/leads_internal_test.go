package sitebot

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// A turn that another process goes on with has no state of finalize in memory: what it tells is read from its
// checkpoint, and is the same.
func TestRowsOfAResumedTurn(t *testing.T) {
	one, err := site.Load("a.yaml", []byte("site: a.example\nbooking: {fields: [email]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	address := "a@x.com"
	after := State{
		Booking: Booking{Converted: true, Values: map[string]string{"email": address}},
		Dialog:  Dialog{CapturedEmail: &address},
	}
	values, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	b := &Bot{Config: Config{Now: func() time.Time { return time.Unix(0, 0) }}}
	var told [2][]lead.Row
	for i, state := range []*State{&after, nil} {
		turn := &turn{
			rules: rulesOf(one), request: Request{Session: "s"}, receivers: []string{lead.WebhookName},
			before: &State{}, after: state,
		}
		read, err := stateAfter(turn, graph.Record{Values: values})
		if err != nil {
			t.Fatal(err)
		}
		if told[i], err = b.rows(turn, read); err != nil {
			t.Fatal(err)
		}
	}
	if len(told[0]) != 2 || len(told[1]) != 2 || told[0][0].ID != told[1][0].ID || told[0][1].ID != told[1][1].ID {
		t.Errorf("%+v\n%+v", told[0], told[1])
	}
}
