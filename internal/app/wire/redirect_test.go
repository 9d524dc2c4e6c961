package wire_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/retrieve"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/siteconfig"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// TestNoRedirectIsFollowed sends every kind of request to a server that redirects: the error names the status and the
// host, and the other host is never asked.
func TestNoRedirectIsFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("followed: %s %s", r.Method, r.URL)
	}))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/there?key=hush", http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	dir := write(t, map[string]string{"rehearse.yaml": "targets: {served: {kind: http, url: " + server.URL +
		"/execute, flow_id: tea, memory: false}}\n" + "embedder: openai:any\n"})
	s := open(t, wire.Options{Config: filepath.Join(dir, "rehearse.yaml")}, map[string]string{
		"OPENAI_BASE_URL": server.URL + "/v1", "OPENAI_API_KEY": "sk-1234567890", "LANGFUSE_HOST": server.URL,
		"LANGFUSE_PUBLIC_KEY": "pk-lf-1234567890", "LANGFUSE_SECRET_KEY": "sk-lf-1234567890",
	})
	transport := httpclient.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	for what, send := range map[string]func(ctx context.Context) error{
		"target": func(ctx context.Context) error {
			target, err := s.Target("served", suite.Execution{})
			if err != nil {
				return err
			}
			session, err := target.Open(ctx, runner.Opening{Test: &suite.Test{ID: "a"}})
			if err != nil {
				return err
			}
			_, err = session.Send(ctx, chat.Content{Text: "hi"})
			return errors.Join(err, session.Close())
		},
		"http grader": func(ctx context.Context) error {
			graders, err := s.Graders(nil)
			if err != nil {
				return err
			}
			params, err := source.ParseYAML("suite.yaml",
				[]byte("- {type: http, url: '"+server.URL+"/grade?key=hush'}"))
			if err != nil {
				return err
			}
			check, err := graders.Check(
				suite.Assertions((&source.Reader{File: "suite.yaml"}).Node(params, "assertions"), dir)[0])
			if err != nil {
				return err
			}
			_, err = check.Grader.Grade(ctx, &runner.Exchange{Test: &suite.Test{}, Turn: 1, TurnCount: 1})
			return err
		},
		"model": func(ctx context.Context) error {
			model, err := s.Model("openai:any")
			if err != nil {
				return err
			}
			_, err = model.Generate(ctx, llm.Request{})
			return err
		},
		"embedder": func(ctx context.Context) error {
			embedder, err := s.Embedder()
			if err != nil {
				return err
			}
			_, err = embedder.Embed(ctx, []string{"hi"})
			return err
		},
		"lead webhook": func(ctx context.Context) error {
			hook, err := lead.NewWebhook(server.URL, "hush", transport)
			if err != nil {
				return err
			}
			return hook.Send(ctx, lead.Row{ID: "a", Body: []byte("{}")})
		},
		"enrichment": func(ctx context.Context) error {
			c := enrich.Snitcher("hush", "script")
			c.URL, c.Transport = server.URL, transport
			found, err := enrich.NewHTTP(c)
			if err != nil {
				return err
			}
			_, err = found.Lookup(ctx, enrich.Visitor{
				SessionID: "0b8a5f2c-8a76-4d0e-9a8e-2f6b3c1d4e5f", IP: "203.0.113.7",
			})
			return err
		},
		"retrieval": func(ctx context.Context) error {
			rag, err := retrieve.NewLightRAG(retrieve.Options{URL: server.URL, Transport: transport})
			if err != nil {
				return err
			}
			_, err = rag.Retrieve(ctx, "what does it cost?")
			return err
		},
		"sites in a database": func(ctx context.Context) error {
			_, err := siteconfig.Supabase{URL: server.URL, Key: "hush", Transport: transport}.Load(ctx)
			return err
		},
		"langfuse": func(ctx context.Context) error {
			client, err := s.Langfuse()
			if err != nil {
				return err
			}
			_, err = client.Health(ctx)
			return err
		},
		"doctor": func(ctx context.Context) error {
			_, err := s.Lists(ctx, config.Model{Provider: "openai", Name: "m", BaseURL: server.URL + "/v1"})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			err := send(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range []string{"307", strings.TrimPrefix(elsewhere.URL, "http://")} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v: it does not name %s", err, part)
				}
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("%v has a secret in it", err)
			}
		})
	}
}
