package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Run is a run as the API shows it. What is not known yet is nil.
type Run struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Status    string     `json:"status"`
	Suites    []string   `json:"suites"`
	Targets   []string   `json:"targets"`
	CreatedAt time.Time  `json:"created_at"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Progress  struct {
		Conversations *int `json:"conversations"`
		Done          int  `json:"done"`
		Running       int  `json:"running"`
	} `json:"progress"`
	Totals     *result.Totals `json:"totals"`
	PassRate   *float64       `json:"pass_rate"`
	ExitReason *string        `json:"exit_reason"`
	ExitCode   *int           `json:"exit_code"`
	Error      *string        `json:"error"`
	// Body is the whole as it came.
	Body json.RawMessage `json:"-"`
}

const runsPath = "/api/v1/runs"

func pathOf(id string) string { return runsPath + "/" + url.PathEscape(id) }

// The sizes up to which the content of files is sent within a spec: of one file, and of all together, in bytes. JSON
// may need several bytes for one, and a spec may have 32 MB.
const (
	maxInline    = 1 << 20
	maxAllInline = 5 << 20
)

// Submit sends the files of a run that are large, then the run. It is not submitted twice, also when an answer is lost.
func (c *Client) Submit(ctx context.Context, s runspec.Spec) (Run, error) {
	key := rand.Text()
	answer, err := c.sendSpec(ctx, s, func(spec runspec.Spec) ([]byte, error) {
		body, err := json.Marshal(spec)
		if err != nil {
			return nil, err
		}
		return c.ask(ctx, firm(), call{
			method: http.MethodPost, path: runsPath, accept: "application/json", body: body,
			header: map[string]string{"Idempotency-Key": key},
		})
	})
	if err != nil {
		return Run{}, fmt.Errorf("submit the run: %w", err)
	}
	return readRun(answer)
}

// sendSpec sends the large files of a spec, and then what is made of the spec that names them by their hashes.
func (c *Client) sendSpec(ctx context.Context, s runspec.Spec,
	send func(runspec.Spec) ([]byte, error)) ([]byte, error) {
	spec, blobs := withBlobs(s)
	for _, hash := range slices.Sorted(maps.Keys(blobs)) {
		if err := c.putBlob(ctx, hash, blobs[hash], false); err != nil {
			return nil, fmt.Errorf("send a file of the run: %w", err)
		}
	}
	answer, err := send(spec)
	// they were deleted in between
	if refused, ok := errors.AsType[*RefusedError](err); ok && refused.Code == "missing_blobs" {
		for _, hash := range refused.Missing {
			if content, ok := blobs[hash]; ok {
				if err := c.putBlob(ctx, hash, content, true); err != nil {
					return nil, fmt.Errorf("send a file of the run: %w", err)
				}
			}
		}
		answer, err = send(spec)
	}
	return answer, err
}

// withBlobs returns a spec that names its large files by their hashes, and these files.
func withBlobs(s runspec.Spec) (runspec.Spec, map[string][]byte) {
	files, blobs, all := make(map[string]runspec.File, len(s.Files)), map[string][]byte{}, 0
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		f := s.Files[name]
		if size := len(f.Content); f.SHA256 == "" && (size > maxInline || all+size > maxAllInline) {
			hash := f.Hash()
			blobs[hash], f = f.Content, runspec.File{SHA256: hash}
		}
		all += len(f.Content)
		files[name] = f
	}
	s.Files = files
	return s, blobs
}

// putBlob sends a file unless the server has it; always with again.
func (c *Client) putBlob(ctx context.Context, hash string, content []byte, again bool) error {
	path := "/api/v1/blobs/" + hash
	if !again {
		_, err := c.ask(ctx, firm(), call{method: http.MethodHead, path: path})
		if refused, ok := errors.AsType[*RefusedError](err); err == nil || !ok ||
			refused.Status != http.StatusNotFound {
			return err
		}
	}
	_, err := c.ask(ctx, firm(), call{method: http.MethodPut, path: path, body: content, header: map[string]string{
		"Content-Type": "application/octet-stream",
	}})
	return err
}

// Cancel ends a run. One that has ended already is no error.
func (c *Client) Cancel(ctx context.Context, id string) (Run, error) {
	answer, err := c.ask(ctx, firm(), call{
		method: http.MethodPost, path: pathOf(id) + "/cancel", accept: "application/json",
	})
	if refused, ok := errors.AsType[*RefusedError](err); ok && refused.Code == "run_finished" {
		return c.Show(ctx, id)
	}
	if err != nil {
		return Run{}, fmt.Errorf("cancel run %s: %w", id, err)
	}
	return readRun(answer)
}

// Show returns a run.
func (c *Client) Show(ctx context.Context, id string) (Run, error) {
	answer, err := c.Get(ctx, pathOf(id))
	if err != nil {
		return Run{}, fmt.Errorf("show run %s: %w", id, err)
	}
	return readRun(answer)
}

// maxPage is the most that a page has.
const maxPage = 1000

// List returns the newest runs, at most limit, of a status where one is given; as JSON with list.
func (c *Client) List(ctx context.Context, status string, limit int) (runs []json.RawMessage, err error) {
	query := url.Values{}
	if status != "" {
		query.Set("status", status)
	}
	if runs, err = c.items(ctx, runsPath, query, limit); err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	return runs, nil
}

// Prune deletes runs that have ended, and returns how many. Of an age and a number at least one is given; nil is none.
func (c *Client) Prune(ctx context.Context, olderThan *runspec.Age, keep *int) (pruned int, err error) {
	body, err := json.Marshal(struct {
		OlderThan *runspec.Age `json:"older_than,omitempty"`
		Retain    *int         `json:"keep,omitempty"`
	}{olderThan, keep})
	if err != nil {
		return 0, fmt.Errorf("prune the runs: %w", err)
	}
	answer, err := c.ask(ctx, firm(), call{
		method: http.MethodPost, path: runsPath + "/prune", accept: "application/json", body: body,
	})
	if err != nil {
		return 0, fmt.Errorf("prune the runs: %w", err)
	}
	var said struct {
		Pruned *int `json:"pruned"`
	}
	if err := json.Unmarshal(answer, &said); err != nil || said.Pruned == nil {
		return 0, errors.New("prune the runs: the server's answer does not say how many")
	}
	return *said.Pruned, nil
}

// items returns the first items of a list, at most limit.
func (c *Client) items(ctx context.Context, path string, query url.Values,
	limit int) (items []json.RawMessage, err error) {
	for len(items) < limit {
		query.Set("limit", fmt.Sprint(min(maxPage, limit-len(items))))
		answer, err := c.Get(ctx, path+"?"+query.Encode())
		if err != nil {
			return nil, err
		}
		var page struct {
			Items []json.RawMessage `json:"items"`
			Next  *string           `json:"next_cursor"`
		}
		if err := json.Unmarshal(answer, &page); err != nil {
			return nil, fmt.Errorf("the server's answer is no page: %w", err)
		}
		items = append(items, page.Items...)
		if page.Next == nil || *page.Next == query.Get("cursor") || len(page.Items) == 0 {
			break
		}
		query.Set("cursor", *page.Next)
	}
	return items[:min(limit, len(items))], nil
}

// readRun reads a run in an answer.
func readRun(answer []byte) (Run, error) {
	var run Run
	if err := json.Unmarshal(answer, &run); err != nil {
		return run, fmt.Errorf("the server's answer is no run: %w", err)
	}
	if run.ID == "" {
		return run, errors.New("the server's answer is no run: it has no id")
	}
	run.Body = slices.Clone(answer)
	return run, nil
}
