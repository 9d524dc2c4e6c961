package grader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/process"
	"github.com/rehearse-dev/rehearse/internal/base/shell"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

const (
	defaultTimeout = time.Minute
	// maxStderr is how much of the end of a program's error output an error quotes.
	maxStderr = 300
)

// program is a command that grades: JSON on stdin, JSON on stdout.
type program struct {
	// refused is true where no program may be started.
	refused bool
	check   runner.Check
	words   []string
	dir     string
	config  any
	timeout time.Duration
	environ []string
}

func newCommand(a *Args) runner.Grader {
	n, ok := a.Node("command", "text or list of texts",
		"the program and its arguments; a text is split at white space, with quotes, and never goes through a shell",
		true)
	dir := a.TextOr("cwd", "", "the folder to run in, relative to the suite; default: the suite's folder")
	config, _ := a.Node("config", "any value",
		"passed to the program as it is; other keys of a code-grader join it", false)
	p := &program{
		refused: a.set.NoCommands,
		timeout: a.DurationOr("timeout", defaultTimeout, "how long the program may take (60s)"), config: config.Any(),
	}
	if a.set.outside != nil {
		a.set.outside.Program = true
	}
	if ok {
		p.words = shell.Command(n)
	}
	p.dir = dir
	if !filepath.IsAbs(dir) {
		p.dir = filepath.Join(a.Assertion.Dir, dir)
	}
	p.dir = a.set.Files.OnDisk(p.dir)
	if a.set.Environ != nil {
		p.environ = a.set.Environ(a.node.Value)
	}
	if written := a.node.Field("type").Scalar; strings.HasPrefix(written, "code") {
		p.config = withConfig(a.rest(), p.config)
	}
	p.check = runner.Check{Assertion: a.Assertion}
	return p
}

// withConfig returns the other keys of a code-grader with the entries of its config on top. A config that is no mapping
// stands alone.
func withConfig(others map[string]any, config any) any {
	entries, ok := config.(map[string]any)
	if len(others) == 0 || config != nil && !ok {
		return config
	}
	maps.Copy(others, entries)
	return others
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
	if p.refused {
		return nil, errors.New("the grader starts a program, which is refused here: " +
			"start the server and its workers with --allow-commands")
	}
	limited, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	output, err := process.Run(limited, process.Command{Words: p.words, Dir: p.dir, Env: p.environ}, input, maxAnswer)
	switch failed, exited := errors.AsType[*process.ExitError](err); {
	case err == nil:
		return output, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("no answer within %s", p.timeout)
	case exited:
		failed.Stderr = failed.Stderr[max(0, len(failed.Stderr)-maxStderr):]
		failed.Stderr = strings.ToValidUTF8(failed.Stderr, "")
		return nil, failed
	case errors.Is(err, process.ErrTooLong):
		return nil, fmt.Errorf("an answer %w", err)
	}
	return nil, err
}
