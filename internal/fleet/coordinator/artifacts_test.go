package coordinator_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/run/artifact"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// leadWith starts a server that keeps artifacts in a place.
func (h *house) leadWith(name string, place artifact.Storage) (s *coordinator.Service, stop func()) {
	s = coordinator.New(coordinator.Config{
		Store: h.store, Conn: h.conn, Queue: h.queue, Dir: filepath.Join(h.dir, name),
		Owner: name, Lease: 3 * time.Second, Artifacts: place,
		Setup: wire.Options{NoCommands: true, Submitted: &wire.Submitted{AllowPrivate: true}},
		Log:   slog.New(slog.DiscardHandler),
	})
	return s, h.run(func(ctx context.Context) error { return s.Run(ctx, nil) })
}

// kept returns the records of a run, after it has checked that the bytes of each artifact are in the place and that the
// rows say what the records say.
func (h *house) kept(id string, place artifact.Storage) (records []*result.Test) {
	h.t.Helper()
	ctx := h.t.Context()
	named := map[store.Artifact]int{}
	for r, err := range h.store.AllResults(ctx, id, store.ResultFilter{}) {
		if err != nil {
			h.t.Fatal(err)
		}
		test, err := r.Test()
		if err != nil {
			h.t.Fatal(err)
		}
		records = append(records, test)
		for _, a := range test.Artifacts {
			if a.SHA256 == "" {
				continue
			}
			data, err := place.Get(ctx, a.SHA256)
			if sum := sha256.Sum256(data); err != nil || hex.EncodeToString(sum[:]) != a.SHA256 ||
				int64(len(data)) != a.Bytes {
				h.t.Errorf("%s %+v: %d bytes, %v", test.TestID, a, len(data), err)
			}
			named[store.Artifact{
				Suite: test.Suite, TestID: test.TestID, Target: test.Target, Trial: test.Trial, Kind: a.Kind,
				SHA256: a.SHA256, Bytes: a.Bytes,
			}]++
		}
	}
	page, err := h.store.Artifacts(ctx, id, store.PageOf{Limit: 1000})
	if err != nil || page.Next != nil {
		h.t.Fatal(page.Next, err)
	}
	for _, row := range page.Items {
		if row.Turn == nil || *row.Turn != 1 {
			h.t.Errorf("turn %v", row.Turn)
		}
		row.Turn = nil
		named[row]--
	}
	for row, n := range named {
		if n != 0 {
			h.t.Errorf("%+v is %d times more often in records than in rows", row, n)
		}
	}
	return records
}

func TestArtifacts(t *testing.T) {
	h := newHouse(t)
	address, _ := agent(t, 0)
	inNATS, err := artifact.Open("nats", h.conn, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, place := range map[string]artifact.Storage{"folder": artifact.Folder{Dir: t.TempDir()}, "nats": inNATS} {
		s, stop := h.leadWith(name, place)
		stopWork := h.work("w"+name, 4)
		spec := shop(10, address)
		spec.Artifacts = true
		run, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		if run = h.ended(run.ID); run.Status != store.RunCompleted {
			t.Errorf("%s: %+v", name, run)
		}
		records := h.kept(run.ID, place)
		for _, r := range records {
			kinds := []string{}
			for _, a := range r.Artifacts {
				kinds = append(kinds, a.Kind)
			}
			if !slices.Equal(kinds, []string{"prompt", "exchange"}) {
				t.Errorf("%s: %s has %v", name, r.TestID, kinds)
			}
		}
		if len(records) != 10 {
			t.Errorf("%s: %d records", name, len(records))
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			if _, err := h.conn.RunArtifacts(run.ID).Get(t.Context(), records[0].Artifacts[0].SHA256); errors.Is(err,
				natsconn.ErrNoArtifact) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: what workers sent is not dropped", name)
			}
		}
		spec.Artifacts = false
		plain, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		h.ended(plain.ID)
		for _, r := range h.kept(plain.ID, place) {
			if len(r.Artifacts) > 0 {
				t.Errorf("%s: %+v of a run that does not ask", name, r.Artifacts)
			}
		}
		stop()
		stopWork()
	}
}

