package coordinator

import (
	"context"
	"errors"
)

// offering notes that a run which is led here needs a bundle, before it is put into NATS.
func (s *Service) offering(run, sha256 string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offered[run] == nil {
		s.offered[run] = map[string]bool{}
	}
	s.offered[run][sha256] = true
}

// forgetOffers returns the bundles of a run that no other run needs which is led here, and forgets what it needs.
func (s *Service) forgetOffers(run string) (alone []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	needed := s.offered[run]
	delete(s.offered, run)
	for sha256 := range needed {
		shared := false
		for _, other := range s.offered {
			shared = shared || other[sha256]
		}
		if !shared {
			alone = append(alone, sha256)
		}
	}
	return alone
}

// dropBundles takes what a run that has ended needed out of NATS. A server elsewhere that leads a run with the same
// files puts them in again when they are missed.
func (s *Service) dropBundles(ctx context.Context, run string) (err error) {
	for _, sha256 := range s.forgetOffers(run) {
		err = errors.Join(err, s.Conn.DeleteBundle(ctx, sha256))
	}
	return err
}
