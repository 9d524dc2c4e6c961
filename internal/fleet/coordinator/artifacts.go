package coordinator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/run/artifact"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// keepArtifacts prepares to keep the artifacts of a run that asks for them. What was kept of it before counts.
func (l *activeRun) keepArtifacts(spec runspec.Spec, s *wire.Setup) error {
	l.tell, l.came, l.stored = s.WarnOnce, map[result.Key][]string{}, map[result.Key]bool{}
	if !spec.Artifacts || l.service.Artifacts == nil {
		return nil
	}
	l.sent = l.service.Conn.RunArtifacts(l.run)
	l.artifacts = artifact.New(l.service.Artifacts, artifact.MaxRun, s.WarnOnce)
	for r, err := range l.service.Store.AllResults(l.ctx, l.run, store.ResultFilter{}) {
		if err != nil {
			return err
		}
		t, err := r.Test()
		if err != nil {
			return err
		}
		l.stored[t.Key()] = true
	}
	for page := (store.PageOf{Limit: 1000}); ; {
		found, err := l.service.Store.Artifacts(l.ctx, l.run, page)
		if err != nil {
			return err
		}
		for _, a := range found.Items {
			l.artifacts.Before(a.SHA256, a.Bytes)
		}
		if found.Next == nil {
			return nil
		}
		page.Cursor = *found.Next
	}
}

const (
	// fetchedAtOnce is how many artifacts of a conversation are fetched at once, mostArtifacts how many one has at
	// most.
	fetchedAtOnce = 8
	mostArtifacts = 10_000
)

// kinds are those of artifacts that a worker may send.
var kinds = []string{
	collect.Prompt, collect.Exchange, collect.ToolResult, collect.MemoryDelta, collect.JudgePrompt, collect.JudgeReply,
}

// receiveArtifacts keeps what a worker has gathered of a conversation, before its record is kept. What cannot be kept
// has no hash in the record.
func (l *activeRun) receiveArtifacts(ctx context.Context, t *result.Test) {
	key := t.Key()
	l.mu.Lock()
	stored := l.stored[key]
	l.mu.Unlock()
	if l.artifacts == nil || stored { // nobody asked, or the first record stands
		t.Artifacts = nil
		return
	}
	t.Artifacts = slices.DeleteFunc(t.Artifacts, func(a result.Artifact) bool {
		return !slices.Contains(kinds, a.Kind)
	})
	t.Artifacts = t.Artifacts[:min(len(t.Artifacts), mostArtifacts)]
	var hashes []string
	for _, a := range t.Artifacts {
		hashes = append(hashes, a.SHA256)
	}
	l.service.expect(hashes)
	l.mu.Lock()
	l.came[key] = append(l.came[key], hashes...)
	l.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(fetchedAtOnce)
	for i := range t.Artifacts {
		group.Go(func() error {
			a := &t.Artifacts[i]
			if a.SHA256 != "" && !l.fetch(ctx, a) {
				a.SHA256 = ""
			}
			return nil
		})
	}
	_ = group.Wait() // none fails
	if slices.ContainsFunc(t.Artifacts, func(a result.Artifact) bool { return a.SHA256 == "" }) {
		l.tell("not all artifacts could be kept: those that records name without a hash are missing")
	}
}

// fetchTime bounds how long an artifact is fetched.
const fetchTime = time.Minute

// fetch keeps an artifact that a worker has put into NATS.
func (l *activeRun) fetch(ctx context.Context, a *result.Artifact) bool {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	if !artifact.IsHash(a.SHA256) {
		return false
	}
	data, err := l.sent.Get(ctx, a.SHA256)
	if sum := sha256.Sum256(data); err == nil &&
		(hex.EncodeToString(sum[:]) != a.SHA256 || int64(len(data)) != a.Bytes || len(data) > artifact.MaxBytes) {
		err = natsconn.ErrDamaged
	}
	if err != nil {
		l.service.Log.Warn("an artifact of a worker cannot be fetched", "run_id", l.run, "sha256", a.SHA256,
			"error", err)
		return false
	}
	return l.artifacts.Put(ctx, a.SHA256, data)
}

// rowsOf returns the rows of what was kept of a conversation.
func rowsOf(t *result.Test) (rows []store.Artifact) {
	for _, a := range t.Artifacts {
		if a.SHA256 != "" {
			rows = append(rows, store.Artifact{
				Turn: a.Turn, Kind: a.Kind, SHA256: a.SHA256, Bytes: a.Bytes, Truncated: a.Truncated,
			})
		}
	}
	return rows
}

// arrived notes that records are stored, with the rows of their artifacts; nil stands for all that will not be.
func (l *activeRun) arrived(records []*result.Test) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if records == nil {
		for _, hashes := range l.came {
			l.service.unexpect(hashes)
		}
		l.came = nil
	}
	for _, t := range records {
		l.service.unexpect(l.came[t.Key()])
		delete(l.came, t.Key())
		l.stored[t.Key()] = true
	}
}

// expect keeps the bytes under hashes from being swept until rows name them.
func (s *Service) expect(hashes []string) {
	s.arriving.Lock()
	defer s.arriving.Unlock()
	for _, hash := range hashes {
		s.incoming[hash]++
	}
}

func (s *Service) unexpect(hashes []string) {
	s.arriving.Lock()
	defer s.arriving.Unlock()
	for _, hash := range hashes {
		if s.incoming[hash]--; s.incoming[hash] <= 0 {
			delete(s.incoming, hash)
		}
	}
}

const (
	// sweepEvery is the time between two looks for artifacts of deleted runs, sweptAtOnce how many are looked at.
	sweepEvery  = 2 * time.Second
	sweptAtOnce = 100
)

// sweep deletes the bytes of artifacts whose runs were deleted, by whomever, until ctx ends.
func (s *Service) sweep(ctx context.Context) {
	told := false
	for s.Artifacts != nil && natsconn.Pause(ctx, sweepEvery) == nil {
		if err := s.sweepOnce(ctx); err != nil && ctx.Err() == nil && !told {
			told = true
			s.Log.Warn("artifacts of deleted runs stay for a while", "error", err)
		}
	}
}

func (s *Service) sweepOnce(ctx context.Context) error {
	for {
		hashes, err := s.Store.OrphanedArtifacts(ctx, sweptAtOnce)
		if err != nil || len(hashes) == 0 {
			return err
		}
		var gone []string
		for _, hash := range hashes {
			deleted, err := s.deleteOrphan(ctx, hash)
			if err != nil {
				return fmt.Errorf("delete artifact %s: %w", hash, err)
			}
			if deleted {
				gone = append(gone, hash)
			}
		}
		if err := s.Store.ForgetArtifacts(ctx, gone); err != nil || len(gone) < len(hashes) {
			return err
		}
	}
}

// deleteOrphan deletes bytes that no run has, unless a conversation brings them anew.
func (s *Service) deleteOrphan(ctx context.Context, hash string) (bool, error) {
	s.arriving.Lock()
	defer s.arriving.Unlock()
	if s.incoming[hash] > 0 {
		return false, nil
	}
	if has, err := s.Store.HasArtifact(ctx, hash); err != nil || has {
		return false, err
	}
	return true, s.Artifacts.Delete(ctx, hash)
}
