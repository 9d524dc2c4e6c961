package site

import "github.com/rehearse-dev/rehearse/internal/base/source"

// maxCost bounds what a site may say that a day costs, in dollars: more is a slip of the pen.
const maxCost = 1e9

// Limits bound what the visitors of a site may ask for, and what the site may spend. A value of 0 switches a limit off.
type Limits struct {
	// VisitorPerMinute is how many messages a minute one address may send in the long run, VisitorBurst how many at once.
	VisitorPerMinute, VisitorBurst int
	// VisitorTurns is how many messages of one address may be answered at the same time.
	VisitorTurns int
	// SitePerMinute is how many messages a minute all visitors together may send, and how many at once.
	SitePerMinute int
	// TokensPerDay and CostPerDay (US dollars) are what all turns of a day may use of models. The day is that of the site's zone.
	TokensPerDay int64
	CostPerDay   float64
	// PromptTokens bounds one model call; a token is four characters.
	PromptTokens int
}

// defaultLimits are those of a site that names none.
func defaultLimits() Limits {
	return Limits{VisitorPerMinute: 20, VisitorBurst: 20, VisitorTurns: 4, SitePerMinute: 600, PromptTokens: 16_000}
}

// HasBudget reports whether the site bounds what it spends in a day.
func (l Limits) HasBudget() bool { return l.TokensPerDay > 0 || l.CostPerDay > 0 }

func readLimits(n source.Node, to *Limits) {
	n.Read(map[string]func(source.Node){
		"visitor_per_minute": func(n source.Node) { to.VisitorPerMinute = n.Int(0) },
		"visitor_burst":      func(n source.Node) { to.VisitorBurst = n.Int(0) },
		"visitor_turns":      func(n source.Node) { to.VisitorTurns = n.Int(0) },
		"site_per_minute":    func(n source.Node) { to.SitePerMinute = n.Int(0) },
		"tokens_per_day":     func(n source.Node) { to.TokensPerDay = int64(n.Int(0)) },
		"cost_per_day":       func(n source.Node) { to.CostPerDay = n.Number(0, maxCost) },
		"prompt_tokens":      func(n source.Node) { to.PromptTokens = n.Int(0) },
	})
}
