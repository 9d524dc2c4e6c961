package langfuse

import (
	"errors"
	"fmt"
	"strings"
)

// PushError is the outcome of a batch that Langfuse did not accept as a whole.
type PushError struct {
	// What names the things, in the plural.
	What string
	// Done are the IDs of the accepted things, in their order.
	Done []string
	// Failed are the things that were not accepted.
	Failed []Failure
	// Rest are the IDs of the things that were not tried. A batch stops when the keys are refused, when the context
	// ends, and when the server has failed three times in a row.
	Rest []string
}

// Failure is a thing that was not accepted.
type Failure struct {
	ID  string
	Err error
}

func (e *PushError) Error() string {
	text := fmt.Sprintf("%d of %d %s failed", len(e.Failed), len(e.Done)+len(e.Failed)+len(e.Rest), e.What)
	if len(e.Rest) > 0 {
		text += fmt.Sprintf(" and %d were not tried", len(e.Rest))
	}
	const shown = 3
	var list []string
	for _, f := range e.Failed[:min(len(e.Failed), shown)] {
		list = append(list, quote(f.ID)+": "+f.Err.Error())
	}
	if more := len(e.Failed) - shown; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return text + ": " + strings.Join(list, "; ")
}

// Unwrap returns the errors of Failed.
func (e *PushError) Unwrap() []error {
	var errs []error
	for _, f := range e.Failed {
		errs = append(errs, f.Err)
	}
	return errs
}

// errTwice is the error of a thing with the ID of an earlier one.
var errTwice = errors.New("an earlier one has the same id")

// maxTrouble is the number of failures in a row after which the rest is not tried.
const maxTrouble = 3

// parcel is the content of one request.
type parcel struct {
	// ids are the IDs of its things, at least one.
	ids  []string
	send func() error
}

// push sends parcels one after the other. Langfuse counts requests, so concurrent ones would only be refused sooner.
func push(what string, parcels []parcel) error {
	result := PushError{What: what}
	trouble := 0
	for i, p := range parcels {
		err := p.send()
		if err == nil {
			result.Done = append(result.Done, p.ids...)
			trouble = 0
			continue
		}
		for _, id := range p.ids {
			result.Failed = append(result.Failed, Failure{id, err})
		}
		e, _ := errors.AsType[*Error](err)
		if e != nil && e.trouble {
			trouble++
		}
		// the context has ended
		if trouble == maxTrouble || errors.Is(err, ErrUnauthorized) || e == nil && !errors.Is(err, errTwice) {
			for _, rest := range parcels[i+1:] {
				result.Rest = append(result.Rest, rest.ids...)
			}
			break
		}
	}
	if len(result.Failed) == 0 {
		return nil
	}
	return &result
}

// parcels makes a parcel of each thing. If things have the same ID, only the first is sent.
func parcels[T any](things []T, id func(T) string, send func(T) error) []parcel {
	seen := map[string]bool{}
	var list []parcel
	for _, thing := range things {
		p := parcel{[]string{id(thing)}, func() error { return send(thing) }}
		if seen[id(thing)] {
			p.send = func() error { return errTwice }
		}
		seen[id(thing)] = true
		list = append(list, p)
	}
	return list
}
