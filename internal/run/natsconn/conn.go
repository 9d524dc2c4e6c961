package natsconn

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// dialTime bounds one try to connect, askTime one question to JetStream whose caller set no deadline.
	dialTime = 5 * time.Second
	askTime  = 10 * time.Second
	// maxPause is the longest pause between two tries to connect.
	maxPause = 2 * time.Second
	// window bounds the messages that are sent and not yet confirmed.
	window = 512
)

// ErrRefused says that NATS is there and does not let this process in.
var ErrRefused = errors.New("NATS refuses the credentials")

// ConnConfig says how to connect. One of Server and URL is needed.
type ConnConfig struct {
	// Server is the embedded server of this process.
	Server *Server
	// URL is one address of NATS or several, separated by commas. It may hold a user with a password, or a token; it is
	// never logged.
	URL string
	// Token stands in for credentials that URL does not have.
	Token string
	// Name is shown by NATS's own tools.
	Name string
	// OnLink, if set, is told when NATS is waited for, when it was lost, and when it is back. It may be called by
	// another goroutine, and must return quickly.
	OnLink func(Link)
}

// Link is the state of a connection to NATS.
type Link struct {
	// Up is true when NATS can be reached. Err says why not; it names no credentials.
	Up  bool
	Err error
}

// Conn is a connection to NATS. It reconnects for ever. It is safe for concurrent use. Use Connect, and Close it.
type Conn struct {
	nats *nats.Conn
	js   jetstream.JetStream
}

// Connect waits for NATS and its JetStream, until ctx ends. Credentials that are refused are an error at once
// (ErrRefused), and so is a URL that cannot be read.
func Connect(ctx context.Context, c ConnConfig) (*Conn, error) {
	options, err := c.options()
	if err != nil {
		return nil, err
	}
	tell := c.OnLink
	if tell == nil {
		tell = func(Link) {}
	}
	waiting := false
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, maxPause) {
		conn, err := c.dial(ctx, options)
		if err == nil {
			if waiting {
				tell(Link{Up: true})
			}
			return conn, nil
		}
		if fatal(err) {
			return nil, err
		}
		if !waiting {
			waiting = true
			tell(Link{Err: err})
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for NATS: %w", ctx.Err())
		case <-time.After(pause):
		}
	}
}

func fatal(err error) bool {
	return errors.Is(err, ErrRefused) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
}

// options are those of NATS's client.
func (c ConnConfig) options() ([]nats.Option, error) {
	tell := c.OnLink
	if tell == nil {
		tell = func(Link) {}
	}
	options := []nats.Option{
		nats.Name(c.Name), nats.Timeout(dialTime), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 500*time.Millisecond),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if !nc.IsClosed() && err != nil {
				tell(Link{Err: err})
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { tell(Link{Up: true}) }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // else it writes to stderr
	}
	token := c.Token
	if c.Server != nil {
		options = append(options, nats.InProcessServer(c.Server))
		token = c.Server.token
	} else {
		known, err := hasCredentials(c.URL)
		if err != nil {
			return nil, err
		}
		if known {
			token = ""
		}
	}
	if token != "" {
		options = append(options, nats.Token(token))
	}
	return options, nil
}

// hasCredentials reads the addresses of NATS. Its error does not quote them, since they may hold a password.
func hasCredentials(urls string) (known bool, err error) {
	for s := range strings.SplitSeq(urls, ",") {
		s = strings.TrimSpace(s)
		if !strings.Contains(s, "://") {
			s = "nats://" + s
		}
		u, err := url.Parse(s)
		if err != nil || u.Hostname() == "" || strings.Contains(u.Hostname(), ":") && !strings.HasPrefix(u.Host, "[") {
			return false, errors.New("the address of NATS is no URL of the form nats://HOST:PORT")
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return false, fmt.Errorf("the address of NATS begins with %q, not with nats, tls, ws or wss", u.Scheme)
		}
		known = known || u.User != nil
	}
	return known, nil
}

// dial connects once and asks whether JetStream is there.
func (c ConnConfig) dial(ctx context.Context, options []nats.Option) (*Conn, error) {
	nc, err := nats.Connect(c.URL, options...)
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
		return nil, ErrRefused
	}
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(window), jetstream.WithDefaultTimeout(askTime))
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, dialTime)
		defer cancel()
		_, err = js.AccountInfo(ctx)
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("reach JetStream: %w", err)
	}
	return &Conn{nats: nc, js: js}, nil
}

// NATS is the connection of NATS's client.
func (c *Conn) NATS() *nats.Conn { return c.nats }

// JetStream is the client of JetStream on the connection.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// Check returns nil when NATS answers.
func (c *Conn) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if err := c.nats.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("reach NATS: %w", err)
	}
	return nil
}

// Close sends what is on its way and ends the connection.
func (c *Conn) Close() {
	_ = c.nats.FlushTimeout(time.Second)
	c.nats.Close()
}
