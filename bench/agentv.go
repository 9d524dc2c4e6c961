package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// agentV is AgentV, whose suites have the shape of ours. Where the endpoint is comes from the environment, as it asks
// for.
type agentV struct {
	bin string
	env []string
	url string
}

func newAgentV(bin, nodeDir string) tool {
	return &agentV{bin: bin, env: append(nodeEnv(nodeDir), "AGENTV_NO_UPDATE_CHECK=1")}
}

const agentVTargets = `targets:
  - name: echo
    provider: openai
    base_url: ${{ BENCH_URL }}
    api_key: ${{ BENCH_KEY }}
    model: ${{ BENCH_MODEL }}
    api_format: chat
    grader_target: judge
    workers: 50
  - name: judge
    provider: openai
    base_url: ${{ BENCH_URL }}
    api_key: ${{ BENCH_KEY }}
    model: ${{ BENCH_JUDGE }}
    api_format: chat
`

func (a *agentV) write(_ context.Context, dir string, w workload, url string) error {
	a.url = url + "/v1"
	return errors.Join(w.writeSuite(dir), os.WriteFile(filepath.Join(dir, "targets.yaml"),
		[]byte(agentVTargets), 0o600))
}

func (a *agentV) command(inputs, dir string, _ workload) program {
	env := append([]string{
		"BENCH_URL=" + a.url, "BENCH_KEY=none", "BENCH_MODEL=echo", "BENCH_JUDGE=" + judgeModel,
	}, a.env...)
	return program{dir: dir, env: env, name: a.bin, args: []string{
		"eval", "run", filepath.Join(inputs, "suite.yaml"), "--targets", filepath.Join(inputs, "targets.yaml"),
		"--target", "echo", "--workers", fmt.Sprint(inFlight), "--output", "results", "--no-results-push",
	}}
}

// check wants a line with the best score for each conversation.
func (a *agentV) check(dir string, w workload, exit int) error {
	f, err := os.Open(filepath.Join(dir, "results", "index.jsonl"))
	if err != nil {
		return fmt.Errorf("exit code %d: %w", exit, err)
	}
	defer func() { _ = f.Close() }()
	records := 0
	for d := json.NewDecoder(f); ; records++ {
		var t struct {
			TestID string  `json:"test_id"`
			Score  float64 `json:"score"`
			Status string  `json:"execution_status"`
		}
		err := d.Decode(&t)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", records+1, err)
		}
		if t.Status != "ok" || t.Score < 1 {
			return fmt.Errorf("record of %s: %s, score %g", t.TestID, t.Status, t.Score)
		}
	}
	if records != w.conversations {
		return fmt.Errorf("%d records instead of %d", records, w.conversations)
	}
	return nil
}
