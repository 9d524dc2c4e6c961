package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
)

// promptfoo is promptfoo, which has one row per turn; its variable _conversation carries the rows of one conversation
// forward.
type promptfoo struct {
	bin string
	env []string
}

func newPromptfoo(bin, nodeDir string) tool {
	return &promptfoo{bin, append(nodeEnv(nodeDir), "PROMPTFOO_DISABLE_TELEMETRY=1", "PROMPTFOO_DISABLE_UPDATE=1",
		"PROMPTFOO_DISABLE_REMOTE_GENERATION=1", "PROMPTFOO_DISABLE_SHARING=1")}
}

const promptfooHead = `description: speed
prompts:
  - |-
    [
      {"role": "system", "content": %[3]q},
      {%% for turn in _conversation %%}
      {"role": "user", "content": {{ turn.input | dump }}},
      {"role": "assistant", "content": {{ turn.output | dump }}},
      {%% endfor %%}
      {"role": "user", "content": {{ question | dump }}}
    ]
providers:
  - id: openai:chat:echo
    config: {apiBaseUrl: %[1]q, apiKey: none}
defaultTest:
  options:
    provider:
      id: openai:chat:%[2]s
      config: {apiBaseUrl: %[1]q, apiKey: none}
tests:
`

type promptfooRow struct {
	Vars     map[string]string `json:"vars"`
	Metadata map[string]string `json:"metadata"`
	Assert   []contains        `json:"assert"`
}

func (p *promptfoo) write(_ context.Context, dir string, w workload, url string) error {
	return writeFile(filepath.Join(dir, "promptfooconfig.yaml"), func(out *bufio.Writer) {
		fmt.Fprintf(out, promptfooHead, url+"/v1", judgeModel, systemPrompt)
		for i := 1; i <= w.conversations; i++ {
			for j := 1; j <= w.turns; j++ {
				data, _ := json.Marshal(promptfooTurn(w, i, j)) // plain data never fails
				fmt.Fprintf(out, "  - %s\n", data)
			}
		}
	})
}

func promptfooTurn(w workload, i, j int) promptfooRow {
	turn := promptfooRow{
		Vars:     map[string]string{"question": said(i, j)},
		Metadata: map[string]string{"conversationId": name(i)},
	}
	for _, text := range wanted(i, j) {
		turn.Assert = append(turn.Assert, contains{"contains", text})
	}
	if w.judged {
		turn.Assert = append(turn.Assert, contains{"llm-rubric", criterion})
	}
	return turn
}

func (p *promptfoo) command(inputs, dir string, _ workload) program {
	return program{dir: dir, env: p.env, name: p.bin, args: []string{
		"eval", "--config", filepath.Join(inputs, "promptfooconfig.yaml"), "--max-concurrency", fmt.Sprint(inFlight),
		"--no-share",
		"--no-cache", // with its cache every new answer waits a tenth of a second for its turn on the disk
	}}
}

// check trusts the exit code: it is 0 only if every assertion of every row passed.
func (p *promptfoo) check(_ string, _ workload, exit int) error {
	if exit != 0 {
		return exitError(exit)
	}
	return nil
}
