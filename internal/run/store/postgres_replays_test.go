package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
)

func TestPostgresReplays(t *testing.T) {
	opened := emptied(t)
	storetest.RunVariants(t, func(t *testing.T) *store.Variants { return opened(t).Variants() })
	storetest.RunReplays(t, func(t *testing.T) *store.ReplayRuns { return opened(t).ReplayRuns() })
	for _, tc := range []struct {
		name string
		test func(*testing.T, *url.URL)
	}{
		{"an application's variants", foreignVariants},
		{"an application's results", foreignResults},
		{"tables that cannot be used are explained", unusableTables},
		{"a schema without replays gets them", oldSchema},
		{"pages of sessions need no sort", outcomePagesNeedNoSort},
		{"the server goes away and comes back", serverAway},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, servertest.Database(t)) })
	}
}

const (
	aUUID = "6f1c8f6e-0c57-4d0f-9a55-5d6c2e1d9d10"
	bUUID = "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"
)

func foreignVariants(t *testing.T, u *url.URL) {
	execute(t, u, `CREATE SCHEMA exp;
		CREATE TABLE exp.variants (id uuid, experiment_id uuid, name varchar(40), config json, created_at timestamptz NOT NULL DEFAULT now());
		INSERT INTO exp.variants (id, config) VALUES ('`+aUUID+`', '{"execution_strategy": "agent"}'), (NULL, NULL);
		CREATE TABLE exp.prompt_versions (id uuid PRIMARY KEY, file_path text NOT NULL, model_provider text, model_name text, config_defaults text);
		INSERT INTO exp.prompt_versions VALUES ('`+aUUID+`', 'a.md', NULL, NULL, NULL)`)
	v := openPostgres(t, u).Variants()
	got, err := v.Variant(t.Context(), strings.ToUpper(aUUID))
	if want := (replay.Variant{ID: aUUID, Config: json.RawMessage(`{"execution_strategy": "agent"}`)}); err != nil ||
		cmp.Diff(want, got) != "" {
		t.Errorf("Variant: %+v, %v", got, err)
	}
	prompt, err := v.Prompt(t.Context(), aUUID)
	if want := (replay.PromptVersion{ID: aUUID, FilePath: "a.md"}); err != nil || cmp.Diff(want, prompt) != "" {
		t.Errorf("Prompt: %+v, %v", prompt, err)
	}
	if _, err := v.Variant(t.Context(), "v1"); !errors.Is(err, replay.ErrUnknown) {
		t.Errorf("Variant of what is no UUID: %v", err)
	}
	for _, id := range []string{aUUID, bUUID, bUUID} {
		err := errors.Join(
			v.PutVariant(t.Context(), replay.Variant{
				ID: id, ExperimentID: bUUID, Name: "new", Config: json.RawMessage(`{"a":1}`),
			}),
			v.PutPrompt(t.Context(), replay.PromptVersion{
				ID: id, FilePath: "b.md", ModelName: "m", ConfigDefaults: json.RawMessage(`{"b":2}`),
			}))
		if err != nil {
			t.Fatal(err)
		}
		back, err := v.Variant(t.Context(), id)
		if err != nil || back.Name != "new" || back.ExperimentID != strings.ToLower(bUUID) ||
			string(back.Config) != `{"a":1}` {
			t.Errorf("Variant: %+v, %v", back, err)
		}
		prompt, err := v.Prompt(t.Context(), id)
		if err != nil || prompt.FilePath != "b.md" || string(prompt.ConfigDefaults) != `{"b":2}` {
			t.Errorf("Prompt: %+v, %v", prompt, err)
		}
	}
	variants, err := v.List(t.Context())
	prompts, err2 := v.Prompts(t.Context())
	if len(variants) != 2 || len(prompts) != 2 || err != nil || err2 != nil {
		t.Errorf("%d variants, %v; %d prompts, %v; want 2 each", len(variants), err, len(prompts), err2)
	}
	for _, tc := range []struct {
		put  replay.Variant
		want string
	}{
		{replay.Variant{ID: "v1"}, "give a value of that type, such as a UUID for an id"},
		{replay.Variant{ID: aUUID, ExperimentID: "e1"}, "such as a UUID"},
		{replay.Variant{ID: aUUID, Name: strings.Repeat("long", 20)}, "the table keeps shorter text only"},
	} {
		err := v.PutVariant(t.Context(), tc.put)
		if err == nil || !errors.As(err, new(*store.Error)) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("PutVariant(%+v): %v, want %s", tc.put, err, tc.want)
		}
	}
}

