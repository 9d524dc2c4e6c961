package grader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"rehearse/internal/result"
	"rehearse/internal/runner"
	"rehearse/internal/source"
)

const (
	defaultTimeout = time.Minute
	// maxStderr is how much of the end of a program's error output an error quotes.
	maxStderr = 300
	// gracePeriod is how long output may stay open after the program has ended.
	gracePeriod = 2 * time.Second
)

// program is a command that grades: JSON on stdin, JSON on stdout.
type program struct {
	check   runner.Check
	words   []string
	dir     string
	config  any
	timeout time.Duration
	environ []string
}

func newCommand(a *Args) runner.Grader {
	n, ok := a.Node("command", "text or list of texts", "the program and its arguments; a text is split at white space, with quotes, and never goes through a shell", true)
	dir := a.TextOr("cwd", "", "the folder to run in, relative to the suite; default: the suite's folder")
	config, _ := a.Node("config", "any value", "passed to the program as it is", false)
	p := &program{timeout: a.DurationOr("timeout", defaultTimeout, "how long the program may take (60s)"), config: config.Any()}
	if ok {
		p.words = commandWords(n)
	}
	p.dir = dir
	if !filepath.IsAbs(dir) {
		p.dir = filepath.Join(a.Assertion.Dir, dir)
	}
	if a.set.Environ != nil {
		p.environ = a.set.Environ(a.node.Value)
	}
	p.check = runner.Check{Assertion: a.Assertion}
	return p
}

func commandWords(n source.Node) []string {
	if n.Kind != source.List {
		words, err := splitCommand(n.Text())
		if err != nil {
			n.Report("write the program and its arguments", "%s", err)
		}
		return words
	}
	words := n.Texts()
	if len(words) == 0 || words[0] == "" {
		n.Report("write the program and its arguments", "the command is empty")
	}
	return words
}

// Grade runs the program once.
func (p *program) Grade(ctx context.Context, x *runner.Exchange) (result.Grade, error) {
	who := "command " + quote(strings.Join(p.words, " "))
	input, err := newRequest(x, p.config)
	if err != nil {
		return result.Grade{}, fmt.Errorf("%s: %w", who, err)
	}
	output, err := p.run(ctx, input)
	if err != nil {
		return result.Grade{}, fmt.Errorf("%s: %w", who, err)
	}
	return parseAnswer(output, who, p.check, x)
}

func (p *program) run(ctx context.Context, input []byte) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	stdout, stderr := &bounded{most: maxAnswer}, &tail{most: maxStderr}
	cmd := exec.CommandContext(limited, p.words[0], p.words[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append([]string{}, p.environ...) // not nil: a nil Env would pass on every secret
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, stderr
	cmd.WaitDelay = gracePeriod
	ownGroup(cmd)
	err := cmd.Run()
	killGroup(cmd) // processes that the program left behind
	switch {
	case stdout.overflown:
		return nil, fmt.Errorf("an answer larger than %d bytes", maxAnswer)
	case err == nil:
		return stdout.bytes, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("no answer within %s", p.timeout)
	case len(stderr.bytes) > 0:
		return nil, fmt.Errorf("%w, and it says: %s", err, strings.ToValidUTF8(strings.TrimSpace(string(stderr.bytes)), ""))
	}
	return nil, err
}

// bounded keeps what is written and fails beyond a number of bytes.
// It does not embed a bytes.Buffer: the buffer's ReadFrom would bypass the bound.
type bounded struct {
	bytes     []byte
	most      int
	overflown bool
}

// Write returns an error when the bound would be exceeded.
func (b *bounded) Write(data []byte) (int, error) {
	if len(b.bytes)+len(data) > b.most {
		b.overflown = true
		return 0, errors.New("too much output")
	}
	b.bytes = append(b.bytes, data...)
	return len(data), nil
}

// tail keeps the last bytes of what is written.
type tail struct {
	bytes []byte
	most  int
}

// Write never fails.
func (t *tail) Write(data []byte) (int, error) {
	t.bytes = append(t.bytes, data[max(0, len(data)-t.most):]...)
	t.bytes = t.bytes[max(0, len(t.bytes)-t.most):]
	return len(data), nil
}
