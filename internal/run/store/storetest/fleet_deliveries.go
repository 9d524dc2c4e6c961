package storetest

import (
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/store"
)

func endTold(t *testing.T, f Fleets) {
	submitted(t, f, "waits")
	ended(t, f, "a", time.Now())
	submitted(t, f, "b")
	if _, err := f.CancelRun(t.Context(), "b"); err != nil { // which ends it at once
		t.Fatal(err)
	}
	want := func(ids ...string) {
		t.Helper()
		got, err := f.Again().Endings(t.Context(), 10)
		if err != nil || len(got) != len(ids) {
			t.Fatalf("%+v, %v, want %v", got, err, ids)
		}
		for i, id := range ids {
			if got[i].ID != id || !got[i].Status.Ended() {
				t.Errorf("%+v, want %s", got[i], id)
			}
		}
	}
	want("a", "b")
	handles := []*store.Fleet{f.Fleet, f.Again()}
	var told atomic.Int32
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			switch err := handles[i%2].Announce(t.Context(), "a", []store.Delivery{{
				ID: "d" + string(rune('0'+i)), Run: "a", URL: "u", Body: json.RawMessage(`{}`),
			}}); {
			case err == nil:
				told.Add(1)
			case !errors.Is(err, store.ErrChanged):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if told.Load() != 1 {
		t.Errorf("told %d times", told.Load())
	}
	want("b")
	if _, ok, err := f.ClaimDelivery(t.Context(), time.Minute); err != nil || !ok {
		t.Errorf("%v, %v", ok, err)
	}
	// The end of a run that was deleted is not told, but what was to be told stays.
	for _, id := range []string{"a", "b"} {
		if err := f.DeleteRun(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	want()
	wantError(t, f.Announce(t.Context(), "b", nil), store.ErrChanged)
}

func deliveryTaken(t *testing.T, f Fleets) {
	ended(t, f, "a", time.Now())
	want := store.Delivery{
		ID: "d", Run: "a", Event: "run.finished", URL: "http://x", Own: true,
		Body: json.RawMessage(`{"event":"run.finished"}`),
	}
	if err := f.Announce(t.Context(), "a", []store.Delivery{want}); err != nil {
		t.Fatal(err)
	}
	take := func() (store.Delivery, bool) {
		t.Helper()
		d, ok, err := f.Again().ClaimDelivery(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return d, ok
	}
	d, ok := take()
	if !ok || d.Tries != 1 || d.ID != "d" || d.URL != want.URL || !d.Own || d.Event != want.Event ||
		string(d.Body) != string(want.Body) || d.Run != "a" {
		t.Errorf("%+v, %v", d, ok)
	}
	if d, ok := take(); ok {
		t.Errorf("taken twice: %+v", d)
	}
	if err := f.PutOffDelivery(t.Context(), d, -time.Second); err != nil {
		t.Fatal(err)
	}
	second, ok := take()
	if !ok || second.Tries != 2 {
		t.Errorf("%+v, %v", second, ok)
	}
	// Who took it before puts it off no more.
	if err := f.PutOffDelivery(t.Context(), d, -time.Second); err != nil {
		t.Fatal(err)
	}
	if d, ok := take(); ok {
		t.Errorf("%+v", d)
	}
	if err := f.DropDelivery(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	if err := f.PutOffDelivery(t.Context(), second, -time.Second); err != nil {
		t.Fatal(err)
	}
	if d, ok := take(); ok {
		t.Errorf("dropped, and taken: %+v", d)
	}
}