// foreignResults is the table of results as another program made it, with its own types and without a key.
func foreignResults(t *testing.T, u *url.URL) {
	execute(t, u, `CREATE SCHEMA exp; CREATE TABLE exp.conversation_replay_results (variant_id uuid, flow_id varchar(100), dataset_version text,
		evaluation_run_id uuid, completion_match_score numeric(6,4), turn_count_ratio real, state_progression_match numeric, avg_latency_ms integer,
		completion_time_seconds double precision, data_collection_accuracy numeric, baseline_variant_id uuid, is_better_than_baseline boolean,
		status varchar(20));
		INSERT INTO exp.conversation_replay_results (evaluation_run_id, status, completion_match_score) VALUES ('`+
		aUUID+`', 'completed', 0.5), (NULL, NULL, NULL),
			('`+strings.Replace(aUUID, "6", "7", 1)+`', 'running', NULL)`)
	file := ask(t, u, `SELECT pg_relation_filenode('exp.conversation_replay_results')`)
	openMany(t, u)
	r := openPostgres(t, u).ReplayRuns()
	if now := ask(t, u, `SELECT pg_relation_filenode('exp.conversation_replay_results')`); now != file {
		t.Error("the table was rewritten")
	}
	old, err := r.Run(t.Context(), aUUID)
	if diff := cmp.Diff(replay.Run{ID: aUUID, Status: replay.Done, CompletionMatch: new(0.5)}, old); diff != "" ||
		err != nil {
		t.Errorf("Run: %v\n%s", err, diff)
	}
	for _, status := range []replay.Status{replay.Running, replay.Done} {
		run := replay.Run{
			ID: bUUID, VariantID: aUUID, FlowID: "f", Status: status, CompletionMatch: new(0.25),
			TurnCountRatio: new(1.5), AvgLatencyMS: new(99.6), Better: new(true), Started: time.Now(), Seen: time.Now(),
			Intervals: json.RawMessage(`{}`),
		}
		if err := errors.Join(r.PutRun(t.Context(), run),
			r.PutOutcomes(t.Context(), bUUID, replayed(60), time.Now())); err != nil {
			t.Fatal(err)
		}
		got, err := r.Run(t.Context(), bUUID)
		if err != nil || got.Status != status || got.AvgLatencyMS == nil || *got.AvgLatencyMS != 100 ||
			*got.TurnCountRatio != 1.5 || !*got.Better {
			t.Errorf("Run: %+v, %v", got, err)
		}
	}
	if n := len(listed(t, r, bUUID)); n != 60 {
		t.Errorf("%d sessions, want 60", n)
	}
	all, err := r.Runs(t.Context(), 0)
	if len(all) != 3 || err != nil || !strings.EqualFold(all[0].ID, bUUID) {
		t.Errorf("Runs: %+v, %v", all, err)
	}
	if n, err := r.Sweep(t.Context(), time.Now()); n != 0 || err != nil {
		t.Errorf("Sweep: %d, %v: a run without times is nobody's", n, err)
	}
}

func listed(t *testing.T, r *store.ReplayRuns, run string) (ids []string) {
	t.Helper()
	for o, err := range r.Outcomes(t.Context(), run) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, o.SessionID)
	}
	return ids
}

