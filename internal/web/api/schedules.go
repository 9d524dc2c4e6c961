package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Scheduler makes schedules, and runs of them (coordinator.Service).
type Scheduler interface {
	AddSchedule(ctx context.Context, name, cron, zone string, spec runspec.Spec,
		by coordinator.Caller) (store.Schedule, error)
	RunSchedule(ctx context.Context, name, key string, by coordinator.Caller) (run store.Run, created bool, err error)
}

const (
	schedulesPath      = "/api/v1/schedules"
	codeScheduleExists = "schedule_exists"
)

// schedulesTable has the routes of schedules.
func (s *Runs) schedulesTable() table {
	type newSchedule struct {
		scheduleHead
		Spec runspec.Spec `json:"spec"`
	}
	return table{
		{
			pattern: "GET /api/v1/schedules", scope: access.Read, handle: s.ofSchedules(s.schedules),
			summary: "List schedules", query: pageQuery, ok: store.Page[store.Schedule]{},
		},
		{
			pattern: "POST /api/v1/schedules", scope: access.Run, handle: s.ofSchedules(s.addSchedule),
			summary: "Add a schedule", body: newSchedule{}, answers: answers{201: store.Schedule{}},
		},
		{
			pattern: "GET /api/v1/schedules/{name}", scope: access.Read, handle: s.ofSchedules(s.schedule),
			summary: "A schedule, and what became of its last time", ok: store.Schedule{},
		},
		{
			pattern: "DELETE /api/v1/schedules/{name}", scope: access.Run, handle: s.ofSchedules(s.removeSchedule),
			summary: "Remove a schedule; its runs stay", answers: answers{204: nil},
		},
		{
			pattern: "POST /api/v1/schedules/{name}/run", scope: access.Run, handle: s.ofSchedules(s.runSchedule),
			summary: "Begin a run of a schedule now", headers: []parameter{idempotencyHeader},
			answers: answers{202: store.Run{}},
		},
	}
}

// ofSchedules answers with the problems of schedules, and those of runs.
func (s *Runs) ofSchedules(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return s.answer(func(w http.ResponseWriter, r *http.Request) error {
		err := handle(w, r)
		field, faulty := errors.AsType[*coordinator.FieldError](err)
		_, lacks := errors.AsType[*store.MissingBlobsError](err)
		switch {
		case faulty:
			return newProblem(http.StatusBadRequest, codeQuery, clip(field.Error(), maxDetail),
				`send {"name": "nightly", "cron": "0 3 * * *", "spec": {…}}`).at("/" + field.Field)
		case errors.Is(err, store.ErrExists):
			return newProblem(http.StatusConflict, codeScheduleExists, "there is a schedule of that name",
				"remove it first, or take another name")
		case errors.Is(err, store.ErrUnknown) && !lacks:
			return newProblem(http.StatusNotFound, codeNotFound, "there is no such schedule",
				"GET "+schedulesPath+" lists the schedules")
		}
		return err
	})
}

// scheduleHead says when a schedule is due.
type scheduleHead struct {
	Name     string `json:"name"`
	Cron     string `json:"cron"`
	Timezone string `json:"timezone,omitempty"`
}

func (s *Runs) addSchedule(w http.ResponseWriter, r *http.Request) error {
	if s.stopping.Load() {
		return stoppingProblem()
	}
	body, err := readJSONUpTo(w, r, maxSpecMB,
		"send large files with PUT /api/v1/blobs/SHA256 and name them by their hashes")
	if err != nil {
		return err
	}
	var made store.Schedule
	err = limited(r.Context(), func() error {
		made, err = s.newSchedule(r, body)
		return err
	})
	if err != nil {
		return err
	}
	w.Header().Set("Location", schedulesPath+"/"+url.PathEscape(made.Name))
	writeBody(w, http.StatusCreated, "application/json", made)
	return nil
}

// newSchedule reads a schedule, checks its spec and stores it.
func (s *Runs) newSchedule(r *http.Request, body []byte) (made store.Schedule, err error) {
	var asked struct {
		scheduleHead
		Spec json.RawMessage `json:"spec"`
	}
	if err := decodeUTF8(body, &asked); err != nil {
		return made, err
	}
	if len(asked.Spec) == 0 {
		return made, newProblem(http.StatusBadRequest, codeQuery, "the schedule has no spec",
			`send {"name": "nightly", "cron": "0 3 * * *", "spec": {…}}`).at("/spec")
	}
	spec, err := specOf(asked.Spec)
	if p, ok := errors.AsType[*Problem](err); ok && p.Pointer != nil {
		return made, p.at("/spec" + *p.Pointer)
	}
	if err != nil {
		return made, err
	}
	return s.Scheduler.AddSchedule(r.Context(), asked.Name, asked.Cron, asked.Timezone, spec, caller(r))
}

func (s *Runs) schedules(w http.ResponseWriter, r *http.Request) error {
	q := query{r.URL.Query(), nil}
	page, err := q.page()
	if err != nil {
		return err
	}
	found, err := s.Store.Schedules(r.Context(), page)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", found)
	return nil
}

func (s *Runs) schedule(w http.ResponseWriter, r *http.Request) error {
	found, err := s.Store.Schedule(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", found)
	return nil
}

func (s *Runs) removeSchedule(w http.ResponseWriter, r *http.Request) error {
	if err := s.Store.DeleteSchedule(r.Context(), r.PathValue("name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Runs) runSchedule(w http.ResponseWriter, r *http.Request) error {
	if s.stopping.Load() {
		return stoppingProblem()
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	var run store.Run
	err = limited(r.Context(), func() error {
		run, _, err = s.Scheduler.RunSchedule(r.Context(), r.PathValue("name"), key, caller(r))
		return err
	})
	if err != nil {
		return err
	}
	w.Header().Set("Location", runsPath+"/"+url.PathEscape(run.ID))
	writeBody(w, http.StatusAccepted, "application/json", run)
	return nil
}
