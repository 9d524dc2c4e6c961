package mcptools

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serving connects the client of the SDK to commands that are played.
func serving(t *testing.T, run Run, options *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	in, asks := io.Pipe()
	answers, out := io.Pipe()
	left := make(chan error, 1)
	go func() {
		left <- Serve(context.Background(), "1", run, in, out)
		_ = out.Close()
	}()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options).Connect(t.Context(),
		&sdk.IOTransport{Reader: answers, Writer: asks}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = asks.Close()
		if err := <-left; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return session
}

// What a client asks for becomes the command line, value for value: no name is a flag, and no comma makes two tags of
// one.
func TestCommandLines(t *testing.T) {
	var got []string
	session := serving(t, func(line []string, _, _ io.Writer, _ <-chan os.Signal) int {
		got = line
		return 0
	}, nil)
	for _, test := range []struct {
		tool string
		args map[string]any
		want []string
	}{
		{"init", nil, []string{"init", "--", "."}},
		{
			"init",
			map[string]any{"folder": "--force", "agent": "cmd:a b", "preset": "openai", "message": "hi"},
			[]string{"init", "--agent=cmd:a b", "--preset=openai", "--message=hi", "--", "--force"},
		},
		{"validate", map[string]any{"suites": []string{"a", "-b"}}, []string{"validate", "--", "a", "-b"}},
		{"run", nil, []string{"run", "--"}},
		{"run", map[string]any{
			"suites": []string{"s"}, "target": []string{"a", "cmd:x, y"}, "model": "m", "judge": "j", "user": "u",
			"config": "c", "filter": []string{"f,g", ""}, "tag": []string{"t", "t,u", `say "hi"`}, "sample": 0,
			"trials": 2, "threshold": 0, "workers": 3, "baseline": "b", "fail_on": "regression",
			"resume": "r", "rerun": "failed", "dry_run": true,
		}, []string{
			"run", "--target=a", "--target=cmd:x, y", "--model=m", "--judge=j", "--user=u", "--config=c",
			"--filter=f,g", "--filter=", "--tag=t", `--tag="t,u"`, `--tag="say ""hi"""`, "--sample=0", "--trials=2",
			"--threshold=0", "--workers=3", "--baseline=b", "--fail-on=regression", "--resume=r", "--rerun=failed",
			"--dry-run", "--", "s",
		}},
		{"show", nil, []string{"show"}},
		{"show", map[string]any{"test": "t"}, []string{"show", "--test=t", "--", "latest"}},
		{"show", map[string]any{"run": "r"}, []string{"show", "--", "r"}},
		{
			"compare",
			map[string]any{"baseline": "a", "candidate": "b", "fail_on": "any", "ignore_target": true},
			[]string{"compare", "--fail-on=any", "--ignore-target", "--", "a", "b"},
		},
		{
			"grade",
			map[string]any{
				"run": "r", "suites": []string{"s"}, "judge": "j", "threshold": 0.5, "filter": []string{"f"},
				"tag": []string{"t"},
			},
			[]string{"grade", "--judge=j", "--threshold=0.5", "--filter=f", "--tag=t", "--", "r", "s"},
		},
		{"graders", nil, []string{"graders"}},
		{"graders", map[string]any{"type": "regex"}, []string{"graders", "--", "regex"}},
	} {
		if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{
			Name: test.tool, Arguments: test.args,
		}); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s %v: %q, want %q: %v", test.tool, test.args, got, test.want, err)
		}
	}
}

// Each argument has one type: not every provider of models takes a list of them.
func TestArgumentsHaveOneType(t *testing.T) {
	session := serving(t, nil, nil)
	offered, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range offered.Tools {
		schema, _ := tool.InputSchema.(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			described, _ := property.(map[string]any)
			if kind, ok := described["type"].(string); !ok || kind == "null" || described["description"] == "" {
				t.Errorf("%s: %s is %v", tool.Name, name, described)
			}
		}
		if len(properties) == 0 {
			t.Errorf("%s has no arguments: %v", tool.Name, schema)
		}
	}
}

// A client that asks for it hears what a command says while it works.
func TestProgress(t *testing.T) {
	heard := make(chan string, 10)
	session := serving(t, func(_ []string, _, notes io.Writer, _ <-chan os.Signal) int {
		fmt.Fprint(notes, "1/2 te", "sts\n\n2/2 tests", "\n"+strings.Repeat("x", 3*maxLine)+"\nrest")
		return 1
	}, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context,
		r *sdk.ProgressNotificationClientRequest) {
		heard <- fmt.Sprint(r.Params.Progress, " ", r.Params.Message)
	}})
	call := &sdk.CallToolParams{Name: "run"}
	if _, err := session.CallTool(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	call.SetProgressToken("p")
	if _, err := session.CallTool(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 1/2 tests", "2 2/2 tests", "3 " + strings.Repeat("x", maxLine)} {
		if got := <-heard; got != want {
			t.Errorf("heard %q, want %q", got, want)
		}
	}
	if len(heard) > 0 {
		t.Errorf("heard %q, too", <-heard)
	}
}