func unusableTables(t *testing.T, u *url.URL) {
	execute(t, u, `CREATE SCHEMA exp; CREATE TABLE exp.variants (name text); CREATE VIEW exp.conversation_replay_results AS SELECT 1 AS one`)
	p := openPostgres(t, u) // events can be used all the same
	if _, _, err := p.Events().Put(t.Context(), messages(0, 10)); err != nil {
		t.Error(err)
	}
	_, one := p.Variants().List(t.Context())
	_, two := p.ReplayRuns().Runs(t.Context(), 0)
	for want, err := range map[string]error{
		"exp.variants needs the columns id, experiment_id, name and config": one,
		"exp.conversation_replay_results needs the columns":                 two,
	} {
		if err == nil || !errors.As(err, new(*store.Error)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	execute(t, u, `DROP TABLE exp.prompt_versions`)
	if _, err := p.Variants().Prompts(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "the table is gone: open the store again") {
		t.Errorf("Prompts without the table: %v", err)
	}
}

// oldSchema has only the first migration, as an earlier program left it, and then the second one twice.
func oldSchema(t *testing.T, u *url.URL) {
	openPostgres(t, u)
	for _, change := range []string{
		`DROP TABLE exp.variants, exp.prompt_versions, exp.conversation_replay_results, exp.conversation_replay_sessions;
			DELETE FROM exp.rehearse_migrations WHERE version_id >= 2`,
		`DELETE FROM exp.rehearse_migrations WHERE version_id >= 2`,
	} {
		execute(t, u, change)
		openMany(t, u)
		p := openPostgres(t, u)
		if err := p.ReplayRuns().PutRun(t.Context(), replay.Run{ID: "r", Status: replay.Done}); err != nil {
			t.Error(err)
		}
		if err := p.Variants().PutVariant(t.Context(), replay.Variant{ID: "v"}); err != nil {
			t.Error(err)
		}
	}
	if n := ask(t, u, `SELECT count(*) FROM exp.conversation_replay_results`); n != "1" {
		t.Errorf("%s runs, want 1", n)
	}
}

func outcomePagesNeedNoSort(t *testing.T, u *url.URL) {
	r := openPostgres(t, u).ReplayRuns()
	err := errors.Join(r.PutRun(t.Context(), replay.Run{ID: "r", Status: replay.Running}),
		r.PutOutcomes(t.Context(), "r", replayed(1_000), time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	query, args := store.OutcomePage("r", "s")
	for _, analyze := range []string{"", "ANALYZE;"} {
		plan := explained(t, u, analyze+"SET enable_sort = off", query, args)
		if !strings.Contains(plan, "Index Scan using conversation_replay_sessions_pkey") ||
			strings.Contains(plan, "Sort") {
			t.Errorf("%s:\n%s", analyze, plan)
		}
	}
}

// gateway stands between a program and the server, so that the server can go away.
type gateway struct {
	listener net.Listener
	server   string

	mu     sync.Mutex
	conns  []net.Conn
	silent bool
	ended  sync.WaitGroup
}

// newGateway listens at an address, or anywhere.
func newGateway(t *testing.T, address, server string) *gateway {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{listener: l, server: server}
	g.ended.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			g.ended.Go(func() { g.carry(conn) })
		}
	})
	return g
}

func (g *gateway) carry(conn net.Conn) {
	to, err := net.Dial("tcp", g.server)
	if err != nil {
		conn.Close()
		return
	}
	g.mu.Lock()
	g.conns = append(g.conns, conn, to)
	g.mu.Unlock()
	g.ended.Go(func() { g.copy(to, conn) })
	g.copy(conn, to)
}

// copy passes bytes on, unless nothing is heard any more.
func (g *gateway) copy(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		g.mu.Lock()
		silent := g.silent
		g.mu.Unlock()
		if !silent {
			if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
				break
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || err != nil {
			break
		}
	}
	to.Close()
	from.Close()
}

func (g *gateway) keepSilent(silent bool) {
	g.mu.Lock()
	g.silent = silent
	g.mu.Unlock()
}

// close ends all connections; nothing listens any more.
func (g *gateway) close() {
	g.listener.Close()
	g.mu.Lock()
	for _, c := range g.conns {
		c.Close()
	}
	g.mu.Unlock()
	g.ended.Wait()
}

func serverAway(t *testing.T, u *url.URL) {
	server := u.Host
	g := newGateway(t, "127.0.0.1:0", server)
	address := g.listener.Addr().String()
	through := *u
	through.Host = address
	p := openPostgres(t, &through)
	r, v := p.ReplayRuns(), p.Variants()
	start := errors.Join(
		v.PutVariant(t.Context(), replay.Variant{ID: "v"}),
		r.PutRun(t.Context(), replay.Run{ID: "r", Status: replay.Running}),
		r.PutOutcomes(t.Context(), "r", replayed(400), time.Now()),
	)
	if start != nil {
		t.Fatal(start)
	}
	calls := func(ctx context.Context) []error {
		_, variant := v.Variant(ctx, "v")
		_, list := r.Runs(ctx, 1)
		var read error
		for _, read = range r.Outcomes(ctx, "r") {
			_ = read // the last one counts
		}
		return []error{
			variant, list, read, v.PutVariant(ctx, replay.Variant{ID: "v"}),
			r.PutRun(ctx, replay.Run{ID: "r", Status: replay.Running}),
			r.PutOutcomes(ctx, "r", replayed(40), time.Now()),
		}
	}

	// In the middle of reading.
	var read int
	var broken error
	for _, err := range r.Outcomes(t.Context(), "r") {
		if broken = err; err == nil {
			read++
		}
		if read == 1 {
			g.close()
		}
	}
	if read != 50 || !errors.As(broken, new(*store.Error)) {
		t.Errorf("%d sessions were read, then %v", read, broken)
	}
	for i, err := range calls(t.Context()) {
		if !errors.As(err, new(*store.Error)) || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%d, nothing listens: %v", i, err)
		}
		hides(t, err, u)
	}

	g = newGateway(t, address, server)
	defer func() { g.close() }()
	for i, err := range calls(t.Context()) {
		if err != nil {
			t.Errorf("%d, the server is back: %v", i, err)
		}
	}

	g.keepSilent(true)
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		for i, err := range calls(ctx) {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%d, the server is silent: %v", i, err)
			}
		}
		cancel()
	}
	g.close()
	g = newGateway(t, address, server)
	for i, err := range calls(t.Context()) {
		if err != nil {
			t.Errorf("%d, the server is back again: %v", i, err)
		}
	}
	if ids := listed(t, r, "r"); len(ids) != 400 || !slices.IsSorted(ids) {
		t.Errorf("%d sessions, want 400", len(ids))
	}
}
