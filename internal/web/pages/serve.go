package pages

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/web/api"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// Serving says how pages are served by themselves.
type Serving struct {
	Config
	// Addr is HOST:PORT; port 0 takes a free one. Off loopback Token is needed; TokenEnv is where it comes from.
	Addr, Token, TokenEnv string
	// Stop ends serving.
	Stop <-chan os.Signal
	// Opened is told where the pages are, before the first request.
	Opened func(base string)
}

// grace is how long pages may take that are under way at the end.
const grace = 500 * time.Millisecond

// Serve serves pages until a signal or the end of ctx. Streams end at once, so that the program does within two
// seconds.
func Serve(ctx context.Context, s Serving) error {
	stopping := make(chan struct{})
	s.Config.Stopping = stopping
	guarded := s.Token != "" && !onLoopback(s.Addr)
	if guarded {
		s.Frame.Guard = Tokens{access.New(access.Config{Token: s.Token})}
	}
	handler := New(s.Config)
	if !guarded {
		handler = api.RefuseForwarded(handler)
	}
	err := api.Serve(ctx, handler, api.Listening{
		Addr: s.Addr, Guarded: guarded, TokenEnv: s.TokenEnv, Log: s.Frame.Log, Stop: s.Stop, Grace: grace,
		Opened:   func(at net.Addr) { s.Opened(api.BaseOf(at)) },
		Stopping: func() { close(stopping) },
	})
	if errors.Is(err, api.ErrGivenUp) { // a page that nobody waits for any more
		return nil
	}
	return err
}

// onLoopback reports whether an address is one of this machine alone.
func onLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// Tokens admits those whose token has the scope of what they ask for.
type Tokens struct{ *access.Authenticator }

var _ frame.Access = Tokens{}

// errScope is that of a token which opens other things.
var errScope = errors.New("the token does not open this")

// Admits returns nil for a token with the scope read, or run for a form.
func (t Tokens) Admits(_ *http.Request, token string, post bool) error {
	grant, err := t.Authenticate(token)
	if err != nil {
		return err
	}
	return inScope(grant, post)
}

// Browse opens an address in the system's browser. It does not wait for it.
func Browse(ctx context.Context, address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	return exec.CommandContext(ctx, name, args...).Start()
}

// Start returns the path of the first page: that of a run, or all runs where none is named.
func Start(run string) string {
	if run == "" {
		return "/runs"
	}
	return addressOfRun(run)
}
