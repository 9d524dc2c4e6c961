package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Listening says how a handler is served.
type Listening struct {
	// Addr is HOST:PORT; port 0 takes a free one.
	Addr string
	// Guarded is true if a token is asked for; else only loopback is listened on. TokenEnv is the variable to put one
	// into.
	Guarded  bool
	TokenEnv string
	// Log gets what net/http has to say; nil discards it.
	Log *slog.Logger
	// Stop ends serving: the first signal lets requests in flight finish, for Grace at most, the second gives them up.
	Stop  <-chan os.Signal
	Grace time.Duration
	// Opened is told the address before the first request, Stopping that a signal has come. Both may be nil.
	Opened   func(net.Addr)
	Stopping func()
	// Drain waits for work that outlives its request, until ctx ends. It may be nil.
	Drain func(ctx context.Context) error
}

// ErrGivenUp says that requests in flight had no time to finish.
var ErrGivenUp = errors.New("turns in flight were given up")

// lastAnswers is how long the last answers may take whose work has used up the grace period.
const lastAnswers = time.Second

// Serve serves a handler until a signal or the end of ctx, with a time limit for headers and bodies. The context of
// requests ends when they are given up. An address that cannot be meant is source.Invalid.
func Serve(ctx context.Context, handler http.Handler, l Listening) error {
	listener, err := l.open(ctx)
	if err != nil {
		return err
	}
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	s := l.server(handler)
	s.BaseContext = func(net.Listener) context.Context { return working }
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(listener) }()
	if l.Opened != nil {
		l.Opened(listener.Addr())
	}
	select {
	case err := <-ended:
		return err
	case <-l.Stop:
	case <-ctx.Done():
	}
	complete := l.finish(s, cancel)
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if !complete {
		return ErrGivenUp
	}
	return nil
}

// server returns a server with time limits for heads and bodies. Handlers limit the time for taking an answer: a stream
// may go on for long.
func (l *Listening) server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:                      handler,
		ReadTimeout:                  readTimeout,
		IdleTimeout:                  2 * time.Minute,
		MaxHeaderBytes:               64 << 10,
		DisableGeneralOptionsHandler: true, // OPTIONS * is asked for a token as all else
		ErrorLog:                     slog.NewLogLogger(logOrDiscard(l.Log).Handler(), slog.LevelWarn),
	}
}

// finish lets requests in flight finish within the grace period, or until a second signal; cancel gives up what is
// left. It reports whether all of them finished.
func (l *Listening) finish(s *http.Server, cancel context.CancelFunc) (complete bool) {
	if l.Stopping != nil {
		l.Stopping()
	}
	given, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	finished, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-l.Stop:
			giveUp()
		case <-finished:
		}
	}()
	if complete = l.ends(given, s); !complete {
		cancel()
		_ = s.Close() // open connections had the grace period
	}
	close(finished)
	<-watched
	return complete
}

// ends waits for work under way and then for answers that are still sent; it reports whether all of them ended. Until
// the work has ended the server listens on, so that it can say that it is stopping.
func (l *Listening) ends(given context.Context, s *http.Server) bool {
	until := time.Now().Add(l.Grace)
	if l.Drain != nil {
		within, done := context.WithDeadline(given, until)
		err := l.Drain(within)
		done()
		if err != nil {
			return false
		}
	}
	within, done := context.WithTimeout(given, max(time.Until(until), lastAnswers))
	defer done()
	return s.Shutdown(within) == nil
}

// BaseOf returns the address of what listens, by which a browser of this machine reaches it: no request for a page may
// name "all addresses".
func BaseOf(at net.Addr) string {
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", tcp.Port)
	}
	return "http://" + at.String()
}

// open opens the port. Only programs of this machine may come in without a token.
func (l *Listening) open(ctx context.Context) (net.Listener, error) {
	_, port, err := net.SplitHostPort(l.Addr)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(ctx, "tcp", port) // as Listen would; it asks nobody
	}
	if err != nil {
		return nil, source.Invalid("--addr %q is not HOST:PORT, such as 127.0.0.1:8090", l.Addr)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", l.Addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w (is the port taken? choose another with --addr)", l.Addr, err)
	}
	at, ok := listener.Addr().(*net.TCPAddr)
	if !l.Guarded && (!ok || !at.IP.IsLoopback()) {
		_ = listener.Close()
		return nil, source.Invalid("%s can be reached from other machines: put a token into %s, or listen on 127.0.0.1",
			l.Addr, l.TokenEnv)
	}
	return listener, nil
}
