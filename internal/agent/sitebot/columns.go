package sitebot

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
)

// The columns of the state: how writes reach each field, and which fields begin every turn empty (2.1).
// They are declarations and never change.
var (
	messagesColumn = graph.Append(func(s *State) *[]Message { return &s.Messages }).Keyed(func(m Message) string {
		return m.ID
	})

	inputColumn    = graph.Last(func(s *State) *string { return &s.Input }).PerTurn()
	responseColumn = graph.Last(func(s *State) *string { return &s.Response }).PerTurn()
	docsColumn     = graph.Last(func(s *State) *string { return &s.RetrievedDocs }).PerTurn()
	siteColumn     = graph.Last(func(s *State) *string { return &s.SiteName })
	sessionColumn  = graph.Last(func(s *State) *string { return &s.SessionID })
	routeColumn    = graph.Last(func(s *State) *Route { return &s.NextRoute }).PerTurn()
	turnColumn     = graph.Last(func(s *State) *int { return &s.TurnNumber })

	visitorColumn   = graph.Merge(func(s *State) *enrich.Profile { return &s.Visitor }, enrich.Merge)
	dialogColumn    = graph.Merge(func(s *State) *Dialog { return &s.Dialog }, mergeDialogs)
	interestColumn  = graph.Last(func(s *State) *Interest { return &s.Interest })
	formColumn      = graph.Merge(func(s *State) *Form { return &s.Form }, mergeForms)
	intentsColumn   = graph.Last(func(s *State) *Intents { return &s.Intents })
	routerColumn    = graph.Last(func(s *State) **Decision { return &s.Router }).PerTurn()
	skillsColumn    = graph.Last(func(s *State) **Skills { return &s.Skills })
	bookingColumn   = graph.Last(func(s *State) *Booking { return &s.Booking })
	profilingColumn = graph.Merge(func(s *State) *Profiling { return &s.Profiling }, mergeProfiling)

	summaryColumn = graph.Last(func(s *State) *Summary { return &s.Summary })

	// Nothing of a turn that fails or is cancelled counts, and so neither do the counters of the abuse gate (2.8).
	hackColumn      = graph.Last(func(s *State) *int { return &s.HackCount })
	spamColumn      = graph.Last(func(s *State) *int { return &s.SpamCount })
	lastInputColumn = graph.Last(func(s *State) *string { return &s.LastInput })

	followUpsColumn = graph.Last(func(s *State) *[]string { return &s.FollowUps }).PerTurn()
	answersColumn   = graph.Last(func(s *State) *[]string { return &s.Answers }).PerTurn()
	ctaColumn       = graph.Last(func(s *State) *map[string]string { return &s.CTA }).PerTurn()
	warningsColumn  = graph.Append(func(s *State) *[]string { return &s.Warnings }).PerTurn()

	extractedColumn = graph.Last(func(s *State) *bool { return &s.Extracted })
	observedColumn  = graph.Last(func(s *State) *bool { return &s.Observed })
	spokenColumn    = graph.Last(func(s *State) *Spoken { return &s.Spoken }).PerTurn()
	suggesterColumn = graph.Last(func(s *State) *string { return &s.Suggester })
	fallenColumn    = graph.Last(func(s *State) *int { return &s.Fallen }).PerTurn()
)

// update is what a node changes.
type update = graph.Update[State]

// mergeDialogs keeps flags that were ever true and a captured address, and takes the newest flags of the last turn.
func mergeDialogs(old, written Dialog) Dialog {
	newer := func(old, written *bool) *bool {
		if written != nil {
			return written
		}
		return old
	}
	later := func(old, written *int) *int {
		if written != nil {
			return written
		}
		return old
	}
	merged := Dialog{
		EmailRequestedLastTurn: newer(old.EmailRequestedLastTurn, written.EmailRequestedLastTurn),
		DemoProposedLastTurn:   newer(old.DemoProposedLastTurn, written.DemoProposedLastTurn),
		EmailRequestedEver:     old.EmailRequestedEver || written.EmailRequestedEver,
		DemoProposedEver:       old.DemoProposedEver || written.DemoProposedEver,
		DemoDeclined:           old.DemoDeclined || written.DemoDeclined,
		RequestTurn:            later(old.RequestTurn, written.RequestTurn),
		ProposedTurn:           later(old.ProposedTurn, written.ProposedTurn),
		RequestCount:           max(old.RequestCount, written.RequestCount),
		CapturedEmail:          old.CapturedEmail,
	}
	if written.CapturedEmail != nil {
		merged.CapturedEmail = written.CapturedEmail
	}
	return merged
}

func mergeForms(old, written Form) Form {
	return Form{Collected: overlay(old.Collected, written.Collected), LastTurn: max(old.LastTurn, written.LastTurn)}
}

func mergeProfiling(old, written Profiling) Profiling {
	merged := Profiling{
		Collected:   overlay(old.Collected, written.Collected),
		Corrections: slices.Concat(old.Corrections, written.Corrections), LastExtractionTurn: old.LastExtractionTurn,
	}
	if w := written.LastExtractionTurn; w != nil &&
		(merged.LastExtractionTurn == nil || *w > *merged.LastExtractionTurn) {
		merged.LastExtractionTurn = w
	}
	return merged
}

// overlay puts new values over old ones; blank new values are ignored.
func overlay(old, written map[string]string) map[string]string {
	merged := maps.Clone(old)
	for name, value := range written {
		if strings.TrimSpace(value) == "" {
			continue
		}
		if merged == nil {
			merged = map[string]string{}
		}
		merged[name] = value
	}
	return merged
}

// never is how a turn that has not been is published.
const never = -1

type plainProfiling struct {
	Collected          map[string]string `json:"collected_values"`
	Corrections        []Correction      `json:"corrections"`
	LastExtractionTurn int               `json:"last_extraction_turn"`
}

// MarshalJSON writes -1 where no question was asked yet.
func (p Profiling) MarshalJSON() ([]byte, error) {
	plain := plainProfiling{p.Collected, p.Corrections, never}
	if p.LastExtractionTurn != nil {
		plain.LastExtractionTurn = *p.LastExtractionTurn
	}
	table(&plain.Collected)
	list(&plain.Corrections)
	return json.Marshal(plain)
}

// UnmarshalJSON reads -1, or nothing, where no question was asked yet. Unknown fields are refused.
func (p *Profiling) UnmarshalJSON(data []byte) error {
	plain := plainProfiling{LastExtractionTurn: never}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&plain); err != nil {
		return err
	}
	*p = Profiling{Collected: plain.Collected, Corrections: plain.Corrections}
	if plain.LastExtractionTurn != never {
		p.LastExtractionTurn = &plain.LastExtractionTurn
	}
	return nil
}

// columns lists every column, in the order of the state.
func columns() []graph.Column[State] {
	return []graph.Column[State]{
		messagesColumn, inputColumn, responseColumn, docsColumn, siteColumn, sessionColumn, routeColumn, turnColumn,
		visitorColumn, dialogColumn, interestColumn, formColumn, intentsColumn, routerColumn, skillsColumn,
		bookingColumn, profilingColumn, hackColumn, spamColumn, lastInputColumn, followUpsColumn, answersColumn,
		ctaColumn, warningsColumn, extractedColumn, observedColumn, spokenColumn, suggesterColumn, summaryColumn,
		fallenColumn,
	}
}
