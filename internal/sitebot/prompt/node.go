package prompt

import "rehearse/internal/sitebot/site"

// The nodes that ask a model.
const (
	IntentClassifier        = "intent_classifier"
	InterestSignalsDetector = "interest_signals_detector"
	SkillSelector           = "skill_selector"
	EarlyProfileExtractor   = "early_profile_extractor"
	VisitorProfile          = "visitor_profile"
	FormFieldExtractor      = "form_field_extractor"
	FollowUpSuggester       = "follow_up_suggester"
	AnswerSuggester         = "answer_suggester"
	AnswerWriter            = "answer_writer"
	RedirectHandler         = "redirect_handler"
	BookingHandler          = "booking_handler"
	PostConversionHandler   = "post_conversion_handler"
)

// Nodes returns the nodes that ask a model: those that want data, then those that write to the visitor.
func Nodes() []string {
	return []string{
		IntentClassifier, InterestSignalsDetector, SkillSelector, EarlyProfileExtractor, VisitorProfile, FormFieldExtractor, FollowUpSuggester,
		AnswerSuggester, AnswerWriter, RedirectHandler, BookingHandler, PostConversionHandler,
	}
}

// Names of the built-in prompts that a site may leave open.
const (
	metaName         = "response-agents/meta-template"
	instructionsName = "response-agents/{agent}/instructions/{site}"
)

// agent is a node that writes to the visitor: from three levels.
type agent struct {
	// id takes the place of {agent} in names, name is the built-in template, and own what the site calls it.
	id, name string
	own      func(*site.Prompts) string
}

// agents by their nodes. All other nodes have a prompt of one level.
var agents = map[string]agent{
	AnswerWriter:          {"answer", "response-agents/answer/template", func(p *site.Prompts) string { return p.Answer }},
	RedirectHandler:       {"redirect", "response-agents/redirect/template", func(p *site.Prompts) string { return p.Redirect }},
	BookingHandler:        {"booking", "response-agents/booking/template", func(p *site.Prompts) string { return p.Booking }},
	PostConversionHandler: {"post-conversion", "response-agents/post-conversion/template", func(p *site.Prompts) string { return p.PostConversion }},
}

// Skills returns the skills that have instructions, which stand in the answer's prompt.
func Skills() []string {
	return []string{"none", "suggest_follow_up", "ask_qualification", "propose_demo", "ask_email", "capture_email", "deliver_content"}
}
