package api

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// health remembers for a second what keeps the server from working: everybody may ask.
type health struct {
	mu     sync.Mutex
	asked  time.Time
	reason error
}

// answerHealth answers 200 when the server can work. The reason why it cannot goes to the log only: it may name
// machines.
func (f *front) answerHealth(w http.ResponseWriter) {
	switch {
	case f.Stopping != nil && f.Stopping():
		answerPlainly(w, http.StatusServiceUnavailable, "stopping")
	case f.healthNow() != nil:
		answerPlainly(w, http.StatusServiceUnavailable, "unavailable: the store or the queue cannot be reached")
	default:
		answerPlainly(w, http.StatusOK, "ok")
	}
}

func (f *front) healthNow() error {
	if f.Healthy == nil {
		return nil
	}
	f.health.mu.Lock()
	defer f.health.mu.Unlock()
	if now := time.Now(); now.Sub(f.health.asked) >= time.Second {
		f.health.asked, f.health.reason = now, f.Healthy()
		if f.health.reason != nil {
			f.Log.Warn("not healthy", "error", f.health.reason)
		}
	}
	return f.health.reason
}

func answerPlainly(w http.ResponseWriter, status int, text string) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // fails for a recorder in a test
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}