// A run that another server goes on with has every artifact of its records.
func TestArtifactsTakeOver(t *testing.T) {
	h := newHouse(t)
	address, _ := agent(t, 20*time.Millisecond)
	place := artifact.Folder{Dir: t.TempDir()}
	s, stop := h.leadWith("one", place)
	h.work("w1", 2)
	spec := shop(40, address)
	spec.Artifacts = true
	run, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		if now, err := h.store.Run(t.Context(), run.ID); err != nil || now.Progress.Done >= 10 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	h.leadWith("two", place)
	run = h.ended(run.ID)
	records := h.kept(run.ID, place)
	for _, r := range records {
		if len(r.Artifacts) != 2 || slices.ContainsFunc(r.Artifacts, func(a result.Artifact) bool {
			return a.SHA256 == ""
		}) {
			t.Errorf("%s: %+v", r.TestID, r.Artifacts)
		}
	}
	if len(records) != 40 || run.Status != store.RunCompleted {
		t.Errorf("%d records, %+v", len(records), run)
	}
}

// full is a place without room.
type full struct{ artifact.Folder }

func (full) Put(context.Context, string, []byte) error { return errors.New("no space left on device") }

// A place that takes nothing costs no result. Records name what is missing, and the run says so.
func TestArtifactsWithoutRoom(t *testing.T) {
	h := newHouse(t)
	address, _ := agent(t, 0)
	s, _ := h.leadWith("one", full{})
	h.work("w1", 4)
	spec := shop(5, address)
	spec.Artifacts = true
	run, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	run = h.ended(run.ID)
	records := h.kept(run.ID, full{})
	for _, r := range records {
		if len(r.Artifacts) != 2 || r.Artifacts[0].SHA256 != "" || r.Artifacts[0].Bytes == 0 {
			t.Errorf("%s: %+v", r.TestID, r.Artifacts)
		}
	}
	dir, err := s.Files(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	record, err := runlog.ReadRun(dir)
	if err != nil || len(records) != 5 || run.Totals.Passed != 4 || len(record.Warnings) != 2 {
		t.Errorf("%d records, %+v, warnings %q, %v", len(records), run.Totals, record.Warnings, err)
	}
}

// counting is a place that can be asked what it has.
type counting struct {
	artifact.Folder
	mu      sync.Mutex
	deleted []string
}

func (c *counting) Delete(ctx context.Context, sha256 string) error {
	c.mu.Lock()
	c.deleted = append(c.deleted, sha256)
	c.mu.Unlock()
	return c.Folder.Delete(ctx, sha256)
}

// A deleted run takes its bytes with it, but for those that another run has.
func TestArtifactsOfDeletedRuns(t *testing.T) {
	h := newHouse(t)
	address, _ := agent(t, 0)
	place := &counting{Folder: artifact.Folder{Dir: t.TempDir()}}
	s, _ := h.leadWith("one", place)
	h.work("w1", 4)
	var ids []string
	for _, tests := range []int{4, 2} {
		spec := shop(tests, address)
		spec.Artifacts = true
		run, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, h.ended(run.ID).ID)
	}
	var before, after []string
	list := func(to *[]string) {
		if err := place.Each(func(hash string, _ int64) { *to = append(*to, hash) }); err != nil {
			t.Fatal(err)
		}
	}
	list(&before)
	if err := h.store.DeleteRun(t.Context(), ids[0]); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left, err := h.store.OrphanedArtifacts(t.Context(), 100); err != nil || len(left) == 0 {
			break
		}
	}
	list(&after)
	if records := h.kept(ids[1], place); len(records) != 2 || len(after) == 0 ||
		len(before)-len(after) != len(place.deleted) || len(place.deleted) == 0 {
		t.Errorf("%d records, %d before, %d after, %d deleted", len(records), len(before), len(after),
			len(place.deleted))
	}
}
