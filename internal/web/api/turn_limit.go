package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// turnLimit admits a bounded number of turns, none after stop, and turns their panics into errors.
type turnLimit struct {
	log      *slog.Logger
	places   gate
	stopping chan struct{}
	once     *sync.Once
}

func newTurnLimit(log *slog.Logger, places int) turnLimit {
	return turnLimit{log: log, places: make(gate, places), stopping: make(chan struct{}), once: new(sync.Once)}
}

// pass takes a turn if there is room for one.
func (t *turnLimit) pass(ctx context.Context, take func() error) (err error) {
	if t.stopped() {
		return stoppingProblem()
	}
	if !t.places.enter() {
		return newProblem(http.StatusServiceUnavailable, codeOverloaded, "too many turns are under way",
			"try again in a moment").after(time.Second)
	}
	defer t.places.leave()
	defer func() {
		if fault := recover(); fault != nil {
			t.log.ErrorContext(ctx, "panic in a turn", "panic", fault, "stack", string(debug.Stack()))
			err = errors.New("panic")
		}
	}()
	return take()
}

// stop admits no more turns. It may be called again.
func (t *turnLimit) stop() { t.once.Do(func() { close(t.stopping) }) }

func (t *turnLimit) stopped() bool {
	select {
	case <-t.stopping:
		return true
	default:
		return false
	}
}

// visitorIP returns the address that a request comes from. It believes X-Forwarded-For as far as trusted proxies have
// written it. The zero value means that no trusted proxy has named an address.
func visitorIP(r *http.Request, trusted []netip.Prefix) netip.Addr {
	at, ok := parseIP(r.RemoteAddr)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !ok || !within(at, trusted) || strings.TrimSpace(hop) == "" {
			break
		}
		at, ok = parseIP(hop)
	}
	return at
}

// parseIP reads an address with or without a port.
func parseIP(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if with, err := netip.ParseAddrPort(text); err == nil {
		return plainIP(with.Addr()), true
	}
	ip, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return plainIP(ip), err == nil
}

func plainIP(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

func within(ip netip.Addr, prefixes []netip.Prefix) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(ip) })
}
