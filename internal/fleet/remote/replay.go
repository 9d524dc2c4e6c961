package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/fleet/client"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// NoReportError says that a replay has ended without a report.
type NoReportError struct {
	// Code is the exit code, never that of a run that has passed.
	Code int
	why  error
}

func (e *NoReportError) Error() string { return e.why.Error() }

// FetchReplay returns the report of a replay that has ended. The error of a run that came to none is a *NoReportError.
func FetchReplay(ctx context.Context, server *client.Client, ended client.Run) (*replay.Report, error) {
	data, err := server.FetchFile(ctx, ended.ID, "report.json")
	if said, ok := errors.AsType[*client.RefusedError](err); ok && said.Status == http.StatusNotFound {
		return nil, withoutReport(ended)
	}
	if err != nil {
		return nil, err
	}
	report := &replay.Report{}
	if err := json.Unmarshal(data, report); err != nil {
		return nil, fmt.Errorf("read the report of run %s: %w", ended.ID, err)
	}
	if ended.ExitCode == nil || *ended.ExitCode != report.ExitCode() {
		return nil, fmt.Errorf("the server's record of run %s and its report disagree on how it ended", ended.ID)
	}
	return report, nil
}

func withoutReport(ended client.Run) error {
	e := &NoReportError{result.ExitNotRun, fmt.Errorf("run %s came to no report: it is %s", ended.ID, ended.Status)}
	if ended.Error != nil {
		e.why = errors.New(*ended.Error)
	}
	if ended.ExitCode != nil && *ended.ExitCode != result.ExitPassed {
		e.Code = *ended.ExitCode
	}
	return e
}
