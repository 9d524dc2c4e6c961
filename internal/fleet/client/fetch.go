package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/base/retry"
	"github.com/rehearse-dev/rehearse/internal/run/artifact"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Fetch writes the results and the record of a run that has ended into a folder, each whole or not at all. place gives
// a file of the run the name that it has here.
func (c *Client) Fetch(ctx context.Context, id, dir string, place func(file string) string) (result.Run, error) {
	_, _, err := retry.Do(ctx, c.firmer(), func(ctx context.Context) (struct{}, error) {
		answer, err := c.send(ctx, call{
			method: http.MethodGet, path: pathOf(id) + "/results", accept: "application/x-ndjson",
		})
		if err != nil {
			return struct{}{}, err
		}
		defer func() { _ = answer.Body.Close() }() // it was only read
		return struct{}{}, runlog.WriteFile(filepath.Join(dir, runlog.LogFile), func(w io.Writer) error {
			return placed(w, answer.Body, place)
		})
	})
	if err != nil {
		return result.Run{}, fmt.Errorf("fetch the results of run %s: %w", id, err)
	}
	record, err := c.FetchFile(ctx, id, runlog.RunFile)
	if err != nil {
		return result.Run{}, err
	}
	var run result.Run
	if err := json.Unmarshal(record, &run); err != nil {
		return run, fmt.Errorf("fetch the record of run %s: %w", id, err)
	}
	if run.Schema > result.Schema {
		return run, fmt.Errorf("the record of run %s has schema %d; this program knows %d: use the server's version",
			id, run.Schema, result.Schema)
	}
	for i, file := range run.Suites {
		run.Suites[i] = place(file)
	}
	if config, ok := run.Config.(map[string]any); ok {
		if file, ok := config["config"].(string); ok && file != "" {
			config["config"] = place(file)
		}
	}
	return run, runlog.WriteRun(dir, run)
}

// FetchFile returns a file of a run that has ended, such as its report.
func (c *Client) FetchFile(ctx context.Context, id, name string) ([]byte, error) {
	data, err := c.ask(ctx, c.firmer(), call{
		method: http.MethodGet, path: pathOf(id) + "/" + name, accept: "application/json",
	})
	if err != nil {
		return nil, fmt.Errorf("fetch %s of run %s: %w", name, id, err)
	}
	return data, nil
}

// FetchArtifacts writes the artifacts of a run into the folder artifacts/ of its results. Those that its records name
// and the server does not have are counted.
func (c *Client) FetchArtifacts(ctx context.Context, id, dir string) (missing int, err error) {
	folder := artifact.Folder{Dir: filepath.Join(dir, runlog.ArtifactDir)}
	asked := map[string]bool{"": true}
	for t, err := range runlog.Read(dir) {
		if err != nil {
			return missing, err
		}
		for _, a := range t.Artifacts {
			if asked[a.SHA256] {
				continue
			}
			asked[a.SHA256] = true
			data, err := c.ask(ctx, c.firmer(), call{
				method: http.MethodGet, path: "/api/v1/artifacts/" + url.PathEscape(a.SHA256),
			})
			if refused, ok := errors.AsType[*RefusedError](err); ok && refused.Status == http.StatusNotFound {
				missing++
				continue
			}
			if sum := sha256.Sum256(data); err == nil && hex.EncodeToString(sum[:]) != a.SHA256 {
				err = errors.New("its bytes do not have its hash")
			}
			if err == nil {
				err = folder.Put(ctx, a.SHA256, data)
			}
			if err != nil {
				return missing, fmt.Errorf("fetch the artifact %s of run %s: %w", a.SHA256, id, err)
			}
		}
	}
	return missing, nil
}

// firmer is the policy of requests to a server that was there before.
func (c *Client) firmer() retry.Policy {
	p := firm()
	p.Retries = 2 * tries
	return p
}
