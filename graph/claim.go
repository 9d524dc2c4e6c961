package graph

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// claimLasts is how long a claim outlives a process that has died, where its death cannot be found out.
const claimLasts = 15 * time.Second

// claimed calls f while no other call continues the unfinished turn of a thread. The context of f ends when the claim
// is lost.
func (g *Graph[S]) claimed(ctx context.Context, thread string, f func(ctx context.Context) error) error {
	if thread == "" {
		return errNoName
	}
	by := claimant()
	if err := g.claim(ctx, thread, by); err != nil {
		return err
	}
	within, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var renewer sync.WaitGroup
	renewer.Go(func() {
		if err := g.renew(renewing, thread, by); err != nil {
			lost(err)
		}
	})
	defer func() {
		stop()
		renewer.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveLimit)
		defer cancel()
		err := try(ctx, g.log, "thread", "release", func() error { return g.saver.ReleaseTurn(ctx, thread, by) })
		if err != nil {
			// Neither the name of the thread nor the saver's error, which may have it: it may open a conversation.
			g.log.Warn("a claim was not released and lasts until its end", "graph", g.name)
		}
	}()
	return f(within)
}

// claim claims a thread. A claim of a process of this machine that has died counts for nothing.
func (g *Graph[S]) claim(ctx context.Context, thread, by string) error {
	var other string
	claim := func() (err error) { other, err = g.saver.ClaimTurn(ctx, thread, by, claimLasts); return err }
	err := try(ctx, g.log, "thread", "claim", claim)
	if errors.Is(err, ErrBusy) && gone(other) {
		if err = g.saver.ReleaseTurn(ctx, thread, other); err == nil {
			err = try(ctx, g.log, "thread", "claim", claim)
		}
	}
	if err != nil {
		return fmt.Errorf("thread %q: %w", thread, err)
	}
	return nil
}

// renew claims a thread again and again until its context ends. With an error the claim is lost.
func (g *Graph[S]) renew(ctx context.Context, thread, by string) error {
	ticker := time.NewTicker(claimLasts / 3)
	defer ticker.Stop()
	for end := time.Now().Add(claimLasts); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		began := time.Now()
		within, cancel := context.WithTimeout(ctx, claimLasts/3)
		err := try(within, g.log, "thread", "claim", func() error {
			_, err := g.saver.ClaimTurn(within, thread, by, claimLasts)
			return err
		})
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			end = began.Add(claimLasts)
		case errors.Is(err, ErrBusy) || !time.Now().Before(end):
			return fmt.Errorf("the claim on the turn was lost: %w", err)
		}
	}
}

// machine names the machine since its start, and what numbers its processes; empty where that cannot be found out.
var machine = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	numbering, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + numbering
})

// claimant returns a unique name that includes its process and its machine.
func claimant() string { return rand.Text() + " " + strconv.Itoa(os.Getpid()) + " " + machine() }

// gone reports whether a claimant's process ran on this machine and has died.
func gone(claimant string) bool {
	parts := strings.SplitN(claimant, " ", 3)
	if len(parts) < 3 || parts[2] == "" || parts[2] != machine() {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 {
		return false
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = process.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}
