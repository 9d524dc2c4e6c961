package api

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// changingTokens are tokens that come and go.
type changingTokens struct {
	mu     sync.Mutex
	tokens map[string]store.Token
}

func (s *changingTokens) TokenHashes(context.Context) (map[[sha256.Size]byte]store.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (&tokenStore{tokens: s.tokens}).TokenHashes(context.Background())
}

func (s *changingTokens) set(tokens map[string]store.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = tokens
}

// A stream ends within 5 s when its token is removed or expires, and one without a token when a token is asked for.
func TestRunningStreamsAreRevoked(t *testing.T) {
	const forever = time.Hour
	soon := 20 * time.Second
	for name, c := range map[string]struct {
		method, token string
		before, after func() map[string]store.Token
		trusting      bool
		ends          time.Duration
	}{
		"removed": {
			"GET", "secret", tokens("secret", nil), tokens("other", nil), false, 15 * time.Second,
		},
		"expires": {
			"GET", "secret", tokens("secret", &soon), tokens("secret", &soon), false, 35 * time.Second,
		},
		"stays": {
			"GET", "secret", tokens("secret", nil), tokens("secret", nil), false, forever,
		},
		"the first token is made":          {"GET", "", tokens("", nil), tokens("other", nil), false, 15 * time.Second},
		"the first is made, not for these": {"GET", "", tokens("", nil), tokens("other", nil), true, forever},
		"a change is completed": {
			"POST", "secret", tokens("secret", nil), tokens("other", nil), false, forever,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, kept := time.Now(), &changingTokens{}
				kept.set(c.before())
				time.AfterFunc(10*time.Second, func() { kept.set(c.after()) })
				handler := Front(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(http.StatusOK)
					select {
					case <-r.Context().Done():
					case <-time.After(forever):
					}
				}), FrontConfig{Access: access.New(access.Config{Store: kept}), TrustLoopback: c.trusting})
				request := httptest.NewRequest(c.method, "http://127.0.0.1/", nil)
				request.RemoteAddr = "127.0.0.1:5"
				if c.token != "" {
					request.Header.Set("Authorization", "Bearer "+c.token)
				}
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, request)
				if took := time.Since(began); answer.Code != http.StatusOK || took > c.ends ||
					took < c.ends-5*time.Second {
					t.Errorf("status %d, it ended after %s, want at most %s", answer.Code, took, c.ends)
				}
			})
		})
	}
}

// tokens returns one token that expires after a time, or never; none without a name.
func tokens(token string, expires *time.Duration) func() map[string]store.Token {
	return func() map[string]store.Token {
		if token == "" {
			return nil
		}
		kept := store.Token{Name: token, Scopes: []string{string(access.Read)}}
		if expires != nil {
			kept.ExpiresAt = new(time.Now().Add(*expires))
		}
		return map[string]store.Token{token: kept}
	}
}
