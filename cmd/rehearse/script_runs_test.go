package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/fleet/worker"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec/bundle"
)

// startRunServer starts a server that holds each run that is submitted from its files alone, at once; sets $RUNS. It
// takes the token rht_good. With an argument it is a liar: the record of every run says that it has passed.
func startRunServer(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs("server")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		run := `{"id":"r1","status":%q,"suites":["shop"],"progress":{"conversations":2,"done":0,"running":0}}`
		switch at := r.Method + " " + r.URL.Path; {
		case r.Header.Get("Authorization") != "Bearer rht_good":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"code":"unauthorized","detail":"a token is needed"}`)
		case at == "POST /api/v1/runs":
			body, _ := io.ReadAll(r.Body)
			if err := heldByServer(r.Context(), dir, body); err != nil {
				w.WriteHeader(http.StatusUnprocessableEntity)
				fmt.Fprintf(w, `{"code":"invalid_spec","detail":%q}`, err.Error())
				return
			}
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, run, "queued")
		case at == "GET /api/v1/runs/r1/events":
			fmt.Fprintf(w, "id: 1\nevent: status\ndata: "+run+"\n\nid: 2\nevent: end\ndata: "+run+"\n\n", "running",
				"completed")
		case at == "GET /api/v1/runs/r1/results":
			serveAsR1(w, dir, "results.jsonl", false)
		case at == "GET /api/v1/runs/r1/run.json":
			serveAsR1(w, dir, "run.json", len(args) > 0)
		case at == "GET /api/v1/runs":
			fmt.Fprintf(w, `{"items":[`+run+`],"next_cursor":null}`, "completed")
		case at == "GET /api/v1/runs/r1", at == "POST /api/v1/runs/r1/cancel":
			fmt.Fprintf(w, run, "completed")
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code":"not_found","detail":"there is no such run"}`)
		}
	}))
	ts.Defer(web.Close)
	ts.Setenv("RUNS", web.URL)
}

// serveAsR1 sends a file of the run that was held, under the id that the server has for it; as a liar with the end of a
// run that has passed.
func serveAsR1(w http.ResponseWriter, dir, name string, passed bool) {
	run, err := os.ReadFile(filepath.Join(dir, "out", "run.json"))
	data, also := os.ReadFile(filepath.Join(dir, "out", name))
	id := regexp.MustCompile(`"run_id": *"([^"]*)"`).FindSubmatch(run)
	if err != nil || also != nil || id == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	data = bytes.ReplaceAll(data, id[1], []byte("r1"))
	if passed {
		data = regexp.MustCompile(`"exit_reason": *"[a-z]*"`).ReplaceAll(data, []byte(`"exit_reason": "passed"`))
		data = regexp.MustCompile(`"exit_code": *[0-9]+`).ReplaceAll(data, []byte(`"exit_code": 0`))
	}
	_, _ = w.Write(data)
}

// heldByServer holds a run whose files are in a folder below dir.
func heldByServer(ctx context.Context, dir string, body []byte) error {
	spec, err := runspec.Read(body)
	if err != nil {
		return err
	}
	files, err := os.MkdirTemp(filepath.Dir(dir), "files-")
	if err != nil {
		return err
	}
	if err := bundle.Unpack(ctx, files, spec, nil); err != nil {
		return err
	}
	root, err := os.OpenRoot(files)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	s, err := wire.Open(wire.Options{Files: source.Within(root), Config: spec.Config, Model: spec.Model})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	concluding, c, err := worker.Planned(evaluation.Config{Setup: s, Spec: spec, Out: filepath.Join(dir, "out")})
	if err != nil {
		return err
	}
	e, err := evaluation.New(ctx, c)
	if err != nil {
		return err
	}
	held, err := e.Run(ctx)
	if err != nil {
		return err
	}
	if _, err := concluding.Decide(&held.Run, held.Dir); err != nil {
		return err
	}
	_, err = e.Conclude(held)
	return err
}
