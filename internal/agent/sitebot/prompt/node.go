package prompt

import (
	"context"
	"embed"
	"io/fs"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

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
	ConversationSummary     = "conversation_summary"
	AnswerWriter            = "answer_writer"
	RedirectHandler         = "redirect_handler"
	BookingHandler          = "booking_handler"
	PostConversionHandler   = "post_conversion_handler"
)

// Nodes returns the nodes that ask a model: those that want data, the one that sums up, then those that write to the
// visitor.
func Nodes() []string {
	return []string{
		IntentClassifier, InterestSignalsDetector, SkillSelector, EarlyProfileExtractor, VisitorProfile,
		FormFieldExtractor, FollowUpSuggester, AnswerSuggester, ConversationSummary, AnswerWriter, RedirectHandler,
		BookingHandler, PostConversionHandler,
	}
}

// Names of the built-in prompts that a site may leave open.
const (
	metaName         = "response-agents/meta-template"
	instructionsName = "response-agents/{agent}/instructions/{site}"
)

// daysName is the prompt that form_field_extractor has besides its own before a booking step.
const daysName = "nodes/form_field_extractor.days"

// agent is a node that writes to the visitor: from three levels.
type agent struct {
	// id takes the place of {agent} in names, name is the built-in template, and own what the site calls it.
	id, name string
	own      func(*site.Prompts) string
}

// agents by their nodes. All other nodes have a prompt of one level.
var agents = map[string]agent{
	AnswerWriter: {
		"answer", "response-agents/answer/template", func(p *site.Prompts) string { return p.Answer },
	},
	RedirectHandler: {
		"redirect", "response-agents/redirect/template", func(p *site.Prompts) string { return p.Redirect },
	},
	BookingHandler: {
		"booking", "response-agents/booking/template", func(p *site.Prompts) string { return p.Booking },
	},
	PostConversionHandler: {
		"post-conversion", "response-agents/post-conversion/template",
		func(p *site.Prompts) string { return p.PostConversion },
	},
}

// Skills returns the skills that have instructions, which stand in the answer's prompt.
func Skills() []string {
	return []string{
		"none", "suggest_follow_up", "ask_qualification", "propose_demo", "ask_email", "capture_email",
		"deliver_content",
	}
}

//go:embed texts
var texts embed.FS

var _ Source = Builtin{}

// Builtin are the prompts inside the program: one for every name that a site may leave open. The zero value is ready.
type Builtin struct{}

// Prompt returns a built-in text.
func (Builtin) Prompt(_ context.Context, name string) (text, version string, err error) {
	p, ok := builtins()[name]
	if !ok {
		return "", "", unknown(name, "the built-in prompts")
	}
	return p.text, p.version, nil
}

// builtins returns all built-in prompts by their names. The files are inside the program, so that reading them cannot
// fail.
var builtins = sync.OnceValue(func() map[string]builtin {
	all := map[string]builtin{}
	_ = fs.WalkDir(texts, "texts", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := texts.ReadFile(file)
		text := strings.TrimSpace(string(data))
		name := strings.TrimSuffix(strings.TrimPrefix(file, "texts/"), ".md")
		all[name] = builtin{text: text, version: "builtin-" + versionOf(text)}
		return err
	})
	return all
})

type builtin struct{ text, version string }
