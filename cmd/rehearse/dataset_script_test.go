package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

// langfuseServers are the servers of the scripts, by seenKey.
var langfuseServers sync.Map

// scriptT is a test whose faults name the script.
type scriptT struct {
	*testing.T
	ts *testscript.TestScript
}

func (t scriptT) Errorf(format string, args ...any) {
	t.T.Errorf(t.ts.Name()+": "+format, args...)
}

func (t scriptT) Cleanup(f func()) { t.ts.Defer(f) }

// scriptLangfuse is the command of scripts that has a Langfuse for tests, which fails them for what the published API
// does not allow:
//
//	langfuse start [VERSION]            starts it and sets the variables that name it
//	langfuse dataset NAME               makes a dataset
//	langfuse item DATASET ID INPUT [EXPECTED [METADATA]]   makes an item, its parts being JSON
//	langfuse items DATASET N            makes the items item-001 to item-N
//	langfuse archive ID                 archives an item
//	langfuse trace SESSION INPUT OUTPUT logs a trace, its parts being JSON or text
//	langfuse fail STATUS…               has the next requests fail so; 0 lets one through, cut breaks its answer off, STATUS*N is N times
//	langfuse meanwhile PATTERN ID…      deletes the items once a request has been answered whose address holds the pattern
//	langfuse ids DATASET                prints the ids of its items, the oldest first
//	langfuse show ID                    prints the parts of an item
//	langfuse requests                   prints the requests since the last time
//	langfuse scores                     prints each score: its name, value and trace, and whether the trace is there
func scriptLangfuse(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) == 0 {
			ts.Fatalf(
				"usage: langfuse start|dataset|item|items|archive|trace|fail|meanwhile|ids|show|requests|scores …")
		}
		if args[0] == "start" {
			s := &scriptServer{Server: langfusetest.New(scriptT{t, ts})}
			if len(args) > 1 {
				s.SetVersion(args[1])
			}
			for _, name := range []string{"LANGFUSE_HOST", "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"} {
				ts.Setenv(name, s.Getenv(name))
			}
			langfuseServers.Store(seenKey{ts}, s)
			ts.Defer(func() { langfuseServers.Delete(seenKey{ts}) })
			return
		}
		found, ok := langfuseServers.Load(seenKey{ts})
		if !ok {
			ts.Fatalf("langfuse start first")
		}
		s, _ := found.(*scriptServer)
		s.do(ts, args[0], args[1:])
	}
}

type scriptServer struct {
	*langfusetest.Server
	// told is how many requests have been printed, traces how many were logged.
	told, traces int
}

func (s *scriptServer) do(ts *testscript.TestScript, what string, args []string) {
	atLeast := map[string]int{
		"dataset": 1, "item": 3, "items": 2, "archive": 1, "trace": 3, "fail": 1, "meanwhile": 2, "ids": 1, "show": 1,
	}
	if len(args) < atLeast[what] {
		ts.Fatalf("langfuse %s: too few arguments", what)
	}
	switch what {
	case "dataset":
		s.AddDataset(args[0])
	case "item":
		parts := append(args[2:], "null", "null")
		s.AddItem(args[0], args[1], asAny(ts, parts[0]), asAny(ts, parts[1]), asAny(ts, parts[2]))
	case "items":
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		for i := range n {
			s.AddItem(args[0], fmt.Sprintf("item-%03d", i+1), map[string]any{"query": fmt.Sprint("question ", i+1)},
				"an answer", nil)
		}
	case "archive":
		s.Archive(args[0])
	case "trace":
		s.traces++
		at := time.Date(2026, 11, 20, 9, s.traces, 0, 0, time.UTC)
		s.AddTrace(args[0], fmt.Sprintf("%032x", s.traces), "turn", args[1], args[2], at)
	case "fail":
		s.Fail(faultsOf(ts, args)...)
	case "meanwhile":
		s.OnAnswer(func(r *http.Request) {
			if strings.Contains(r.URL.RequestURI(), args[0]) {
				for _, id := range args[1:] {
					s.RemoveItem(id)
				}
			}
		})
	case "ids":
		fmt.Fprintln(ts.Stdout(), strings.Join(s.Items(args[0]), " "))
	case "show":
		item := s.Item(args[0])
		data, err := json.Marshal(map[string]any{
			"input": item["input"], "expected_output": item["expectedOutput"], "metadata": item["metadata"],
			"status": item["status"],
		})
		ts.Check(err)
		fmt.Fprintln(ts.Stdout(), string(data))
	case "requests":
		all := s.Requests()
		fmt.Fprintln(ts.Stdout(), strings.Join(all[s.told:], "\n"))
		s.told = len(all)
	case "scores":
		traces := map[string]string{}
		for _, span := range s.Spans() {
			traces[span.TraceID] = "there"
		}
		for _, score := range s.Scores() {
			id := fmt.Sprint(score["traceId"])
			fmt.Fprintln(ts.Stdout(), score["name"], score["value"], id, traces[id])
		}
	default:
		ts.Fatalf("langfuse %s: unknown", what)
	}
}

func asAny(ts *testscript.TestScript, text string) any {
	var v any
	ts.Check(json.Unmarshal([]byte(text), &v))
	return v
}

func faultsOf(ts *testscript.TestScript, args []string) []langfusetest.Fault {
	var faults []langfusetest.Fault
	for _, arg := range args {
		text, times, repeated := strings.Cut(arg, "*")
		count := 1
		if repeated {
			var err error
			count, err = strconv.Atoi(times)
			ts.Check(err)
		}
		fault := langfusetest.Fault{Cut: true}
		if text != "cut" {
			status, err := strconv.Atoi(text)
			ts.Check(err)
			switch status {
			case 0:
				fault = langfusetest.Fault{}
			case http.StatusTooManyRequests:
				fault = langfusetest.TooMany("1")
			default:
				fault = langfusetest.Broken(status)
			}
		}
		for range count {
			faults = append(faults, fault)
		}
	}
	return faults
}
