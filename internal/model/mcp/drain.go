package mcp

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// draining is a transport whose input ends only when everything that came in is answered: a client that writes all its
// requests and closes its end is answered like one that waits.
type draining struct{ mcp.Transport }

// Connect implements mcp.Transport.
func (d draining) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := d.Transport.Connect(ctx)
	return &drainingConnection{Connection: c, answered: sync.NewCond(&sync.Mutex{})}, err
}

type drainingConnection struct {
	mcp.Connection
	answered *sync.Cond
	// open counts the requests without an answer. Its lock is answered's.
	open int
	over bool
}

// Read returns the next message. At the end of the input it waits for the open answers, or for the end of the
// connection.
func (c *drainingConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	c.answered.L.Lock()
	defer c.answered.L.Unlock()
	if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() {
		c.open++
	}
	if err != nil {
		stop := context.AfterFunc(ctx, c.end)
		defer stop()
		for c.open > 0 && !c.over {
			c.answered.Wait()
		}
	}
	return message, err
}

// Write writes a message.
func (c *drainingConnection) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if _, ok := message.(*jsonrpc.Response); ok {
		c.answered.L.Lock()
		c.open--
		c.answered.L.Unlock()
		c.answered.Broadcast()
	}
	return err
}

// Close ends the connection.
func (c *drainingConnection) Close() error {
	c.end()
	return c.Connection.Close()
}

func (c *drainingConnection) end() {
	c.answered.L.Lock()
	c.over = true
	c.answered.L.Unlock()
	c.answered.Broadcast()
}
