// Package natsconn is what servers and workers share over NATS: the connection, the bundles of runs, what workers send
// back, which workers there are, which runs are cancelled, the limits of providers and the verdicts of judges. Jobs are
// the room queue's.
package natsconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// ErrServed says that another server uses the folder.
var ErrServed = errors.New("another server uses the folder")

// ErrOpenListener says that a server was to listen off loopback without a password.
var ErrOpenListener = errors.New("a NATS listener off loopback needs a password")

const (
	// startTime bounds the start of an embedded server, which reads what it has kept.
	startTime = 2 * time.Minute
	// maxStore bounds what an embedded server keeps on disk, maxMemory what it keeps in memory.
	maxStore  = 64 << 30
	maxMemory = 64 << 20
	// maxPayload bounds one message.
	maxPayload = 1 << 20
)

// ServerConfig says how an embedded NATS server runs.
type ServerConfig struct {
	// Dir is the folder that it keeps its streams in. It is made when it is missing.
	Dir string
	// Listen is the HOST:PORT on which others can join; port 0 takes a free one. Empty listens nowhere.
	Listen string
	// Token is the password for those who join. It is needed when Listen is off loopback.
	Token string
	// Log gets the server's warnings and errors; nil discards them.
	Log *slog.Logger
}

// Server is a NATS server inside this process, with JetStream on files. Use StartServer, and Close it.
type Server struct {
	options server.Options
	log     *slog.Logger
	token   string // asked from every connection; empty without a listener
	lock    *flock.Flock
	// unwritten is told when the server could not write to its disk.
	unwritten chan struct{}
	stop      context.CancelFunc
	mending   sync.WaitGroup
	// neverListened is what NeverListened returns.
	neverListened bool

	mu   sync.Mutex
	nats *server.Server // another one after each restart
}

// StartServer starts a server and returns when it serves. It returns ErrServed when another server uses the folder,
// ErrOpenListener for a listener off loopback without a token.
func StartServer(ctx context.Context, c ServerConfig) (*Server, error) {
	options := server.Options{
		ServerName: "rehearse", DontListen: true, NoSigs: true, NoLog: true, NoSystemAccount: true,
		MaxPayload:     maxPayload,
		NoSublistCache: true, // nearly every subject is one job's, and is never met again
		JetStream:      true, StoreDir: c.Dir, JetStreamMaxStore: maxStore, JetStreamMaxMemory: maxMemory,
		DisableJetStreamBanner: true,
	}
	if c.Listen != "" {
		if err := listenAt(&options, c); err != nil {
			return nil, err
		}
	}
	lock, err := lockFolder(c.Dir)
	if err != nil {
		return nil, err
	}
	never, err := noteListener(c.Dir, c.Listen != "")
	if err != nil {
		return nil, fmt.Errorf("start the NATS server: %w", errors.Join(err, lock.Unlock()))
	}
	mending, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{
		options: options, log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), token: options.Authorization, lock: lock,
		unwritten: make(chan struct{}, 1), stop: stop, neverListened: never,
	}
	if err := s.start(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("start the NATS server: %w", err)
	}
	s.mending.Go(func() { s.mend(mending) })
	return s, nil
}

// listenAt gives the options a listener.
func listenAt(options *server.Options, c ServerConfig) error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen for NATS: %w", err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("listen for NATS: port %q is not a number up to 65535", port)
	}
	if ip := net.ParseIP(host); c.Token == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("listen for NATS at %s: %w", c.Listen, ErrOpenListener)
	}
	options.DontListen, options.Host, options.Port, options.Authorization = false, host, int(number), c.Token
	if number == 0 {
		options.Port = server.RANDOM_PORT
	}
	return nil
}

// lockFolder makes the folder and locks it, for as long as the process lives.
func lockFolder(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of NATS: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the folder of NATS: %w", err)
	}
	if !locked {
		return nil, fmt.Errorf("lock %s: %w", dir, ErrServed)
	}
	return lock, nil
}

func (s *Server) start(ctx context.Context) error {
	options := s.options // NATS writes into its options
	ns, err := server.NewServer(&options)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.nats = ns
	s.mu.Unlock()
	failed := make(chan error, 1)
	ns.SetLoggerV2(serverLog{s.log, failed, s.unwritten}, false, false, false)
	ns.Start()
	deadline := time.Now().Add(startTime)
	for !ns.ReadyForConnections(100*time.Millisecond) || !ns.JetStreamEnabled() {
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it is not ready after %s", startTime)
		}
	}
	return nil
}

// Addr is where the server listens, HOST:PORT; empty when it listens nowhere.
func (s *Server) Addr() string {
	if addr := s.current().Addr(); addr != nil {
		return addr.String()
	}
	return ""
}

func (s *Server) current() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nats
}

// InProcessConn connects to the server without a listener. It implements nats.InProcessConnProvider.
func (s *Server) InProcessConn() (net.Conn, error) { return s.current().InProcessConn() }

// Close stops the server and gives the folder free. What it has acknowledged is on disk.
func (s *Server) Close() {
	s.stop()
	s.mending.Wait()
	if ns := s.current(); ns != nil {
		ns.Shutdown()
		ns.WaitForShutdown()
	}
	_ = s.lock.Unlock()
}

// serverLog writes the warnings and errors of a NATS server to a slog.Logger. What keeps it from serving goes to
// failed; unwritten is told when it could not write to its disk.
type serverLog struct {
	log       *slog.Logger
	failed    chan<- error
	unwritten chan<- struct{}
}

func (l serverLog) Noticef(string, ...any)        {}
func (l serverLog) Debugf(string, ...any)         {}
func (l serverLog) Tracef(string, ...any)         {}
func (l serverLog) Warnf(format string, v ...any) { l.log.Warn("nats: " + fmt.Sprintf(format, v...)) }

func (l serverLog) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.log.Error("nats: " + text)
	if strings.Contains(strings.ToLower(text), writeError) {
		select {
		case l.unwritten <- struct{}{}:
		default: // it is known
		}
	}
}

func (l serverLog) Fatalf(format string, v ...any) {
	select {
	case l.failed <- fmt.Errorf(format, v...):
	default:
	}
}
