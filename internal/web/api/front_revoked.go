package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// recheck is the time between two looks whether a request under way may go on. With the time for which tokens are
// remembered, a change counts within 5 s.
const recheck = 500 * time.Millisecond

// whileAdmitted returns a context that ends when the request may not be made any more: its token was removed or has
// expired, or a token is asked for now. stop ends the looking. Only what is read is watched, which may go on for long;
// a change that was begun is completed.
func (f *front) whileAdmitted(ctx context.Context, r *http.Request) (watched context.Context, stop func()) {
	if r.Method != http.MethodGet {
		return ctx, func() {}
	}
	watched, cancel := context.WithCancel(ctx)
	first := time.AfterFunc(recheck, func() {
		look := time.NewTicker(recheck)
		defer look.Stop()
		for !f.revoked(r) {
			select {
			case <-look.C:
			case <-watched.Done():
				return
			}
		}
		cancel()
	})
	return watched, func() {
		first.Stop()
		cancel()
	}
}

// revoked reports whether a request that was let in would be refused now. A store that is away revokes nothing.
func (f *front) revoked(r *http.Request) bool {
	trusted, _ := f.trusted(r)
	if sent, given := sentToken(r); given && !(f.AnyKey && trusted) {
		_, err := f.Access.Authenticate(sent)
		return errors.Is(err, access.ErrUnknown) || errors.Is(err, access.ErrExpired)
	}
	configured, err := f.Access.Configured()
	return err == nil && configured && !trusted && (f.Public == nil || !f.Public(r))
}
