package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Scheduler makes schedules, and runs of them (coordinator.Service).
type Scheduler interface {
	AddSchedule(ctx context.Context, name, cron, zone string, spec runspec.Spec, by coordinator.Caller) (store.Schedule, error)
	RunSchedule(ctx context.Context, name, key string, by coordinator.Caller) (run store.Run, created bool, err error)
}

const (
	schedulesPath      = "/api/v1/schedules"
	codeScheduleExists = "schedule_exists"
)

// scheduleTable has the rows of schedules.
func (s *Runs) scheduleTable() table {
	one := schedulesPath + "/{name}"
	return table{
		schedulesPath: {http.MethodGet: reads(s.ofSchedules(s.schedules)), http.MethodPost: runs(s.ofSchedules(s.addSchedule))},
		one:           {http.MethodGet: reads(s.ofSchedules(s.schedule)), http.MethodDelete: runs(s.ofSchedules(s.removeSchedule))},
		one + "/run":  {http.MethodPost: runs(s.ofSchedules(s.runSchedule))},
	}
}

// ofSchedules answers with the problems of schedules, and those of runs.
func (s *Runs) ofSchedules(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return s.answer(func(w http.ResponseWriter, r *http.Request) error {
		err := handle(w, r)
		field, faulty := errors.AsType[*coordinator.FieldError](err)
		switch {
		case faulty:
			return newProblem(http.StatusBadRequest, codeQuery, clip(field.Error(), maxDetail), `send {"name": "nightly", "cron": "0 3 * * *", "spec": {…}}`).at("/" + field.Field)
		case errors.Is(err, store.ErrExists):
			return newProblem(http.StatusConflict, codeScheduleExists, "there is a schedule of that name", "remove it first, or take another name")
		case errors.Is(err, store.ErrUnknown) && !isMissing(err):
			return newProblem(http.StatusNotFound, codeNotFound, "there is no such schedule", "GET "+schedulesPath+" lists the schedules")
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

func scheduleOperations() map[string]operation {
	one := schedulesPath + "/{name}"
	type newSchedule struct {
		scheduleHead
		Spec runspec.Spec `json:"spec"`
	}
	return map[string]operation{
		"GET " + schedulesPath:  {summary: "List schedules", query: paged(), answers: []answer{gives(http.StatusOK, store.Page[store.Schedule]{})}},
		"POST " + schedulesPath: {summary: "Add a schedule", body: newSchedule{}, answers: []answer{gives(http.StatusCreated, store.Schedule{})}},
		"GET " + one:            {summary: "A schedule, and what became of its last time", answers: []answer{gives(http.StatusOK, store.Schedule{})}},
		"DELETE " + one:         {summary: "Remove a schedule; its runs stay", answers: []answer{{status: http.StatusNoContent}}},
		"POST " + one + "/run": {
			summary: "Begin a run of a schedule now", answers: []answer{gives(http.StatusAccepted, store.Run{})},
			headers: []parameter{idempotencyHeader},
		},
	}
}

func isMissing(err error) bool {
	_, lacks := errors.AsType[*store.MissingBlobsError](err)
	return lacks
}

func (s *Runs) addSchedule(w http.ResponseWriter, r *http.Request) error {
	if s.stopping.Load() {
		return stoppingProblem()
	}
	body, err := readJSONUpTo(w, r, maxSpecMB, "send large files with PUT /api/v1/blobs/SHA256 and name them by their hashes")
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
		return made, newProblem(http.StatusBadRequest, codeQuery, "the schedule has no spec", `send {"name": "nightly", "cron": "0 3 * * *", "spec": {…}}`).at("/spec")
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
