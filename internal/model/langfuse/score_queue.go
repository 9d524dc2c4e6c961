package langfuse

import (
	"context"
	"sync"
	"time"
)

const (
	// maxQueuedScores bounds how many scores wait.
	maxQueuedScores = 1000
	// scoreLimit bounds how long one may take with all its attempts.
	scoreLimit = 30 * time.Second
)

// ScoreQueue sends scores one after the other, so that the last one of an id is the one that counts.
type ScoreQueue struct {
	client  *Client
	trouble func(text string, err error)
	waiting chan Score
	ended   sync.WaitGroup
	// ctx bounds the requests; quit cancels it.
	ctx  context.Context
	quit context.CancelFunc
}

// NewScoreQueue starts a queue. trouble gets a sentence about each score that is not sent.
func NewScoreQueue(client *Client, trouble func(text string, err error)) *ScoreQueue {
	q := &ScoreQueue{client: client, waiting: make(chan Score, maxQueuedScores), trouble: trouble}
	q.ctx, q.quit = context.WithCancel(context.Background())
	q.ended.Go(q.send)
	return q
}

func (q *ScoreQueue) send() {
	for score := range q.waiting {
		ctx, done := context.WithTimeout(q.ctx, scoreLimit)
		_, err := q.client.CreateScore(ctx, score)
		if done(); err != nil {
			q.trouble("a thumb has not reached Langfuse", err)
		}
	}
}

// Add sends a score after those that wait. It returns at once.
func (q *ScoreQueue) Add(score Score) {
	select {
	case q.waiting <- score:
	default:
		q.trouble("a thumb is not brought to Langfuse: too many wait", nil)
	}
}

// Close sends the scores that wait, until ctx ends. Do not call Add after it.
func (q *ScoreQueue) Close(ctx context.Context) {
	close(q.waiting)
	stop := context.AfterFunc(ctx, q.quit)
	defer stop()
	q.ended.Wait()
	q.quit()
}
