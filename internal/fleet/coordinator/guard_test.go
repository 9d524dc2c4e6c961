package coordinator_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient/httpclienttest"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/fleet/worker"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// submitted is a server that leads runs by some rules, and a worker on another queue with an environment of its own.
func (h *house) submitted(allowed wire.Submitted, workers wire.Options) *coordinator.Service {
	h.t.Helper()
	s := coordinator.New(coordinator.Config{
		Store: h.store, Conn: h.conn, Queue: h.queue,
		Dir: filepath.Join(h.dir, "leader"), Owner: "leader", Lease: 3 * time.Second,
		Setup: wire.Options{Submitted: &allowed, Environ: workers.Environ, LookupEnv: workers.LookupEnv},
	})
	h.run(func(ctx context.Context) error { return s.Run(ctx, nil) })
	h.workWith("worker", h.queue, workers)
	return s
}

func (h *house) workWith(name string, q *queue.JetStream, o wire.Options) (stop func()) {
	leased := natsconn.NewLimits(h.conn, q.AckWait())
	h.t.Cleanup(leased.Close)
	o.Limits = worker.Limits(leased)
	w := worker.New(worker.Config{
		Conn: h.conn, Queue: q, Name: name, Workers: 8, Version: "test",
		Open: worker.FromNATS(h.conn, filepath.Join(h.dir, name), o),
	})
	return h.run(func(ctx context.Context) error { return w.Run(ctx, nil) })
}

// environ are options with an environment.
func environ(entries ...string) wire.Options {
	return wire.Options{Environ: entries, LookupEnv: func(name string) (string, bool) {
		for _, entry := range entries {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}}
}

// records returns the stored results by target and test.
func (h *house) records(id string) map[string]*result.Test {
	h.t.Helper()
	all := map[string]*result.Test{}
	for r, err := range h.store.AllResults(h.t.Context(), id, store.ResultFilter{}) {
		if err != nil {
			h.t.Fatal(err)
		}
		test, err := r.Test()
		if err != nil {
			h.t.Fatal(err)
		}
		all[test.Target+"/"+test.TestID] = test
	}
	return all
}

// said is what a result says of its failures.
func said(t *result.Test) (all string) {
	for _, f := range t.Failures {
		all += f.Message + "\n"
	}
	return all
}

// A name that leads to a private address is reached by no kind of target, by no model and by no grader. Nothing of the
// address is told.
func TestNamesAreCheckedWhereTheyAreDialled(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was sent", r.Method, r.URL)
	}))
	t.Cleanup(inside.Close)
	resolver, _ := httpclienttest.Resolver("127.0.0.1")
	before := net.DefaultResolver
	net.DefaultResolver = resolver
	t.Cleanup(func() { net.DefaultResolver = before })
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	at := "inside.example:" + port

	h := newHouse(t)
	s := h.submitted(wire.Submitted{}, environ("OPENAI_API_KEY=sk-secret-key"))
	spec := written(strings.NewReplacer("AT", at, "PORT", port).Replace(`targets:
  http: {url: 'http://AT/chat'}
  opened: {url: 'http://public.example', open: {url: 'http://AT/open', session: {path: $.id}}, body: {s: '{{session_id}}'}}
  templated: {url: 'http://{{vars.host}}:PORT/chat'}
  websocket: {url: 'ws://AT/chat'}
  a2a: {kind: a2a, url: 'http://AT/'}
  execute: {kind: execute, url: 'http://AT/execute', flow_id: f}
  model: {model: openai:m, base_url: 'http://AT/v1'}
  at: 'openai:m@http://AT/v1'
  anthropic: {model: anthropic:m, base_url: 'http://AT/v1', api_key_env: ''}
`), plainTest+", vars: {host: 127.0.0.1}")
	spec.Targets = []string{"http", "opened", "templated", "websocket", "a2a", "execute", "model", "at", "anthropic"}
	run, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	ended := h.ended(run.ID)
	if ended.Totals.Errors != len(spec.Targets) || *ended.ExitCode != 3 {
		t.Errorf("%+v, totals %+v", ended, ended.Totals)
	}
	t.Logf("%s for %d targets", time.Since(began), len(spec.Targets))
	for name, test := range h.records(run.ID) {
		said := said(test)
		if len(test.Failures) == 0 || test.Failures[0].Code != "ENGINE_ERROR" ||
			!strings.Contains(said, "private address") {
			t.Errorf("%s: %+v %s", name, test.Failures, said)
		}
		if !strings.Contains(name, "templated") && strings.Contains(said, "127.0.0.1") {
			t.Errorf("%s tells the address: %s", name, said)
		}
	}

	spec = written("targets: {l: 'scripted:bot.yaml'}", "assertions: [{type: http, url: 'http://"+at+"/grade'}]")
	if run, _, err = s.Submit(t.Context(), spec, "", coordinator.Caller{}); err != nil {
		t.Fatal(err)
	}
	h.ended(run.ID)
	if text := said(h.records(run.ID)["l/a"]); !strings.Contains(text, "inside.example") ||
		!strings.Contains(text, "private address") {
		t.Errorf("the grader: %s", text)
	}
}

