package site

// Limits bound what the visitors of a site may ask for, and what the site may spend. A value of 0 switches a limit off.
type Limits struct {
	// VisitorPerMinute is how many messages a minute one address may send in the long run, VisitorBurst how many at
	// once.
	VisitorPerMinute int `key:"visitor_per_minute" minimum:"0" doc:"messages per visitor and minute"`
	VisitorBurst     int `key:"visitor_burst" minimum:"0" doc:"messages of a visitor at once"`
	// VisitorTurns is how many messages of one address may be answered at the same time.
	VisitorTurns int `key:"visitor_turns" minimum:"0" doc:"concurrent turns of a visitor"`
	// SitePerMinute is how many messages a minute all visitors together may send, and how many at once.
	SitePerMinute int `key:"site_per_minute" minimum:"0" doc:"messages of all visitors per minute"`
	// TokensPerDay and CostPerDay (US dollars) are what all turns of a day may use of models. The day is that of the
	// site's zone.
	TokensPerDay int     `key:"tokens_per_day" minimum:"0" doc:"tokens per day"`
	CostPerDay   float64 `key:"cost_per_day" minimum:"0" maximum:"1000000000" doc:"US dollars per day"`
	// PromptTokens bounds one model call; a token is four characters.
	PromptTokens int `key:"prompt_tokens" minimum:"0" doc:"tokens per prompt"`
}

// defaultLimits are those of a site that names none.
func defaultLimits() Limits {
	return Limits{VisitorPerMinute: 20, VisitorBurst: 20, VisitorTurns: 4, SitePerMinute: 600, PromptTokens: 16_000}
}

// HasBudget reports whether the site bounds what it spends in a day.
func (l Limits) HasBudget() bool { return l.TokensPerDay > 0 || l.CostPerDay > 0 }
