package wire

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

const (
	// feedbackScore is the name of the score of a thumb.
	feedbackScore = "visitor_feedback"
	// maxWaiting bounds how many thumbs wait for Langfuse.
	maxWaiting = 1000
	// scoreLimit bounds how long one may take with all its attempts.
	scoreLimit = 30 * time.Second
)

// thumbs brings what visitors think of answers to Langfuse, one after the other, so that the last thumb of a turn
// counts there, too.
type thumbs struct {
	client  *langfuse.Client
	trouble func(text string, err error)
	waiting chan langfuse.Score
	ended   sync.WaitGroup
	// ctx ends when nothing is waited for any more.
	ctx  context.Context
	quit context.CancelFunc
}

// openThumbs begins to bring thumbs to Langfuse; nil where it has no key.
func (s *Setup) openThumbs() (*thumbs, error) {
	if s.Dry || langfuseOff(s.Getenv) || s.Getenv(langfuse.PublicKeyEnv) == "" ||
		s.Getenv(langfuse.SecretKeyEnv) == "" {
		return nil, nil
	}
	client, err := s.Langfuse()
	if err != nil {
		return nil, err
	}
	return newThumbs(client, func(text string, err error) { s.Log.Warn(text, "error", err) }), nil
}

func newThumbs(client *langfuse.Client, trouble func(text string, err error)) *thumbs {
	t := &thumbs{client: client, waiting: make(chan langfuse.Score, maxWaiting), trouble: trouble}
	t.ctx, t.quit = context.WithCancel(context.Background())
	t.ended.Go(t.bring)
	return t
}

func (t *thumbs) bring() {
	for score := range t.waiting {
		ctx, done := context.WithTimeout(t.ctx, scoreLimit)
		_, err := t.client.CreateScore(ctx, score)
		if done(); err != nil {
			t.trouble("a thumb has not reached Langfuse", err)
		}
	}
}

// rated notes a thumb for the trace of a turn. It returns at once.
func (t *thumbs) rated(site, session, traceID string, f sessionindex.Feedback) {
	sum := sha256.Sum256([]byte(feedbackScore + "\x00" + site + "\x00" + session + "\x00" + traceID))
	score := langfuse.Score{ID: hex.EncodeToString(sum[:16]), Name: feedbackScore, TraceID: traceID}
	if f.Rating == sessionindex.Up {
		score.Value = 1
	}
	select {
	case t.waiting <- score:
	default:
		t.trouble("a thumb is not brought to Langfuse: too many wait", nil)
	}
}

// close waits for what is on its way until ctx ends. Nobody rates any more.
func (t *thumbs) close(ctx context.Context) {
	close(t.waiting)
	stop := context.AfterFunc(ctx, t.quit)
	defer stop()
	t.ended.Wait()
	t.quit()
}
