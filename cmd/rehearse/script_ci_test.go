package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v4"
)

// composite is action.yml, as far as a runner reads it.
type composite struct {
	Name, Description, Author string
	Branding                  map[string]string
	Inputs                    map[string]struct {
		Description string
		Required    bool
		Default     string
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []struct {
			Name, ID, If, Shell, Run, Uses string
			WorkingDirectory               string `yaml:"working-directory"`
			Env, With                      map[string]string
		}
	}
}

// runAction runs the steps of action.yml as GitHub's runner does: action NAME=VALUE… gives inputs and, with a dot in
// the name, values of contexts such as github.event_name. Each output becomes $OUT_NAME, and what an action is used
// with stands in the file used, what the steps print in the file told.
func runAction(ts *testscript.TestScript, neg bool, args []string) {
	data, err := os.ReadFile(filepath.Join(ts.Getenv("ROOT"), "action.yml"))
	ts.Check(err)
	var a composite
	ts.Check(yaml.Load(data, &a, yaml.WithKnownFields()))
	values := map[string]string{"github.token": "token-of-the-job"}
	for name, input := range a.Inputs {
		values["inputs."+name] = input.Default
	}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		if !strings.Contains(name, ".") {
			if _, ok := a.Inputs[name]; !ok {
				ts.Fatalf("action.yml has no input %s", name)
			}
			name = "inputs." + name
		}
		values[name] = value
	}
	failed := false
	var told strings.Builder
	for i, step := range a.Runs.Steps {
		if !holds(ts, step.If, values, failed) {
			continue
		}
		if step.Uses != "" {
			var used strings.Builder
			fmt.Fprintln(&used, step.Uses)
			for _, name := range []string{"name", "path"} {
				fmt.Fprintf(&used, "%s: %s\n", name, filledIn(step.With[name], values))
			}
			ts.Check(os.WriteFile(ts.MkAbs("used"), []byte(used.String()), 0o600))
			continue
		}
		if step.Shell != "bash" || strings.Contains(step.Run, "${{") {
			ts.Fatalf("step %s: inputs reach scripts of bash only through env", step.ID)
		}
		script, output := ts.MkAbs(fmt.Sprintf("step-%d.sh", i)), ts.MkAbs(fmt.Sprintf("step-%d.out", i))
		ts.Check(os.WriteFile(script, []byte(step.Run), 0o600))
		ts.Check(os.WriteFile(output, nil, 0o600))
		call := []string{"-C", ts.MkAbs(filledIn(orHere(step.WorkingDirectory), values)), "GITHUB_OUTPUT=" + output}
		for name, value := range step.Env {
			call = append(call, name+"="+filledIn(value, values))
		}
		failed = ts.Exec("env", append(call, "bash", "--noprofile", "--norc", "-eo", "pipefail", script)...) != nil ||
			failed
		told.WriteString(ts.ReadFile("stdout"))
		said, err := os.ReadFile(output)
		ts.Check(err)
		for line := range strings.Lines(string(said)) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			values["steps."+step.ID+".outputs."+name] = value
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs("told"), []byte(told.String()), 0o600))
	for name, output := range a.Outputs {
		ts.Setenv("OUT_"+strings.ToUpper(name), filledIn(output.Value, values))
	}
	if failed != neg {
		ts.Fatalf("the action failed: %v", failed)
	}
}

func orHere(folder string) string {
	if folder == "" {
		return "."
	}
	return folder
}

var expression = regexp.MustCompile(`\$\{\{ (.*?) \}\}`)

// filledIn replaces the expressions of a text: names, and names with || between them.
func filledIn(text string, values map[string]string) string {
	return expression.ReplaceAllStringFunc(text, func(found string) string {
		for name := range strings.SplitSeq(expression.FindStringSubmatch(found)[1], " || ") {
			if value := values[name]; value != "" {
				return value
			}
		}
		return ""
	})
}

// holds evaluates the condition of a step: always(), and comparisons with &&. Without always() a step is left out after
// a failure.
func holds(ts *testscript.TestScript, condition string, values map[string]string, failed bool) bool {
	if condition == "" {
		return !failed
	}
	always, all := false, true
	for part := range strings.SplitSeq(expression.FindStringSubmatch(condition)[1], " && ") {
		name, value, equal := strings.Cut(part, " == ")
		if !equal {
			name, value, _ = strings.Cut(part, " != ")
		}
		switch {
		case part == "always()":
			always = true
		case !strings.HasPrefix(value, "'"):
			ts.Fatalf("condition %q", condition)
		default:
			all = all && (values[name] == strings.Trim(value, "'")) == equal
		}
	}
	return all && (always || !failed)
}