// provider is a model's endpoint that notes which keys it is sent.
func provider(t *testing.T) (address string, keys func() []string) {
	var mu sync.Mutex
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		sent = append(sent, r.URL.Path+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		_, _ = io.WriteString(w, `{"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		all := sent
		sent = nil
		return all
	}
}

// The key of a provider goes to the provider's own address, which may be private, and to no other one that a submission
// names.
func TestKeysOfProviders(t *testing.T) {
	own, toOwn := provider(t)
	other, toOther := provider(t)
	h := newHouse(t)
	s := h.submitted(wire.Submitted{AllowPrivate: true, AllowEnv: []string{"SHOP_*"}},
		environ("OPENAI_BASE_URL="+own+"/v1", "OPENAI_API_KEY=sk-secret", "SHOP_KEY=sk-shop",
			"REHEARSE_TARGET_KEY=sk-target", "REHEARSE_TARGET_URL="+other))
	for name, one := range map[string]struct {
		target, own, other string
		verdict            result.Verdict
	}{
		"the provider's own": {"openai:m", "Bearer sk-secret", "", result.Pass},
		"the same address": {
			"{model: openai:m, base_url: '" + own + "/v1/'}", "Bearer sk-secret", "", result.Pass,
		},
		"another address": {"{model: openai:m, base_url: '" + other + "/v1'}", "", "none", result.Pass},
		"another path":    {"{model: openai:m, base_url: '" + own + "/v2'}", "none", "", result.Pass},
		"behind @":        {"'openai:m@" + other + "/v1'", "", "none", result.Pass},
		"a listed key": {
			"{model: openai:m, base_url: '" + other + "/v1', api_key_env: SHOP_KEY}", "", "Bearer sk-shop", result.Pass,
		},
		"a listed key, own": {"{model: openai:m, api_key_env: SHOP_KEY}", "Bearer sk-shop", "", result.Pass},
		"a header that is filled": {
			"{model: openai:m, base_url: '" + other + "/v1', headers: {X: '${{ SHOP_KEY }}'}}", "", "none", result.Pass,
		},
	} {
		run, _, err := s.Submit(t.Context(), written("targets: {t: "+one.target+"}", plainTest), "",
			coordinator.Caller{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if ended := h.ended(run.ID); ended.Totals.Passed != 1 {
			t.Errorf("%s: %+v", name, h.records(run.ID)["t/a"])
		}
		for where, got := range map[string][2]string{
			"own":   {one.own, strings.Join(toOwn(), ",")},
			"other": {one.other, strings.Join(toOther(), ",")},
		} {
			_, key, _ := strings.Cut(got[1], " ")
			if got[1] != "" && key == "" {
				key = "none"
			}
			if key != got[0] {
				t.Errorf("%s: the %s address was sent %q, want %q", name, where, got[1], got[0])
			}
		}
	}
}

// A private address that the environment gives is asked without --allow-private, others on the same machine are not.
func TestAddressesOfTheEnvironment(t *testing.T) {
	own, toOwn := provider(t)
	other, toOther := provider(t)
	redirecting := httptest.NewServer(http.RedirectHandler(other+"/stolen", http.StatusTemporaryRedirect))
	t.Cleanup(redirecting.Close)
	h := newHouse(t)
	s := h.submitted(wire.Submitted{AllowEnv: []string{"SHOP_*"}},
		environ("OPENAI_BASE_URL="+own+"/v1", "OPENAI_API_KEY=sk-secret", "SHOP_URL="+redirecting.URL))
	run, _, err := s.Submit(t.Context(), written("targets: {t: openai:m}", plainTest), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	if ended := h.ended(run.ID); ended.Totals.Passed != 1 || len(toOwn()) != 1 {
		t.Errorf("%+v", h.records(run.ID)["t/a"])
	}
	run, _, err = s.Submit(t.Context(), written("targets: {t: {url: '${{ SHOP_URL }}/chat'}}", plainTest), "",
		coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	if ended := h.ended(run.ID); ended.Totals.Errors != 1 || len(toOther()) != 0 ||
		!strings.Contains(said(h.records(run.ID)["t/a"]), "redirect") {
		t.Errorf("%+v", h.records(run.ID)["t/a"])
	}
	if _, _, err := s.Submit(t.Context(), written("targets: {t: {url: '"+other+"'}}", plainTest), "",
		coordinator.Caller{}); code(err) != wire.RefusedAddress {
		t.Error(err)
	}
}

// A worker that starts no programs leaves such conversations to others, and holds the rest of the run.
func TestCommandsGoToWorkersThatAllowThem(t *testing.T) {
	h := newHouse(t)
	s := coordinator.New(coordinator.Config{
		Store: h.store, Conn: h.conn, Queue: h.queue, Dir: filepath.Join(h.dir, "leader"), Owner: "leader",
		Lease: 3 * time.Second,
	})
	h.run(func(ctx context.Context) error { return s.Run(ctx, nil) })
	h.workWith("plain", h.queue, wire.Options{NoCommands: true})
	spec := written("targets: {l: 'scripted:bot.yaml', c: {kind: command, command: [cat]}}", plainTest)
	spec.Files["graded.suite.yaml"] = written("",
		"assertions: [{type: command, command: [echo, '{\"score\": 1}']}]").Files["s.suite.yaml"]
	spec.Suites, spec.Targets = []string{"s.suite.yaml", "graded.suite.yaml"}, []string{"l", "c"}
	run, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{Commands: true})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); len(h.records(run.ID)) == 0 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	if all := h.records(run.ID); len(all) != 1 || all["l/a"] == nil {
		t.Errorf("without a worker for commands: %d results", len(all))
	}
	commands, err := queue.NewJetStream(t.Context(), h.conn, queue.Options{
		AckWait: 3 * time.Second, Worker: "commands", Commands: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(commands.Close)
	h.workWith("commands", commands, wire.Options{})
	if ended := h.ended(run.ID); ended.Totals.Errors != 0 || ended.Progress.Done != 4 {
		for _, test := range h.records(run.ID) {
			t.Errorf("%s: %s", test.Suite, said(test))
		}
	}
	for r, err := range h.store.AllResults(t.Context(), run.ID, store.ResultFilter{}) {
		if test, _ := r.Test(); err != nil || fmt.Sprint(test.Suite, test.Target) != "sl" && r.Worker != "commands" {
			t.Errorf("%s/%s was held by %s, %v", test.Suite, test.Target, r.Worker, err)
		}
	}
}
