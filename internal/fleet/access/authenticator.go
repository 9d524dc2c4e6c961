package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// Store has the tokens of a server, by their hashes (store.Fleet).
type Store interface {
	TokenHashes(ctx context.Context) (map[[sha256.Size]byte]store.Token, error)
}

// Config says where tokens are. The zero value has none.
type Config struct {
	// Token is that of the environment, which has the scope Admin; empty without one.
	Token string
	// Store has the other tokens; nil without them.
	Store Store
	// Mark is a file that remembers that there was a token: a server that has lost its tokens rejects every request.
	// Empty remembers nothing.
	Mark string
	// Now is the clock by which tokens expire; nil means time.Now.
	Now func() time.Time
}

// What is wrong with a token that was sent.
var (
	ErrUnknown = errors.New("the token is not one of this server's")
	ErrExpired = errors.New("the token has expired")
)

// Reading the tokens takes lookTime at most, and what was read is used for keep. So a change counts within 4 s.
const (
	keep     = time.Second
	lookTime = 3 * time.Second
)

// Authenticator knows the tokens of a server. It reads all of the store's at once, at most once a second, whatever is
// sent: unknown tokens cost neither memory nor a query. It is safe for concurrent use. Use New.
type Authenticator struct {
	Config
	token [sha256.Size]byte

	remembered atomic.Bool

	mu     sync.Mutex
	tokens map[[sha256.Size]byte]store.Token
	err    error // of the last look
	looked time.Time
}

// New returns an authenticator.
func New(c Config) *Authenticator {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Authenticator{Config: c, token: store.HashToken(c.Token)}
}

// Authenticate returns what a token opens. The error is ErrUnknown or ErrExpired for a token that opens nothing, and
// another one if the store cannot be read.
func (a *Authenticator) Authenticate(sent string) (Grant, error) {
	hash := store.HashToken(sent)
	if a.Token != "" && subtle.ConstantTimeCompare(hash[:], a.token[:]) == 1 {
		return Grant{ID: hex.EncodeToString(hash[:]), Scopes: Scopes{Admin}}, nil
	}
	tokens, err := a.look()
	if err != nil {
		return Grant{}, err
	}
	found, ok := tokens[hash]
	switch {
	case !ok:
		return Grant{}, ErrUnknown
	case found.Expired(a.Now()):
		return Grant{}, ErrExpired
	}
	scopes := make(Scopes, len(found.Scopes))
	for i, name := range found.Scopes {
		scopes[i] = Scope(name)
	}
	return Grant{Token: found.Name, ID: hex.EncodeToString(hash[:]), Scopes: scopes}, nil
}

// Configured reports whether there is any token, expired or not, or ever was one. The error is that of a store that
// cannot be read or of a Mark that cannot be written.
func (a *Authenticator) Configured() (bool, error) {
	if a.Token != "" {
		return true, a.remember()
	}
	tokens, err := a.look()
	switch {
	case err != nil || len(tokens) > 0:
		return len(tokens) > 0, err
	}
	return a.Lost(), nil
}

// Lost reports whether there was a token once and there is none now.
func (a *Authenticator) Lost() bool {
	tokens, err := a.look()
	if a.Mark == "" || a.Token != "" || err != nil || len(tokens) > 0 {
		return false
	}
	_, err = os.Stat(a.Mark)
	return !errors.Is(err, fs.ErrNotExist)
}

// remember writes the Mark.
func (a *Authenticator) remember() error {
	if a.Mark == "" || a.remembered.Load() {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(a.Mark), 0o700)
	if err == nil {
		err = os.WriteFile(a.Mark, nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("remember that there is a token: %w", err)
	}
	a.remembered.Store(true)
	return nil
}

// Forget makes the next request look into the store: this server has changed its tokens.
func (a *Authenticator) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looked = time.Time{}
}

// look returns the tokens of the store as they were within the last second. Requests that come during a look wait for
// it.
func (a *Authenticator) look() (map[[sha256.Size]byte]store.Token, error) {
	if a.Store == nil {
		return nil, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.looked.IsZero() || time.Since(a.looked) >= keep {
		// The look is not the request's alone, and does not end with it.
		within, cancel := context.WithTimeout(context.Background(), lookTime)
		defer cancel()
		a.tokens, a.err = a.Store.TokenHashes(within)
		a.looked = time.Now() // its end: who waited for it does not look again
		if a.err == nil && len(a.tokens) > 0 {
			a.err = a.remember()
		}
		if a.err != nil {
			a.tokens, a.err = nil, fmt.Errorf("look for tokens: %w", a.err)
		}
	}
	return a.tokens, a.err
}
