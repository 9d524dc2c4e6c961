package langfuse_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

func TestFromEnv(t *testing.T) {
	keys := map[string]string{"LANGFUSE_PUBLIC_KEY": "pk-lf-1", "LANGFUSE_SECRET_KEY": "sk-lf-1"}
	for _, c := range []struct {
		name, want string
		set        map[string]string
		host       string
	}{
		{"keys alone", "", nil, ""},
		{"a host", "", map[string]string{"LANGFUSE_HOST": " http://localhost:3000/ "}, "http://localhost:3000/"},
		{
			"both hosts", "", map[string]string{"LANGFUSE_HOST": "http://a", "LANGFUSE_BASE_URL": "http://b/langfuse"},
			"http://b/langfuse",
		},
		{"no public key", "no LANGFUSE_PUBLIC_KEY: copy", map[string]string{"LANGFUSE_PUBLIC_KEY": ""}, ""},
		{"no keys", "no LANGFUSE_PUBLIC_KEY and no LANGFUSE_SECRET_KEY", map[string]string{
			"LANGFUSE_PUBLIC_KEY": "", "LANGFUSE_SECRET_KEY": " ", "LANGFUSE_HOST": "http://a",
		}, ""},
		{"a colon", "is not a key", map[string]string{"LANGFUSE_PUBLIC_KEY": "pk:lf"}, ""},
		{"two lines", "is not a key", map[string]string{"LANGFUSE_SECRET_KEY": "sk\nlf"}, ""},
		{"no scheme", "LANGFUSE_HOST is not an http address", map[string]string{"LANGFUSE_HOST": "localhost:3000"}, ""},
		{"a file", "not an http address", map[string]string{"LANGFUSE_HOST": "file:///etc/passwd"}, ""},
		{"a key in it", "more than a host and a path", map[string]string{
			"LANGFUSE_HOST": "https://pk:sk-secret@a.example",
		}, ""},
		{"an environment", "LANGFUSE_TRACING_ENVIRONMENT: write", map[string]string{
			"LANGFUSE_TRACING_ENVIRONMENT": "Prod uction",
		}, ""},
		{"a reserved one", "not beginning with langfuse", map[string]string{
			"LANGFUSE_TRACING_ENVIRONMENT": "langfuse-x",
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := langfuse.FromEnv(func(name string) string {
				if value, ok := c.set[name]; ok {
					return value
				}
				return keys[name]
			})
			if c.want != "" {
				wants(t, err, c.want)
				return
			}
			if err != nil || got.Host != c.host {
				t.Errorf("got %q, %v", got.Host, err)
			}
		})
	}
	if _, err := langfuse.FromEnv(func(string) string { return "" }); !errors.Is(err, langfuse.ErrNotConfigured) {
		t.Errorf("nothing set: %v", err)
	}
}

// TestPrinting prints a configuration and a client in every way.
func TestPrinting(t *testing.T) {
	config := langfuse.Config{
		Host: "https://lf.example/x", PublicKey: langfusetest.PublicKey, SecretKey: langfusetest.SecretKey,
	}
	client, err := langfuse.New(config)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "config", config, "client", client)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "config", config, "client", client)
	data, err := json.Marshal([]any{config, client})
	if err != nil {
		t.Fatal(err)
	}
	hides(t, string(bytes.ReplaceAll(logged.Bytes(), []byte("\n"), nil))+string(data))
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		hides(t, fmt.Sprintf(format, config)+fmt.Sprintf(format, &config)+fmt.Sprintf(format, client)+
			fmt.Sprintf(format, struct{ C langfuse.Config }{config}))
	}
	if client.String() != "langfuse https://lf.example" {
		t.Errorf("the client calls itself %s", client)
	}
	if _, err := langfuse.New(langfuse.Config{PublicKey: "pk-lf-1", SecretKey: "sk-lf-1", Attempts: -1}); err == nil {
		t.Error("attempts below 0 are taken")
	}
}
