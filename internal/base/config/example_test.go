package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
)

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "config")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	path := filepath.Join(dir, config.Name)
	text := `
target: agent
models:
  small: {provider: openai, model: gpt-5-mini, requests_per_minute: 60}
targets:
  agent: {model: small}
judge: small
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	file, err := config.Load(source.Files{}, path, target.Kinds(), os.LookupEnv)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(file.Target, file.Targets["agent"].Model, file.Judge.Primary, file.Models["small"].RequestsPerMinute)
	// Output: agent openai:gpt-5-mini openai:gpt-5-mini 60
}
