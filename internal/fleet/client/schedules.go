package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/retry"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Schedule is a schedule as the API shows it.
type Schedule struct {
	Name     string    `json:"name"`
	Cron     string    `json:"cron"`
	Timezone string    `json:"timezone"`
	NextAt   time.Time `json:"next_at"`
	// Last is what became of the last time; nil before the first one.
	Last *struct {
		At      time.Time `json:"at"`
		Outcome string    `json:"outcome"`
		RunID   string    `json:"run_id"`
	} `json:"last"`
	// Body is the whole as it came.
	Body json.RawMessage `json:"-"`
}

const schedulesPath = "/api/v1/schedules"

func scheduleAt(name string) string { return schedulesPath + "/" + url.PathEscape(name) }

// AddSchedule sends the files of a run that are large, then a schedule of such runs. After a lost answer it is not sent
// again: the schedule may be there.
func (c *Client) AddSchedule(ctx context.Context, name, cron, zone string, s runspec.Spec) (Schedule, error) {
	once := retry.Policy{Retries: tries, After: retryAfter, Transient: func(err error) bool {
		_, answered := errors.AsType[*RefusedError](err)
		return answered && transient(err)
	}}
	answer, err := c.sendSpec(ctx, s, func(spec runspec.Spec) ([]byte, error) {
		body, err := json.Marshal(struct {
			Name     string       `json:"name"`
			Cron     string       `json:"cron"`
			Timezone string       `json:"timezone,omitempty"`
			Spec     runspec.Spec `json:"spec"`
		}{name, cron, zone, spec})
		if err != nil {
			return nil, err
		}
		return c.ask(ctx, once, call{
			method: http.MethodPost, path: schedulesPath, accept: "application/json", body: body,
		})
	})
	if err != nil {
		return Schedule{}, fmt.Errorf("add the schedule %s: %w", name, err)
	}
	return readSchedule(answer)
}

// Schedules returns all schedules in the order of their names.
func (c *Client) Schedules(ctx context.Context) (all []Schedule, err error) {
	items, err := c.items(ctx, schedulesPath, url.Values{}, math.MaxInt)
	if err != nil {
		return nil, fmt.Errorf("list the schedules: %w", err)
	}
	for _, item := range items {
		s, err := readSchedule(item)
		if err != nil {
			return nil, fmt.Errorf("list the schedules: %w", err)
		}
		all = append(all, s)
	}
	return all, nil
}

// RemoveSchedule removes a schedule. Its runs stay.
func (c *Client) RemoveSchedule(ctx context.Context, name string) error {
	if _, err := c.ask(ctx, firm(), call{method: http.MethodDelete, path: scheduleAt(name)}); err != nil {
		return fmt.Errorf("remove the schedule %s: %w", name, err)
	}
	return nil
}

// RunSchedule submits a run of a schedule now, once.
func (c *Client) RunSchedule(ctx context.Context, name string) (Run, error) {
	answer, err := c.ask(ctx, firm(), call{
		method: http.MethodPost, path: scheduleAt(name) + "/run", accept: "application/json",
		header: map[string]string{"Idempotency-Key": rand.Text()},
	})
	if err != nil {
		return Run{}, fmt.Errorf("run the schedule %s: %w", name, err)
	}
	return readRun(answer)
}

func readSchedule(answer []byte) (s Schedule, err error) {
	if err := json.Unmarshal(answer, &s); err != nil {
		return s, fmt.Errorf("the server's answer is no schedule: %w", err)
	}
	if s.Name == "" {
		return s, errors.New("the server's answer is no schedule: it has no name")
	}
	s.Body = slices.Clone(answer)
	return s, nil
}
