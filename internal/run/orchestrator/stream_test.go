package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func sessionKey(i int) result.Key { return result.Key{Suite: "f", TestID: fmt.Sprint(i)} }

// crewAway are workers of other processes, as a leader sees them.
type crewAway struct {
	mu      sync.Mutex
	pushed  []orchestrator.Job
	returns chan orchestrator.Return
}

func (e *crewAway) Push(_ context.Context, j orchestrator.Job) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pushed = append(e.pushed, j)
	return nil
}

func (e *crewAway) jobs() []orchestrator.Job {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pushed
}

func (e *crewAway) Pull(ctx context.Context) (orchestrator.Delivery, error) { return nil, ctx.Err() }

func (e *crewAway) Next(ctx context.Context) (orchestrator.Return, error) {
	select {
	case r := <-e.returns:
		return r, r.Err
	case <-ctx.Done():
		return orchestrator.Return{}, ctx.Err()
	}
}

// Every item ends once: held, given back with its error, or lost by a panic; no more are under way than there are
// places.
func TestStreamHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := orchestrator.NewStream(t.Context(), orchestrator.StreamConfig{
			Kind: orchestrator.KindReplay, Workers: 3, Queue: queue.NewMemory(3),
		})
		var mu sync.Mutex
		ends, under, most := map[result.Key]string{}, 0, 0
		for i := range 30 {
			err := s.Begin(t.Context(), orchestrator.Item{
				Key: sessionKey(i),
				Run: func(context.Context) error {
					mu.Lock()
					under++
					most = max(most, under)
					mu.Unlock()
					defer func() {
						mu.Lock()
						under--
						mu.Unlock()
					}()
					switch i % 3 {
					case 1:
						return errors.New("no")
					case 2:
						panic("too bad")
					}
					return nil
				},
				Ended: func(r orchestrator.Return) {
					mu.Lock()
					defer mu.Unlock()
					ends[r.Key] += fmt.Sprint(r.Err, strings.Contains(r.Fault, "too bad"))
				},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		s.Close()
		for i := range 30 {
			if want := []string{"<nil> false", "no false", "<nil> true"}[i%3]; ends[sessionKey(i)] != want {
				t.Errorf("%d: %q, want %q", i, ends[sessionKey(i)], want)
			}
		}
		if most > 3 {
			t.Errorf("%d at once", most)
		}
	})
}

// What workers elsewhere return ends an item once, also when it comes twice, before its turn, or after NATS has lost
// the job.
func TestStreamElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &crewAway{returns: make(chan orchestrator.Return)}
		s := orchestrator.NewStream(t.Context(), orchestrator.StreamConfig{
			Kind: orchestrator.KindReplay, Workers: 2, MaxBytes: 10, Queue: e, Returns: e,
		})
		settled, ends := map[string]int{}, map[string]int{}
		var store func() // what the last one that ended is settled with
		back := func(i int, body string) {
			e.returns <- orchestrator.Return{Key: sessionKey(i), Body: []byte(body), Settle: func() { settled[body]++ }}
			synctest.Wait()
		}
		begin := func(i int) {
			t.Helper()
			err := s.Begin(t.Context(), orchestrator.Item{
				Key: sessionKey(i), Payload: func(context.Context) ([]byte, error) { return []byte("session"), nil },
				Ended: func(r orchestrator.Return) { ends[string(r.Body)]++; store = r.Settle },
			})
			if err != nil {
				t.Error(err)
			}
		}
		back(1, "early") // of an earlier leader's job
		begin(1)
		if ends["early"] != 1 || len(e.jobs()) != 0 {
			t.Errorf("%v, %v", ends, e.jobs())
		}
		s.Pass(sessionKey(0))
		back(0, "known")
		if settled["known"] != 1 || ends["known"] != 0 {
			t.Errorf("a session that is kept: settled %v, ended %v", settled, ends)
		}
		begin(2)
		e.returns <- orchestrator.Return{Key: sessionKey(2), Lost: true}
		synctest.Wait()
		if jobs := e.jobs(); len(jobs) != 2 || string(jobs[1].Payload) != "session" ||
			jobs[1].Kind != orchestrator.KindReplay {
			t.Errorf("a job that is lost is not put in again: %v", jobs)
		}
		// Two places are free, and room for the payload of one.
		waited := false
		go func() { begin(3); waited = true }()
		synctest.Wait()
		if waited {
			t.Error("there is no room for a third payload")
		}
		back(2, "held")
		back(2, "held again")
		if ends["held"] != 1 || ends["held again"] != 0 || settled["held"] != 0 ||
			settled["held again"] != 0 || !waited {
			t.Errorf("before it is stored: ended %v, settled %v, waited %v", ends, settled, waited)
		}
		store()
		back(2, "held again")
		if ends["held again"] != 0 || settled["held"] != 1 || settled["held again"] != 1 {
			t.Errorf("once it is stored: ended %v, settled %v", ends, settled)
		}
		// Nothing comes any more: what is under way ends, and nothing begins.
		var why error
		e.returns <- orchestrator.Return{Key: sessionKey(3), Body: []byte("last")}
		synctest.Wait()
		_ = s.Begin(t.Context(), orchestrator.Item{
			Key: sessionKey(4), Payload: func(context.Context) ([]byte, error) { return nil, nil },
			Ended: func(r orchestrator.Return) { why = r.Err },
		})
		e.returns <- orchestrator.Return{Err: errors.New("displaced")}
		synctest.Wait()
		if why == nil || !strings.Contains(why.Error(), "displaced") {
			t.Errorf("what was under way ended with %v", why)
		}
		if err := s.Begin(t.Context(), orchestrator.Item{
			Key: sessionKey(5), Payload: func(context.Context) ([]byte, error) { return nil, nil },
		}); err == nil {
			t.Error("an item is begun that nobody can return")
		}
		s.Close()
	})
}
