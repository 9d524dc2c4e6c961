package wire

import (
	"sync"

	"github.com/rehearse-dev/rehearse/internal/model/mcp"
)

// toolHost is the server of tools over MCP, which all targets share.
type toolHost struct {
	opening sync.Mutex
	host    *mcp.Host
}

// get returns the host, which it starts on first use.
func (t *toolHost) get() (*mcp.Host, error) {
	t.opening.Lock()
	defer t.opening.Unlock()
	if t.host == nil {
		host, err := mcp.Listen()
		if err != nil {
			return nil, err
		}
		t.host = host
	}
	return t.host, nil
}

// close closes the host, if there is one.
func (t *toolHost) close() error {
	t.opening.Lock()
	defer t.opening.Unlock()
	if t.host == nil {
		return nil
	}
	return t.host.Close()
}
