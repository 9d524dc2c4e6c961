package natsconn

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Notice tells the servers how a conversation goes on. Notices may be lost, and nothing rests on them.
type Notice struct {
	Run     string     `json:"run"`
	Kind    string     `json:"kind"`
	Key     result.Key `json:"key"`
	Attempt int        `json:"attempt"`
	Worker  string     `json:"worker"`
	At      time.Time  `json:"at"`
	// Turn is the turn that has ended, from 1, and Of how many there are; Turn is 0 when the conversation begins.
	Turn int `json:"turn,omitempty"`
	Of   int `json:"of,omitempty"`
}

// Notify sends a notice to all who listen. It does not wait.
func (c *Conn) Notify(n Notice) error {
	if !c.nats.IsConnected() {
		return nil // it would be old when it is sent
	}
	data, err := json.Marshal(n)
	if err == nil {
		err = c.nats.Publish("rehearse.notice."+Token(n.Run), data)
	}
	if err != nil {
		return fmt.Errorf("send a notice: %w", err)
	}
	return nil
}

// Notices calls f for each notice of a run, one at a time, until stop is called.
func (c *Conn) Notices(run string, f func(Notice)) (stop func(), err error) {
	sub, err := c.nats.Subscribe("rehearse.notice."+Token(run), func(m *nats.Msg) {
		var n Notice
		if json.Unmarshal(m.Data, &n) == nil && n.Run == run {
			f(n)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listen for notices: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil
}
