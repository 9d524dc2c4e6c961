package mcptools

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// guide is what a client's model reads before it uses the tools.
const guide = `rehearse tests chat agents: it holds the conversations of a suite (YAML) with an agent, and grades every turn and the whole.
Begin with init in a folder without rehearse.yaml; validate after each edit of a suite; then run. After a failure, show the run with the test's id to read
its transcript, and mend the agent, or the suite where it asks for the wrong thing. Use grade after a change to assertions alone: it asks no agent. graders
lists the types of assertions. A run is named by its id, its folder, or latest. Only exit code 0 of run is a pass: 1 is failed tests, 3 says nothing about the agent.`

// commandCall is the arguments of a tool.
type commandCall interface {
	// line returns the command line, and what its exit code 0 means.
	line() (line []string, success string)
}

// session returns the tools.
func (s *Server) session() *sdk.Server {
	to := sdk.NewServer(&sdk.Implementation{Name: "rehearse", Version: s.version},
		&sdk.ServerOptions{Instructions: guide})
	reads := &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)}
	writes := &sdk.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(true)}
	offer[initCall](s, to, "init", writes, "Write suite.yaml and rehearse.yaml into a folder: for an agent, "+
		"which is sent a few messages to learn how it is asked, "+
		"or a demonstration without a key. Files that exist are kept, and the tool fails.")
	offer[validateCall](s, to, "validate", reads,
		"Check suites without running them. Each fault has its file, line, column and a hint.")
	offer[runCall](s, to, "run", writes, "Hold the conversations of suites with an agent and grade them. "+
		"It asks agents and models, which may cost money, and runs the programs "+
		"that suites and configuration name. It returns the summary with each failure; "+
		"the results are kept in a folder, which it names.")
	offer[showCall](s, to, "show", reads,
		"Show a finished run again, or one test of it with its whole transcript. Without a run: list the latest runs.")
	offer[compareCall](s, to, "compare", reads, "Say what changed from one run to another, test by test.")
	offer[gradeCall](s, to, "grade", writes, "Grade the recorded conversations of a finished run again, "+
		"with the suites as they are now, into a new run. The agent is not asked; "+
		"judges may be.")
	offer[gradersCall](s, to, "graders", reads,
		"List the types of assertions that a suite can have, or explain one with its parameters.")
	return to
}

// offer adds a tool.
func offer[C commandCall](s *Server, to *sdk.Server, name string, hints *sdk.ToolAnnotations, does string) {
	sdk.AddTool(to, &sdk.Tool{Name: name, Description: does, Annotations: hints, InputSchema: arguments[C]()},
		func(ctx context.Context, request *sdk.CallToolRequest, call C) (*sdk.CallToolResult, Result, error) {
			line, success := call.line()
			r, err := s.call(ctx, line, success, progress(ctx, request))
			return r.shown(), r, err
		})
}

// arguments returns the schema of a tool's arguments. Each has one type, without null beside it: not every provider of
// models takes two.
func arguments[C commandCall]() *jsonschema.Schema {
	schema, err := jsonschema.For[C](nil)
	if err != nil {
		panic(fmt.Sprintf("schema of the arguments %T: %v", *new(C), err)) // only a type of this file can be wrong
	}
	for _, property := range schema.Properties {
		if n := len(property.Types); n > 0 {
			property.Type, property.Types = property.Types[n-1], nil
		}
	}
	return schema
}

// progress returns a function that tells a client, if it asked for it, what a command says while it works.
func progress(ctx context.Context, request *sdk.CallToolRequest) func(line string) {
	token := request.Params.GetProgressToken()
	if token == nil {
		return func(string) {}
	}
	told := 0
	return func(line string) {
		told++
		// a client that has left hears nothing
		_ = request.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(told), Message: line,
		})
	}
}

// commandLine is a command line that is being made.
type commandLine []string

// flag adds a flag with its value, unless it is empty.
func (w *commandLine) flag(name, value string) {
	if value != "" {
		*w = append(*w, "--"+name+"="+value)
	}
}

