// Package sitebot is a chatbot for websites: it learns what visitors want, answers from the site's knowledge, qualifies
// them and books demos. Each turn runs a graph of small nodes over one State; rules decide wherever they can
// (sitebot.md).
package sitebot

import (
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// State is everything that a session remembers, and what its last turn came to. Its JSON names are published.
type State struct {
	Messages      []Message `json:"messages"`
	Input         string    `json:"input"`
	Response      string    `json:"response"`
	RetrievedDocs string    `json:"retrieved_docs"`
	SiteName      string    `json:"site_name"`
	SessionID     string    `json:"session_id"`
	NextRoute     Route     `json:"next_route"`
	// TurnNumber counts the assistant's messages so far; it is 0 during the first turn.
	TurnNumber int            `json:"turn_number"`
	Visitor    enrich.Profile `json:"visitor_profile"`
	Dialog     Dialog         `json:"dialog_supervision_state"`
	Interest   Interest       `json:"interest_signals_state"`
	Form       Form           `json:"form_collection_state"`
	Intents    Intents        `json:"intent_classification_state"`
	Router     *Decision      `json:"intent_router_state"`
	Skills     *Skills        `json:"skill_selection_state"`
	Booking    Booking        `json:"booking_state"`
	Profiling  Profiling      `json:"profiling_state"`
	// Summary stands for turns that have no place in the calls of models any more.
	Summary   Summary `json:"summary"`
	HackCount int     `json:"hack_count"`
	SpamCount int     `json:"spam_count"`
	// LastInput is the fingerprint of the last message that was answered or blocked.
	LastInput string `json:"last_input"`

	FollowUps []string          `json:"suggested_follow_ups"`
	Answers   []string          `json:"suggested_answers"`
	CTA       map[string]string `json:"cta_url_overrides"`
	Warnings  []string          `json:"warnings"`

	// Extracted is true once this turn's message was taken as the answer to a question, Observed once the dialog has
	// seen the answer.
	Extracted bool `json:"-"`
	Observed  bool `json:"-"`
	// Spoken are the days that this turn's message names in words.
	Spoken Spoken `json:"-"`
	// Suggester names the node that suggests what to click on; empty for none.
	Suggester string `json:"-"`
	// Fallen is how many turns the model that has answered was not shown.
	Fallen int `json:"-"`
}

// Summary is the beginning of a conversation in a few sentences.
type Summary struct {
	Text string `json:"text"`
	// ToTurn is how many turns it covers, from the first on.
	ToTurn int `json:"to_turn"`
}

// Message is one utterance. ID is "{turn}:u" or "{turn}:a".
type Message struct {
	ID      string    `json:"id"`
	Role    chat.Role `json:"role"`
	Content string    `json:"content"`
}

// SkillTurn is the turn that skills count with, from 1: half of the messages before this turn, and one.
// The reconstruction from a history counts the same way, also after a leading greeting (X2).
func (s *State) SkillTurn() int { return len(s.Messages)/2 + 1 }

// Dialog is what the conversation has asked for. The flags of the last turn replace each other; the others only grow.
type Dialog struct {
	// The flags of the last turn are nil until something is known of one.
	EmailRequestedLastTurn *bool `json:"email_asked_last_turn"`
	DemoProposedLastTurn   *bool `json:"demo_was_proposed_last_turn"`
	EmailRequestedEver     bool  `json:"email_asked_ever"`
	DemoProposedEver       bool  `json:"demo_was_proposed_ever"`
	DemoDeclined           bool  `json:"demo_declined"`
	// RequestTurn is the skill turn of the last request for an e-mail address, ProposedTurn that of the last proposal
	// of a demo.
	RequestTurn   *int    `json:"content_gating_ask_turn"`
	ProposedTurn  *int    `json:"demo_proposed_turn"`
	RequestCount  int     `json:"ask_count"`
	CapturedEmail *string `json:"captured_email"`
}

// Interest is what the visitor has shown interest in. Each signal counts once in a conversation.
type Interest struct {
	// Cumulative is the score, from 0 to 100.
	Cumulative int      `json:"cumulative"`
	Signals    []string `json:"signals"`
	// New are the signals of this turn.
	New []string `json:"new"`
	// Seen is true once the detector has looked at the conversation; an injected one is looked at as a whole.
	Seen bool `json:"seen"`
}

// Form is what was collected for the call to action.
type Form struct {
	Collected map[string]string `json:"collected"`
	LastTurn  int               `json:"last_turn"`
}

// Intents is what the visitor wants with this message, and wanted with those before.
type Intents struct {
	Intent     Intent   `json:"intent"`
	Confidence float64  `json:"confidence"`
	History    []Intent `json:"history"`
}

// Decision is what the router decided, and why.
type Decision struct {
	Action Action `json:"action"`
	Route  Route  `json:"route"`
	Reason string `json:"reason"`
}

// Skills says how the answer should end.
type Skills struct {
	// Proposed is the selector's choice, Applied what the rules have made of it.
	Proposed []Skill          `json:"skills"`
	Applied  []Skill          `json:"applied"`
	Reasons  map[Skill]string `json:"reasons"`
	// Used holds the skill turn in which a skill was last applied.
	Used map[Skill]int `json:"used"`
}

// Booking is how far the booking of a demo has come.
type Booking struct {
	Active bool `json:"active"`
	// Paused is true while an active booking waits for the visitor's questions to be answered.
	Paused    bool              `json:"paused"`
	Converted bool              `json:"converted"`
	Field     string            `json:"field"`
	Values    map[string]string `json:"values"`
	// Words are the texts in which the visitor gave the values.
	Words map[string]string `json:"said"`
	// RequestTurn is the skill turn in which the reply requested Field.
	RequestTurn int `json:"asked_turn"`
	// Corrections are the values that were replaced, the oldest first.
	Corrections []Correction `json:"corrections"`
	// WebhookSent is true once a receiver has taken the address. It is read from the outbox when a state is shown; the
	// graph does not set it.
	WebhookSent bool `json:"webhook_sent"`
}

// Correction is a value that the visitor has replaced by another one.
type Correction struct {
	// Turn is the skill turn.
	Turn  int    `json:"turn"`
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
	// Words is the text in which the visitor gave the new value.
	Words string `json:"said"`
}

// Profiling is what qualification has collected.
type Profiling struct {
	Collected map[string]string `json:"collected_values"`
	// Corrections are the values that were replaced, the oldest first.
	Corrections []Correction `json:"corrections"`
	// LastExtractionTurn is the number of assistant turns up to the one that asked the last question; nil, written as
	// -1, before any.
	LastExtractionTurn *int `json:"last_extraction_turn"`
}

// Intent is what a visitor wants with a message.
type Intent string

// The intents.
const (
	Learn       Intent = "LEARN"
	Context     Intent = "CONTEXT"
	Support     Intent = "SUPPORT"
	OffTopic    Intent = "OFFTOPIC"
	Other       Intent = "OTHER"
	Book        Intent = "BOOKING"
	StopBooking Intent = "STOP_BOOKING"
	Hack        Intent = "HACK"
)

// Action is what the router wants done.
type Action string

// The actions.
const (
	Educate       Action = "EDUCATE"
	Qualify       Action = "QUALIFY"
	ProposeDemo   Action = "PROPOSE_DEMO"
	HandleBooking Action = "HANDLE_BOOKING"
	HandlePost    Action = "HANDLE_POST_CONVERSION"
	HandleStop    Action = "HANDLE_STOP_BOOKING"
	HandleSupport Action = "HANDLE_SUPPORT"
	HandleOff     Action = "HANDLE_OFFTOPIC"
	HandleOther   Action = "HANDLE_OTHER"
	HandleHack    Action = "HANDLE_HACK"
	Continue      Action = "CONTINUE"
)

// Route is where the graph goes on.
type Route string

// The routes.
const (
	Agentic        Route = "AGENTIC"
	PostConversion Route = "POST_CONVERSION"
	AnswerRoute    Route = "ANSWER"
	RedirectRoute  Route = "REDIRECT"
	BookingRoute   Route = "BOOKING"
)

// Skill is a way to end an answer.
type Skill string

// The skills.
const (
	NoSkill              Skill = "none"
	SuggestFollowUp      Skill = "suggest_follow_up"
	RequestQualification Skill = "ask_qualification"
	ProposeDemoSkill     Skill = "propose_demo"
	RequestEmail         Skill = "ask_email"
	CaptureEmail         Skill = "capture_email"
	DeliverContent       Skill = "deliver_content"
)
