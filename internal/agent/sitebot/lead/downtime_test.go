package lead_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
)

// TestHourOfDowntime has the receiver away for an hour, in which a visitor books each minute and the server begins anew
// once. Turns are saved at once all the while, every lead is kept, tried again ever more rarely, and taken once when
// the receiver is back.
func TestHourOfDowntime(t *testing.T) {
	const bookings = 60
	synctest.Test(t, func(t *testing.T) {
		receiver := &taker{t: t}
		began := time.Now()
		attempts, taken := map[string][]time.Time{}, map[string]int{}
		network := wire(func(w http.ResponseWriter, r *http.Request) error {
			receiver.take(r)
			id := r.Header.Get("Idempotency-Key")
			receiver.mu.Lock()
			defer receiver.mu.Unlock()
			attempts[id] = append(attempts[id], time.Now())
			if time.Since(began) < time.Hour {
				return fmt.Errorf("connection refused")
			}
			taken[id]++
			w.WriteHeader(http.StatusNoContent)
			return nil
		})
		o := openOffice(t, network, nil)
		var again time.Time
		for i := range bookings {
			before := time.Now()
			o.put(event(fmt.Sprintf("s%02d", i)))
			if took := time.Since(before); took > 0 {
				t.Errorf("turn %d waited for %s", i, took)
			}
			if i == bookings/2 { // the server is stopped, and begins again
				o.finish()
				again = time.Now()
				o.open(network, nil)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if rows := o.rows(); len(rows) != i+1 || rows[0].State != lead.Pending ||
				rows[i].State != lead.Pending && i < bookings-1 {
				t.Fatalf("after %d minutes there are %d rows", i+1, len(rows))
			}
		}
		time.Sleep(19 * time.Minute) // the longest pause, and a fifth
		synctest.Wait()
		for i, row := range o.rows() {
			if row.State != lead.Delivered || taken[row.ID] != 1 || row.Attempts != len(attempts[row.ID]) {
				t.Errorf("lead %d is %s after %d attempts, of %d requests %d were taken", i, row.State, row.Attempts,
					len(attempts[row.ID]), taken[row.ID])
			}
			checkPauses(t, i, attempts[row.ID], again)
		}
		if len(taken) != bookings || len(receiver.leads) != bookings {
			t.Errorf("%d leads were taken, want %d", len(taken), bookings)
		}
		o.finish()
	})
}

// checkPauses holds that pauses double from a second to 15 minutes, each more or less a fifth. The beginning of a
// process makes all rows due.
func checkPauses(t *testing.T, row int, at []time.Time, again time.Time) {
	t.Helper()
	want := time.Second
	for i := 1; i < len(at); i++ {
		got := at[i].Sub(at[i-1])
		resumed := !at[i-1].After(again) && !at[i].Before(again)
		if got > want*12/10+2*time.Second || got < want*8/10 && !resumed {
			t.Errorf("lead %d: pause %d took %s, want %s more or less a fifth", row, i, got, want)
		}
		want = min(2*want, 15*time.Minute)
	}
}
