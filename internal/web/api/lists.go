package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// ListsConfig says where what is listed comes from. All are required but Log.
type ListsConfig struct {
	Sessions interface {
		EachFrom(ctx context.Context, f replay.Filter, session string) iter.Seq2[replay.Event, error]
	}
	Variants interface {
		List(ctx context.Context) ([]replay.Variant, error)
	}
	Replays interface {
		Runs(ctx context.Context, limit int) ([]replay.Run, error)
	}
	Datasets interface {
		List(ctx context.Context) ([]dataset.Entry, error)
	}
	// Log gets what went wrong; nil discards it.
	Log *slog.Logger
}

// Lists serves pages of the datasets, sessions, replays and variants of a store. It is safe for concurrent use.
type Lists struct{ ListsConfig }

// NewLists returns a server of lists.
func NewLists(c ListsConfig) *Lists {
	c.Log = logOrDiscard(c.Log)
	return &Lists{c}
}

func (s *Lists) table() table {
	return table{
		{
			pattern: "GET /api/v1/datasets", scope: access.Read, handle: s.faulty(s.datasets),
			summary: "List datasets", query: pageQuery, ok: store.Page[datasetView]{},
		},
		{
			pattern: "GET /api/v1/sessions", scope: access.Read, handle: s.faulty(s.sessions),
			summary: "List logged sessions",
			query:   append([]parameter{{"flow_id", "only those of a flow"}}, pageQuery...),
			ok:      store.Page[sessionView]{},
		},
		{
			pattern: "GET /api/v1/replays", scope: access.Read, handle: s.faulty(s.replays),
			summary: "List replay runs, the newest first", query: pageQuery, ok: store.Page[replay.Run]{},
		},
		{
			pattern: "GET /api/v1/variants", scope: access.Read, handle: s.faulty(s.variants),
			summary: "List variants", query: pageQuery, ok: store.Page[replay.Variant]{},
		},
	}
}

// pageQuery are the parameters of every list with pages of store.DefaultLimit.
var pageQuery = []parameter{
	{"limit", "the most that the page has: 100, at most 1000"},
	{"cursor", "next_cursor of the page before"},
}

// faulty answers with the problem of what went wrong.
func (s *Lists) faulty(list func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := list(w, r)
		if err == nil {
			return
		}
		p, ok := errors.AsType[*Problem](err)
		if !ok {
			s.Log.ErrorContext(r.Context(), "a list cannot be read", "at", r.URL.Path, "error", err)
			if p = problemOf(nil); store.IsUnavailable(err) {
				p = unavailable()
			}
		}
		writeProblem(w, p)
	}
}

// datasetView is a dataset as it is listed.
type datasetView struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Items       int       `json:"items"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

func (s *Lists) datasets(w http.ResponseWriter, r *http.Request) error {
	entries, err := s.Datasets.List(r.Context())
	if err != nil {
		return err
	}
	shown := make([]datasetView, len(entries))
	for i, e := range entries {
		shown[i] = datasetView{e.Name, e.Description, e.Items, e.Created, e.Updated}
	}
	return writePage(w, r, shown, func(d datasetView) string { return d.Name })
}

func (s *Lists) variants(w http.ResponseWriter, r *http.Request) error {
	variants, err := s.Variants.List(r.Context())
	if err != nil {
		return err
	}
	return writePage(w, r, variants, func(v replay.Variant) string { return v.ID })
}

// replays are in the order of their beginning, the newest first.
func (s *Lists) replays(w http.ResponseWriter, r *http.Request) error {
	runs, err := s.Replays.Runs(r.Context(), 0)
	if err != nil {
		return err
	}
	const end = int64(1) << 62
	return writePage(w, r, runs, func(run replay.Run) string {
		return fmt.Sprintf("%019d %s", end-run.Started.UnixMicro(), run.ID)
	})
}

// sessionView is a logged session as it is listed.
type sessionView struct {
	SessionID string    `json:"session_id"`
	FlowID    string    `json:"flow_id"`
	UnitID    string    `json:"unit_id"`
	Turns     int       `json:"turn_count"`
	Outcome   string    `json:"outcome"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
}

// sessions reads no more of the log than the page has.
func (s *Lists) sessions(w http.ResponseWriter, r *http.Request) error {
	q := query{r.URL.Query(), nil}
	flow := q.text("flow_id")
	page, after, err := listPage(&q, r, "flow_id")
	if err != nil {
		return err
	}
	shown := store.Page[sessionView]{Items: []sessionView{}}
	filter := replay.Filter{
		FlowID: flow, Types: []string{replay.Started, replay.Message, replay.Completed, replay.DroppedOff},
	}
	from := replay.LoggedID(after)
	for session, err := range replay.Sessions(s.Sessions.EachFrom(r.Context(), filter, from), 0, &replay.Faults{}) {
		if err != nil {
			return err
		}
		if session.ID <= after && replay.LoggedID(session.ID) == from {
			continue
		}
		if len(shown.Items) == page {
			shown.Next = listCursor(r, shown.Items[page-1].SessionID)
			break
		}
		shown.Items = append(shown.Items, sessionView{
			SessionID: session.ID, FlowID: session.FlowID, UnitID: session.UnitID, Turns: session.Turns(),
			Outcome: session.Outcome(), StartedAt: session.Started, EndedAt: session.Ended,
		})
	}
	writeBody(w, http.StatusOK, "application/json", shown)
	return nil
}

// writePage writes the page of a list that is wanted, in the order of keys, which no two have in common.
func writePage[T any](w http.ResponseWriter, r *http.Request, all []T, key func(T) string) error {
	q := query{r.URL.Query(), nil}
	limit, after, err := listPage(&q, r)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	from, _ := slices.BinarySearchFunc(all, after, func(item T, after string) int {
		if key(item) <= after && after != "" {
			return -1
		}
		return 1
	})
	page := store.Page[T]{Items: append([]T{}, all[from:min(from+limit, len(all))]...)}
	if from+limit < len(all) {
		page.Next = listCursor(r, key(page.Items[limit-1]))
	}
	writeBody(w, http.StatusOK, "application/json", page)
	return nil
}

// listPage reads the size of a page and the key behind which it begins.
func listPage(q *query, r *http.Request, known ...string) (limit int, after string, err error) {
	page, err := q.page(known...)
	if err != nil || page.Cursor == "" {
		return cmp.Or(page.Limit, store.DefaultLimit), "", err
	}
	text, err := base64.RawURLEncoding.DecodeString(page.Cursor)
	after, ok := strings.CutPrefix(string(text), r.URL.Path+" ")
	if err != nil || !ok || after == "" {
		return 0, "", newProblem(http.StatusBadRequest, codeCursor, "the cursor was not given out by this list",
			"use next_cursor as it came")
	}
	return cmp.Or(page.Limit, store.DefaultLimit), after, nil
}

// listCursor is the cursor behind a key of a list.
func listCursor(r *http.Request, key string) *string {
	return new(base64.RawURLEncoding.EncodeToString([]byte(r.URL.Path + " " + key)))
}
