package mcp

// Calls returns how many calls the turn under way has.
func (c *Conversation) Calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.turn.calls)
}