// each adds a flag for each value, also for an empty one.
func (w *commandLine) each(name string, values []string) {
	for _, value := range values {
		*w = append(*w, "--"+name+"="+value)
	}
}

// list adds a flag for each value of one that takes several with commas between them.
func (w *commandLine) list(name string, values []string) {
	for _, value := range values {
		if strings.ContainsAny(value, "\",\r\n") {
			value = `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
		}
		*w = append(*w, "--"+name+"="+value)
	}
}

// number adds a flag with a number, if there is one.
func (w *commandLine) number(name string, value *int) {
	if value != nil {
		w.flag(name, strconv.Itoa(*value))
	}
}

// share adds a flag with a share, if there is one.
func (w *commandLine) share(name string, value *float64) {
	if value != nil {
		w.flag(name, fmt.Sprint(*value))
	}
}

// names ends a line with names, which no longer can be flags.
func (w *commandLine) names(names ...string) []string { return append(append(*w, "--"), names...) }

type initCall struct {
	Folder  string `json:"folder,omitempty" jsonschema:"folder for the files; default: this one"`
	Agent   string `json:"agent,omitempty" jsonschema:"agent that the files are for: a URL, a curl line, @FILE with one, cmd:PROGRAM, a2a:URL or ws://…; without one a demonstration is written"`
	Preset  string `json:"preset,omitempty" jsonschema:"with an agent's URL: what the agent speaks, such as openai"`
	Message string `json:"message,omitempty" jsonschema:"with an agent: the message that it is sent"`
}

func (c initCall) line() ([]string, string) {
	w := commandLine{"init"}
	w.flag("agent", c.Agent)
	w.flag("preset", c.Preset)
	w.flag("message", c.Message)
	if c.Folder == "" {
		c.Folder = "."
	}
	return w.names(c.Folder), "written"
}

type validateCall struct {
	Suites []string `json:"suites" jsonschema:"files, folders or globs"`
}

func (c validateCall) line() ([]string, string) {
	return (&commandLine{"validate"}).names(c.Suites...), "valid"
}

type runCall struct {
	Suites    []string `json:"suites,omitempty" jsonschema:"files, folders or globs; default: suite.yaml beside rehearse.yaml, or the suites of the run that is resumed"`
	Targets   []string `json:"target,omitempty" jsonschema:"agents under test: names from rehearse.yaml, or short forms such as PROVIDER:MODEL, flow:FILE or https://…; default: what suite and configuration say"`
	Model     string   `json:"model,omitempty" jsonschema:"model inside a target given as flow:FILE, and of chatbots"`
	Judge     string   `json:"judge,omitempty" jsonschema:"model that judges: a name from rehearse.yaml, or PROVIDER:MODEL"`
	User      string   `json:"user,omitempty" jsonschema:"model that plays simulated users"`
	Config    string   `json:"config,omitempty" jsonschema:"configuration file; default: the nearest rehearse.yaml above each suite"`
	Filter    []string `json:"filter,omitempty" jsonschema:"only tests whose id matches one of these globs"`
	Tags      []string `json:"tag,omitempty" jsonschema:"only tests with one of these tags"`
	Sample    *int     `json:"sample,omitempty" jsonschema:"only so many tests, the same ones every time"`
	Trials    *int     `json:"trials,omitempty" jsonschema:"hold every conversation so many times"`
	Threshold *float64 `json:"threshold,omitempty" jsonschema:"score from which a test passes, 0 to 1"`
	Workers   *int     `json:"workers,omitempty" jsonschema:"conversations held at once"`
	Baseline  string   `json:"baseline,omitempty" jsonschema:"compare with an earlier run: its id, folder, or latest"`
	FailOn    string   `json:"fail_on,omitempty" jsonschema:"with baseline: any (the default), regression, which fails only for confirmed regressions, or any-change"`
	Resume    string   `json:"resume,omitempty" jsonschema:"go on with a run: its id, folder, or latest"`
	Rerun     string   `json:"rerun,omitempty" jsonschema:"with resume: run again what failed (failed), or only what had errors (errors)"`
	DryRun    bool     `json:"dry_run,omitempty" jsonschema:"show what would run; ask nothing"`
}

func (c runCall) line() ([]string, string) {
	w := commandLine{"run"}
	w.each("target", c.Targets)
	w.flag("model", c.Model)
	w.flag("judge", c.Judge)
	w.flag("user", c.User)
	w.flag("config", c.Config)
	w.each("filter", c.Filter)
	w.list("tag", c.Tags)
	w.number("sample", c.Sample)
	w.number("trials", c.Trials)
	w.share("threshold", c.Threshold)
	w.number("workers", c.Workers)
	w.flag("baseline", c.Baseline)
	w.flag("fail-on", c.FailOn)
	w.flag("resume", c.Resume)
	w.flag("rerun", c.Rerun)
	success := passedGate(c.FailOn)
	if c.DryRun {
		w, success = append(w, "--dry-run"), "nothing was run: this is what would be"
	}
	return w.names(c.Suites...), success
}

// passedGate says what exit code 0 of a run means.
func passedGate(failOn string) string {
	if failOn != "" && failOn != "any" {
		return "nothing became worse than in the baseline"
	}
	return "passed"
}

type showCall struct {
	Run  string `json:"run,omitempty" jsonschema:"id or folder of a run, or latest; without one the latest runs are listed, or the latest is meant where a test is named"`
	Test string `json:"test,omitempty" jsonschema:"only the test with this id, with its transcript"`
}

func (c showCall) line() ([]string, string) {
	w := commandLine{"show"}
	w.flag("test", c.Test)
	if c.Run == "" && c.Test != "" {
		c.Run = "latest"
	}
	if c.Run == "" {
		return w, "shown; whether the runs passed stands in the list"
	}
	return w.names(c.Run), "shown; whether the run passed stands in it"
}

type compareCall struct {
	Baseline     string `json:"baseline" jsonschema:"the run before: its id, folder, or latest"`
	Candidate    string `json:"candidate" jsonschema:"the run after: its id, folder, or latest"`
	FailOn       string `json:"fail_on,omitempty" jsonschema:"regression: exit code 1 for what is shown to be worse; any-change: for each test that passed and fails now; any: the candidate's own exit code"`
	IgnoreTarget bool   `json:"ignore_target,omitempty" jsonschema:"match tests of different targets; each run has one"`
}

func (c compareCall) line() ([]string, string) {
	w := commandLine{"compare"}
	w.flag("fail-on", c.FailOn)
	if c.IgnoreTarget {
		w = append(w, "--ignore-target")
	}
	return w.names(c.Baseline, c.Candidate), passedGate(c.FailOn)
}

type gradeCall struct {
	Run       string   `json:"run" jsonschema:"the run whose conversations are graded: its id, folder, or latest"`
	Suites    []string `json:"suites,omitempty" jsonschema:"files, folders or globs; default: those of the run"`
	Judge     string   `json:"judge,omitempty" jsonschema:"another judge: a name from rehearse.yaml, or PROVIDER:MODEL"`
	Threshold *float64 `json:"threshold,omitempty" jsonschema:"score from which a test passes, 0 to 1"`
	Filter    []string `json:"filter,omitempty" jsonschema:"only tests whose id matches one of these globs"`
	Tags      []string `json:"tag,omitempty" jsonschema:"only tests with one of these tags"`
}

func (c gradeCall) line() ([]string, string) {
	w := commandLine{"grade"}
	w.flag("judge", c.Judge)
	w.share("threshold", c.Threshold)
	w.each("filter", c.Filter)
	w.list("tag", c.Tags)
	return w.names(append([]string{c.Run}, c.Suites...)...), "passed"
}

type gradersCall struct {
	Type string `json:"type,omitempty" jsonschema:"a type of assertion; without one all are listed"`
}

func (c gradersCall) line() ([]string, string) {
	w := commandLine{"graders"}
	if c.Type == "" {
		return w, "listed"
	}
	return w.names(c.Type), "explained"
}
