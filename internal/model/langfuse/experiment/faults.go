package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// because returns the text of an error. For requests that were given up it says why.
func because(ctx context.Context, text string) string {
	if cause := context.Cause(ctx); cause != nil {
		return strings.ReplaceAll(text, context.Canceled.Error(), cause.Error())
	}
	return text
}

// listed returns the lines of an error, one line for all things that failed for the same reason. names gives the name
// of a thing by its id.
func listed(err error, names map[string]string) []string {
	partly, ok := errors.AsType[*langfuse.PushError](err)
	if !ok {
		if err == nil {
			return nil
		}
		return []string{err.Error()}
	}
	var reasons []string
	alike := map[string][]string{}
	for _, failed := range partly.Failed {
		reason := failed.Err.Error()
		if alike[reason] == nil {
			reasons = append(reasons, reason)
		}
		alike[reason] = append(alike[reason], names[failed.ID])
	}
	var said []string
	for _, reason := range reasons {
		things := alike[reason]
		const most = 5
		some := strings.Join(things[:min(len(things), most)], ", ")
		if more := len(things) - most; more > 0 {
			some += fmt.Sprintf(" and %d more", more)
		}
		said = append(said, some+": "+reason)
	}
	if n := len(partly.Rest); n > 0 {
		said = append(said, fmt.Sprintf("%d %s were not tried", n, partly.What))
	}
	return said
}
