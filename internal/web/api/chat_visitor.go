package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// isVisitor reports whether only --public lets a request in: it brings no token. The limits of visitors are for these.
func isVisitor(r *http.Request) bool {
	grant := access.Of(r.Context())
	return grant.Open && len(grant.Scopes) == 0
}

// addresses notices when all visitors have one loopback address: a proxy on this machine then forwards them without
// their addresses, and they share one limit. It is safe for concurrent use.
type addresses struct {
	mu      sync.Mutex
	session string
	// done is true once a visitor has another address, or the warning was given.
	done bool
}

// shared is given the address and the session of each visitor. It returns true once: for the second session, if both
// came from loopback.
func (a *addresses) shared(ip netip.Addr, session string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return false
	}
	first := a.session
	a.session, a.done = session, !ip.IsLoopback() || first != "" && first != session
	return a.done && ip.IsLoopback()
}

// Bounds of the session ids of visitors. Who guesses an id has the conversation, so it must be hard to guess: 22
// characters of 64 are the 128 bits that the page makes.
const (
	minVisitorID = 22
	maxVisitorID = 200
	minDifferent = 10
	maxSignedID  = 150
	idCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	codeWeakID   = "weak_session_id"
	weakIDHint   = "send 22 to 200 characters of A-Z a-z 0-9 _ and -, made at random, " +
		"or an id that the site's server has signed"
	weakIDProblem = "the session_id could be guessed"
	signatureMark = "."
)

// strongID reports whether a visitor's session id cannot be guessed, or is signed by the owner of the site under one of
// its names.
func (s *Chats) strongID(session string, siteNames ...string) bool {
	if hardToGuess(session) {
		return true
	}
	id, signature, signed := strings.Cut(session, signatureMark)
	if !signed || len(s.SessionKey) == 0 || id == "" || len(id) > maxSignedID || !idAlphabet(id) {
		return false
	}
	sent, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil {
		return false
	}
	for _, name := range siteNames {
		mac := hmac.New(sha256.New, s.SessionKey)
		mac.Write([]byte(name + ":" + id))
		if hmac.Equal(sent, mac.Sum(nil)) {
			return true
		}
	}
	return false
}

// hardToGuess reports whether an id looks like one that was made at random: long, of the alphabet of ids, and not of a
// few characters only.
func hardToGuess(id string) bool {
	if len(id) < minVisitorID || len(id) > maxVisitorID || !idAlphabet(id) {
		return false
	}
	different := map[rune]bool{}
	for _, c := range id {
		different[c] = true
	}
	return len(different) >= minDifferent
}

func idAlphabet(id string) bool { return strings.Trim(id, idCharacters) == "" }

// weakID is the problem of a visitor whose session id could be guessed; nil when it cannot, or when it is no visitor
// who asks.
func (s *Chats) weakID(r *http.Request, session, siteName string) *Problem {
	if !isVisitor(r) || s.strongID(session, siteName) {
		return nil
	}
	return newProblem(http.StatusBadRequest, codeWeakID, weakIDProblem, weakIDHint)
}
