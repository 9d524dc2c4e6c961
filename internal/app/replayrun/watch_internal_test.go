package replayrun

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// A webhook that was away when the alarm came is told while the next look is waited for, not a night later. The log is
// told once.
func TestAlertIsToldAgain(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + gone.Addr().String()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := wire.Open(wire.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		alarms, troubles := 0, 0
		w := &replayWatcher{
			WatchConfig: &WatchConfig{
				Config: Config{Setup: s}, Alert: address,
				Alarmed: func(replay.Interim) { alarms++ }, Trouble: func(error) { troubles++ },
			},
			state: &replay.WatchState{
				AlarmedAt: "2026-03-01", Interims: []replay.Interim{{Until: "2026-03-01", Alarm: true}},
			},
		}
		w.tell(t.Context())
		if err := w.wait(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if alarms != 1 || troubles < 10 || troubles > 13 {
			t.Errorf("the log was told %d times, the webhook tried %d times", alarms, troubles)
		}
	})
}
