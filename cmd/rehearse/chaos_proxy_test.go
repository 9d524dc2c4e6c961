package main

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// chaosProxy passes TCP connections on to one address. It can be cut, and be slow.
type chaosProxy struct {
	listener net.Listener
	to       string
	mu       sync.Mutex
	open     map[net.Conn]bool
	isCut    bool
	delay    time.Duration
}

func newChaosProxy(t *testing.T, to string) *chaosProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &chaosProxy{listener: l, to: to, open: map[net.Conn]bool{}}
	var accepting sync.WaitGroup
	accepting.Go(p.accept)
	t.Cleanup(func() { _ = l.Close(); p.cut(true); accepting.Wait() })
	return p
}

func (p *chaosProxy) addr() string { return p.listener.Addr().String() }

// cut ends all connections and lets no new one through, or lets them through again.
func (p *chaosProxy) cut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = cut
	for c := range p.open {
		if cut {
			_ = c.Close()
		}
	}
}

// slow holds up every piece of data by delay, in both directions.
func (p *chaosProxy) slow(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

func (p *chaosProxy) accept() {
	var passing sync.WaitGroup
	defer passing.Wait()
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		passing.Go(func() { p.pass(c) })
	}
}

func (p *chaosProxy) pass(c net.Conn) {
	defer c.Close()
	if !p.add(c) {
		return
	}
	defer p.remove(c)
	there, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer there.Close()
	if !p.add(there) {
		return
	}
	defer p.remove(there)
	var back sync.WaitGroup
	back.Go(func() { p.copy(c, there); _ = c.Close() })
	p.copy(there, c)
	_ = there.Close()
	back.Wait()
}

func (p *chaosProxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isCut {
		return false
	}
	p.open[c] = true
	return true
}

func (p *chaosProxy) remove(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

func (p *chaosProxy) copy(to io.Writer, from io.Reader) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		delay := p.delay
		p.mu.Unlock()
		time.Sleep(delay)
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}
