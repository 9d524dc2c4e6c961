package eventlog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Bounds of a look at the register.
const (
	// every is the time between two looks, so that a turn is logged within a second.
	every = 400 * time.Millisecond
	// most is how many sessions are logged at once.
	most = 100
	// lookLimit bounds a look, and closeLimit the last one.
	lookLimit  = 30 * time.Second
	closeLimit = 5 * time.Second
)

// Register says which sessions have turns that are not logged.
type Register interface {
	Pending(ctx context.Context, idle time.Time, limit int) ([]sessionindex.Row, error)
	Logged(ctx context.Context, site, session string, turn int, left bool) (there bool, err error)
}

// Sessions returns a session of a row; nil for one that is gone.
type Sessions interface {
	Recorded(ctx context.Context, row sessionindex.Row) (*sitebot.Session, error)
}

// Log is where events are written. Of an event whose id is there already nothing is written.
type Log interface {
	Add(ctx context.Context, events []replay.Event) (added []bool, err error)
	EraseSession(ctx context.Context, flow, session string) error
}

// Config is what a Journal works with. All fields are needed.
type Config struct {
	Register Register
	Sessions Sessions
	Log      Log
	Now      func() time.Time
	// Trouble is called with an error, once and when it is another one. It has no ids of sessions.
	Trouble func(err error)
}

// EventLog logs the turns of sessions as they are saved, and those that an earlier process has left. What is logged is
// marked after it was written, so that a process which dies in between leaves work that makes the same events again.
type EventLog struct {
	Config
	quit    context.CancelFunc
	kept    sync.WaitGroup
	trouble string
}

// New begins to log until Close.
func New(c Config) *EventLog {
	j := &EventLog{Config: c}
	ctx, quit := context.WithCancel(context.Background())
	j.quit = quit
	j.kept.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				j.look(ctx, lookLimit)
			}
		}
	})
	return j
}

// Close logs what is left and ends.
func (j *EventLog) Close() {
	j.quit()
	j.kept.Wait()
	j.look(context.Background(), closeLimit)
}

// look logs all that is not logged.
func (j *EventLog) look(ctx context.Context, limit time.Duration) {
	ctx, done := context.WithTimeout(ctx, limit)
	defer done()
	for ctx.Err() == nil {
		rows, err := j.Register.Pending(ctx, j.Now().Add(-Idle), most)
		failed := 0
		for i := range rows {
			if one := j.log(ctx, &rows[i]); one != nil {
				err, failed = errors.New(sessionindex.Anonymous(one, rows[i].Session)), failed+1
			}
		}
		j.tell(ctx, err)
		if err != nil || len(rows) < most || failed > 0 {
			return
		}
	}
}

// tell tells of an error, once.
func (j *EventLog) tell(ctx context.Context, err error) {
	if err == nil {
		j.trouble = ""
		return
	}
	if ctx.Err() == nil && err.Error() != j.trouble {
		j.trouble = err.Error()
		j.Trouble(err)
	}
}

// log writes the events of a session that are not written, and marks them.
func (j *EventLog) log(ctx context.Context, row *sessionindex.Row) error {
	s, err := j.Sessions.Recorded(ctx, *row)
	if err != nil || s == nil {
		return err
	}
	noted, fresh := answered(s, row.Logged)
	begun := len(fresh) > 0 && fresh[0].Number == noted[0].Number
	events, err := eventsOf(s, fresh, begun)
	leaves := len(noted) > 0 && Gone(&s.Row, j.Now())
	if err == nil && leaves {
		events, err = with(events, left(s, &noted[len(noted)-1]))
	}
	if err == nil && len(events) > 0 {
		_, err = j.Log.Add(ctx, events)
	}
	if err != nil {
		return err
	}
	there, err := j.Register.Logged(ctx, s.Row.Site, s.Row.Session, s.Row.Turns, leaves)
	if err == nil && !there { // it was erased meanwhile, and its events with it, but for these
		err = j.Log.EraseSession(ctx, s.Row.Site, s.Row.Session)
	}
	return err
}

// answered returns the turns of a session that visitors had, and those of them behind a turn.
func answered(s *sitebot.Session, logged int) (noted, fresh []sitebot.SessionTurn) {
	for _, t := range s.Turns {
		if t.Note == nil || t.Note.Copied {
			continue
		}
		noted = append(noted, t)
		if t.Number > logged {
			fresh = append(fresh, t)
		}
	}
	return noted, fresh
}