// runGitLab runs the job of ci/gitlab-ci.yml with its variables, and checks that what it keeps is there: gitlab, or !
// gitlab where the job fails.
func runGitLab(ts *testscript.TestScript, neg bool, _ []string) {
	data, err := os.ReadFile(filepath.Join(ts.Getenv("ROOT"), "ci", "gitlab-ci.yml"))
	ts.Check(err)
	var file struct {
		Rehearse struct {
			Image        string
			Variables    map[string]string
			BeforeScript []string `yaml:"before_script"`
			Script       []string
			Artifacts    struct {
				When    string
				Paths   []string
				Reports map[string]string
			}
		}
	}
	ts.Check(yaml.Load(data, &file, yaml.WithKnownFields()))
	job := file.Rehearse
	var call []string
	for name, value := range job.Variables {
		call = append(call, name+"="+value)
	}
	script := strings.Join(append(job.BeforeScript, job.Script...), "\n")
	if failed := ts.Exec("env", append(call, "GITLAB_CI=true", "sh", "-euc", script)...) != nil; failed != neg {
		ts.Fatalf("the job failed: %v", failed)
	}
	if job.Artifacts.When != "always" {
		ts.Fatalf("artifacts are kept %q", job.Artifacts.When)
	}
	for _, kept := range append(job.Artifacts.Paths, job.Artifacts.Reports["junit"],
		job.Artifacts.Reports["codequality"]) {
		_, err := os.Stat(ts.MkAbs(kept))
		ts.Check(err)
	}
}

// TestRecipes: each file for a CI system parses, what it uses is pinned, and it gives inputs that there are.
func TestRecipes(t *testing.T) {
	read := func(name string, into any) string {
		data, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Load(data, into, yaml.WithUniqueKeys(false)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return string(data)
	}
	var a composite
	action := read("action.yml", &a)
	for _, found := range regexp.MustCompile(`uses: (\S+)`).FindAllStringSubmatch(action, -1) {
		if !regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40}$`).MatchString(found[1]) {
			t.Errorf("action.yml uses %s, which no commit pins", found[1])
		}
	}
	inputs, outputs := slices.Sorted(maps.Keys(a.Inputs)), slices.Sorted(maps.Keys(a.Outputs))
	if want := []string{
		"args", "baseline", "comment", "name", "suites", "version", "working-directory",
	}; !slices.Equal(inputs, want) || !a.Inputs["suites"].Required {
		t.Errorf("inputs %q, want %q", inputs, want)
	}
	if want := []string{"errors", "failed", "folder", "outcome", "passed", "run"}; !slices.Equal(outputs, want) {
		t.Errorf("outputs %q, want %q", outputs, want)
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]string
			}
		}
	}
	if lines := strings.Count(read("ci/github.yml", &workflow), "\n"); lines > 12 {
		t.Errorf("ci/github.yml has %d lines", lines)
	}
	for _, step := range workflow.Jobs["rehearse"].Steps {
		for name := range step.With {
			if strings.Contains(step.Uses, "rehearse") && !slices.Contains(inputs, name) {
				t.Errorf("ci/github.yml gives the input %s, which action.yml does not have", name)
			}
		}
		if words := strings.Fields(step.With["args"]); len(words) > 0 {
			c, rest, err := newRoot(&Env{}).Find(append([]string{"run"}, words...))
			if err != nil || c.ParseFlags(rest) != nil {
				t.Errorf("ci/github.yml runs rehearse with %q", step.With["args"])
			}
		}
	}
	var hooks []struct{ ID, Entry, Language, Files string }
	read(".pre-commit-hooks.yaml", &hooks)
	files := regexp.MustCompile(hooks[0].Files)
	for name, suite := range map[string]bool{
		"suite.yaml": true, "evals/shop.suite.yml": true, "a/b.eval.yaml": true, "evals/x.suite.jsonl": true,
		"rehearse.yaml": false, "evals/mysuite.yaml": false, "suite.yaml.md": false,
	} {
		if files.MatchString(name) != suite {
			t.Errorf("the hook checks %s: %v", name, !suite)
		}
	}
	var config map[string]any
	read("ci/pre-commit-config.yaml", &config)
}
