package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// hookSecret is what the webhooks of scripts expect in REHEARSE_WEBHOOK_SECRET.
const hookSecret = "whsec-of-the-script"

// hook is a webhook that refuses at first.
type hook struct {
	mu     sync.Mutex
	refuse int
	lines  []string
}

var hooks sync.Map // of seenKey to *hook

// startWebhook starts a webhook; sets $HOOK.
func startWebhook(ts *testscript.TestScript, _ bool, args []string) {
	refuse, err := strconv.Atoi(args[0])
	ts.Check(err)
	h := &hook{refuse: refuse}
	web := httptest.NewServer(h)
	ts.Defer(func() { web.Close(); hooks.Delete(seenKey{ts}) })
	hooks.Store(seenKey{ts}, h)
	ts.Setenv("HOOK", web.URL)
	ts.Setenv("HOOK_SECRET", hookSecret)
}

// ServeHTTP refuses with an error or a redirect, or takes what it is told.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	status := http.StatusNoContent
	if len(h.lines) < h.refuse {
		status = []int{http.StatusInternalServerError, http.StatusFound}[len(h.lines)%2]
		w.Header().Set("Location", "/elsewhere")
	}
	var told struct {
		Event string `json:"event"`
		Run   struct {
			Status   string  `json:"status"`
			Name     string  `json:"name"`
			ExitCode *int    `json:"exit_code"`
			Schedule *string `json:"schedule"`
		} `json:"run"`
		Regressed []struct {
			Suite  string `json:"suite"`
			TestID string `json:"test_id"`
			Target string `json:"target"`
		} `json:"regressed"`
	}
	err = json.Unmarshal(body, &told)
	code := "-"
	if told.Run.ExitCode != nil {
		code = fmt.Sprint(*told.Run.ExitCode)
	}
	h.lines = append(h.lines, fmt.Sprintf("%d %s %s %s %s %s %s regressed=%v delivery=%s %v",
		status, r.Method+r.URL.Path, told.Event, told.Run.Name, told.Run.Status, code,
		signed(r.Header.Get("X-Rehearse-Signature"), body), told.Regressed, r.Header.Get("X-Rehearse-Delivery"), err))
	w.WriteHeader(status)
}

// signed checks a signature as its receiver does.
func signed(header string, body []byte) string {
	if header == "" {
		return "unsigned"
	}
	seconds, mac, ok := strings.Cut(strings.TrimPrefix(header, "t="), ",v1=")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if age := time.Since(time.Unix(at, 0)); !ok || err != nil || age < -time.Minute || age > time.Minute {
		return "forged"
	}
	want := hmac.New(sha256.New, []byte(hookSecret))
	fmt.Fprintf(want, "%s.%s", seconds, body)
	if got, err := hex.DecodeString(mac); err != nil || !hmac.Equal(got, want.Sum(nil)) {
		return "forged"
	}
	return "signed"
}

// hooked waits until the webhook was told a number of times, and writes what.
func hooked(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	found, ok := hooks.Load(seenKey{ts})
	if !ok {
		ts.Fatalf("start a webhook first")
	}
	h, _ := found.(*hook)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		h.mu.Lock()
		lines := strings.Join(h.lines, "\n") + "\n"
		enough := len(h.lines) >= n
		h.mu.Unlock()
		if enough || time.Now().After(deadline) {
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(lines), 0o600))
			if !enough {
				ts.Fatalf("told only:\n%s", lines)
			}
			return
		}
	}
}
