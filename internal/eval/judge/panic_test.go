package judge_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

type panicking struct{}

func (panicking) Generate(context.Context, llm.Request) (chat.Reply, error) { panic("boom") }

// TestPanicBehindTheCache holds that a fault behind the cache, where a goroutine asks for all who wait, is an error and
// not the end of the program.
func TestPanicBehindTheCache(t *testing.T) {
	cache := &shelf{m: map[string][]byte{}}
	_, err := judge.New(judge.Config{Primary: named("m", panicking{}), Cache: cache}).Decide(t.Context(), checklist)
	if err == nil || !strings.Contains(err.Error(), "boom") || strings.Contains(err.Error(), "\n") ||
		len(cache.m) != 0 {
		t.Errorf("Ask: %v, %d verdicts remembered", err, len(cache.m))
	}
}
