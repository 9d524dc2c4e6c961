package prompt

// Vars are what a node knows at this turn. What is left empty reads "none" in the prompt. What the site says is filled in from the site.
type Vars struct {
	// Language is the visitor's, such as fr or pt-BR; empty means the site's.
	Language string
	// Docs are the passages that were found for the question.
	Docs string
	// Profile is what is known about the visitor and their company.
	Profile string
	// Collected are the answers of the qualification so far, Values those of the booking.
	Collected, Values map[string]string
	// Field is the id of what is asked for or taken down now: a field of the qualification or of the booking.
	Field string
	// Skills say how the answer ends, in their order.
	Skills []string
	// Intent and Action are what was classified and decided.
	Intent, Action string
	// Detected are the signals of interest so far.
	Detected []string
	// Dialog says in words what was asked and proposed, and when.
	Dialog string
	// Turn is the skill turn.
	Turn int
}

// none stands for what is empty, so that a sentence of a prompt is never left hanging.
const none = "none"

// variables are the names that a template may use, besides the slots.
var variables = []string{
	"action", "asset", "choices", "collected", "company", "company_description", "cta_url", "detected", "dialog", "docs", "field", "field_type",
	"fields", "intent", "language", "missing", "profile", "question", "signals", "site", "skills", "turn", "values",
}
