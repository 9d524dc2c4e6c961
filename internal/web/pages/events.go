package pages

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

const (
	// eventsPoll is the time between two looks at a run, eventsBeat that between two comments, eventsWrite how long a
	// client may take.
	eventsPoll, eventsBeat, eventsWrite = 250 * time.Millisecond, 15 * time.Second, 20 * time.Second
	// progressEvery is how often it is told how far a run is.
	progressEvery = time.Second
)

// events answers with the stream of a run: its records as they end, how far it is, and its end. The id of an event is
// its number in the log.
func (p *Pages) events(w http.ResponseWriter, r *http.Request) {
	run := p.Runs.Find(frame.Part(r, "run"))
	if run == nil {
		p.frame.NotFound(w, r, "There is no run of that id here.", p.newest(5)...)
		return
	}
	after, err := lastEvent(r)
	if err != nil {
		p.frame.Refuse(w, r, http.StatusBadRequest, "The id of the last event cannot be read: send it as it came.")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	s := &stream{run: run, out: w, control: http.NewResponseController(w), after: after}
	defer s.close()
	look := time.NewTicker(eventsPoll)
	defer look.Stop()
	beat := time.NewTicker(eventsBeat)
	defer beat.Stop()
	for {
		if ended := s.look(); ended {
			return
		}
		select {
		case <-look.C:
		case <-beat.C:
			s.write(": still here\n\n")
		case <-p.Stopping:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// lastEvent reads after which event a stream begins.
func lastEvent(r *http.Request) (int, error) {
	written := strings.TrimSpace(r.Header.Get("Last-Event-ID"))
	if written == "" {
		written = r.URL.Query().Get("last_event_id")
	}
	if written == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(written)
	if err == nil && n < 0 {
		err = errors.New("it is negative")
	}
	return n, err
}

// stream tells of one run.
type stream struct {
	run      *runindex.Found
	out      http.ResponseWriter
	control  *http.ResponseController
	after    int // the id of the last event that the client has
	log      *os.File
	tail     runlog.Tail
	number   int // of the last record that was read
	lastSent time.Time
	failed   bool
}

func (s *stream) write(text string) {
	_ = s.control.SetWriteDeadline(time.Now().Add(eventsWrite)) // fails for a recorder in a test
	_, err := s.out.Write([]byte(text))
	s.failed = s.failed || err != nil || s.control.Flush() != nil
}

func (s *stream) close() {
	if s.log != nil {
		_ = s.log.Close() // nothing was written
	}
}

// eventText is an event as its client reads it.
func eventText(id int, kind string, data any) string {
	written, _ := json.Marshal(data) // numbers and texts
	head := ""
	if id > 0 {
		head = fmt.Sprintf("id: %d\n", id)
	}
	return fmt.Sprintf("%sevent: %s\ndata: %s\n\n", head, kind, written)
}

// look tells what is new, and reports whether that was the end.
func (s *stream) look() (ended bool) {
	record, err := s.run.Run.Record() // before the log: what a run that has ended has written is there
	if err != nil || !s.read() || s.failed {
		return true
	}
	if state, _ := stateOf(record); state != "running" && state != "queued" {
		if end := s.number + 1; end != s.after { // who has seen more than there is has read a log that was written anew
			s.write(eventText(end, "end", map[string]any{
				"run_id": s.run.Record.ID, "exit_reason": record.ExitReason, "exit_code": record.ExitCode,
			}))
		}
		return true
	}
	if time.Since(s.lastSent) >= progressEvery {
		s.lastSent = time.Now()
		s.progress()
	}
	return s.failed
}

// read tells of the records that have been written since. It reports false where the log is another one now.
func (s *stream) read() bool {
	if s.log == nil {
		log, err := runlog.OpenLog(s.run.Dir)
		if errors.Is(err, fs.ErrNotExist) {
			return true // it has held nothing yet
		}
		if err != nil {
			return false
		}
		s.log = log
	} else if !s.same() {
		return false
	}
	s.tail.From = s.tail.End
	for line, err := range s.tail.Lines(s.log) {
		if err != nil {
			return false
		}
		if line.Err != nil {
			continue
		}
		t, err := runindex.Decode(line.Bytes)
		if err != nil {
			continue // as on the pages
		}
		if s.number++; s.number <= s.after {
			continue
		}
		s.write(eventText(s.number, "result", endedOf(t)))
		if s.failed {
			return false
		}
	}
	return true
}

// ended is a record as the stream tells it. What was not graded has no score.
type ended struct {
	Suite   string         `json:"suite"`
	TestID  string         `json:"test_id"`
	Target  string         `json:"target"`
	Trial   int            `json:"trial"`
	Verdict result.Verdict `json:"verdict"`
	Score   *float64       `json:"score"`
}

func endedOf(t *result.Test) ended {
	e := ended{Suite: t.Suite, TestID: t.TestID, Target: t.Target, Trial: t.Trial, Verdict: t.Verdict}
	if t.Verdict.Graded() {
		e.Score = &t.Score
	}
	return e
}

// same reports whether the log is still the file that was opened.
func (s *stream) same() bool {
	log, err := runlog.OpenLog(s.run.Dir)
	if err != nil {
		return false
	}
	defer func() { _ = log.Close() }() // nothing was written
	now, err := log.Stat()
	opened, failed := s.log.Stat()
	return err == nil && failed == nil && os.SameFile(now, opened) && now.Size() >= s.tail.End
}

// progress tells how far a run is. How many conversations it plans and holds just now its folder does not say.
func (s *stream) progress() {
	index, err := s.run.Index()
	if err != nil {
		return
	}
	t := index.Run.Totals
	s.write(eventText(0, "progress", map[string]any{
		"conversations": nil, "done": t.Conversations, "running": nil,
		"totals": map[string]int{
			"planned": t.Planned, "tests": t.Tests, "completed": t.Completed, "passed": t.Passed, "failed": t.Failed,
			"errors": t.Errors, "ungraded": t.Ungraded, "skipped": t.Skipped, "not_run": t.NotRun,
		},
	}))
}
