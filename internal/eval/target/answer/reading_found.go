package answer

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// fill takes the values that picks have for when they find nothing.
func (r *Reading) fill(f *Found) {
	reply := &f.Reply
	for _, t := range []struct {
		pick *Pick
		to   *string
	}{
		{r.spec.Node, &reply.Node},
		{r.spec.FinishReason, &reply.FinishReason},
		{r.spec.TraceID, &reply.TraceID},
		{r.spec.Session, &f.Session},
	} {
		if v, ok := t.pick.instead(); ok && !r.hit[t.pick] {
			*t.to, _ = words(v)
		}
	}
	if v, ok := r.spec.State.instead(); ok && reply.State == nil {
		reply.State = encode(v)
	}
	if v, ok := r.spec.End.instead(); ok && !r.hit[r.spec.End] {
		reply.Ended = v == true
	}
	if v, ok := r.spec.Cost.instead(); ok && reply.Cost.Unknown {
		if usd, is := number(v); is && usd >= 0 {
			reply.Cost = chat.Cost{USD: usd}
		}
	}
	input, output := r.spec.InputTokens.counted(r.input), r.spec.OutputTokens.counted(r.output)
	if input != nil && output != nil && *input+*output < math.MaxInt32 {
		reply.Usage = chat.Usage{InputTokens: int(*input), OutputTokens: int(*output)}
	}
}

// counted returns a number that was found, else the one that the pick has for when there is none.
func (p *Pick) counted(found *float64) *float64 {
	if v, ok := p.instead(); ok && found == nil {
		if n, is := number(v); is && n >= 0 {
			return &n
		}
	}
	return found
}

// sum returns the sum of the numbers at a path. ok is false where there is none, or one that counts nothing.
func (p *Pick) sum(e event) (sum float64, ok bool) {
	hits := p.hits(e)
	for _, v := range hits {
		n, is := number(v)
		if !is || n < 0 {
			return 0, false
		}
		sum += n
	}
	return sum, len(hits) > 0 && !math.IsInf(sum, 0)
}

// Replied reports whether a reply has been found.
func (r *Reading) Replied() bool { return r.whole != nil || r.spoke }

// Called reports whether any new tool call has been found.
func (r *Reading) Called() bool { return len(r.newCalls()) > 0 }

// Spoken reports whether any text of a reply has been found.
func (r *Reading) Spoken() bool { return r.pieces.Len() > 0 || r.whole != nil && *r.whole != "" }

// Found returns what was found. The error is ErrNoReply, ErrWithheld or ErrNotJSON where there was no reply.
func (r *Reading) Found() (Found, error) {
	if r.streamed && r.objects && r.broken != nil && !r.spec.readsText() {
		return Found{}, notJSON(r.broken, nil)
	}
	text, err := r.text()
	f := r.found
	f.Reply.Text, f.Reply.ToolCalls, f.Calls = text, r.newCalls(), max(r.earlier, len(r.calls))
	r.fill(&f)
	if why := withheld(f.Reply); why != nil && (err == nil || errors.Is(err, ErrNoReply)) {
		err = why
	}
	if err != nil {
		return Found{}, err
	}
	return f, nil
}

func (r *Reading) text() (string, error) {
	var pieces *Pick
	if r.spec.Stream != nil {
		pieces = r.spec.Stream.Text
	}
	switch {
	case r.whole != nil:
		return *r.whole, nil
	case r.spoke:
		return r.pieces.String(), nil
	}
	for _, p := range []*Pick{r.spec.Text, pieces} {
		if v, ok := p.replyInstead(r.doc); ok {
			if text, ok := words(v); ok {
				return text, nil
			}
		}
	}
	switch {
	case len(r.newCalls()) > 0:
		return "", nil
	case r.strange != nil:
		return "", notJSON(r.strange, nil)
	case r.spec.Text != nil:
		return "", fmt.Errorf("%w %s: %v", ErrNoReply, r.spec.Text.Path, &r.keys)
	case pieces != nil:
		return "", fmt.Errorf("%w %s: %v", ErrNoReply, pieces.Path, &r.keys)
	}
	return "", fmt.Errorf("%w any of %s: %v (say where it is, with `answer` of the target; "+
		"`rehearse init` with --agent looks deeper, and writes it)", ErrNoReply, strings.Join(names(), ", "), &r.keys)
}
