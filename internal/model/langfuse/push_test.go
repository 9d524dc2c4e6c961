package langfuse_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

func items(n int) []langfuse.Item {
	var list []langfuse.Item
	for i := range n {
		list = append(list, langfuse.Item{ID: fmt.Sprint("item-", i), Dataset: "d", Input: raw(fmt.Sprint(i))})
	}
	return list
}

// fate is a PushError with the ids of the failures only.
type fate struct{ Done, Failed, Rest []string }

func fateOf(t *testing.T, err error) fate {
	t.Helper()
	e, ok := errors.AsType[*langfuse.PushError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	f := fate{Done: e.Done, Rest: e.Rest}
	for _, failure := range e.Failed {
		f.Failed = append(f.Failed, failure.ID)
	}
	return f
}

func TestPush(t *testing.T) {
	down := repeat(langfusetest.Broken(500), 100)
	for _, c := range []struct {
		name   string
		change func(*langfusetest.Server, []langfuse.Item) []langfuse.Item
		want   fate
		text   string
	}{
		{"some refused", func(s *langfusetest.Server, list []langfuse.Item) []langfuse.Item {
			list[1].Dataset = "absent"
			list[3].Input = raw(`{`)
			return list
		}, fate{
			[]string{"item-0", "item-2", "item-4"}, []string{"item-1", "item-3"}, nil,
		}, `2 of 5 dataset items failed: "item-1": langfuse http`},
		{"the same id twice", func(s *langfusetest.Server, list []langfuse.Item) []langfuse.Item {
			list[2].ID = "item-1"
			return list
		}, fate{
			[]string{"item-0", "item-1", "item-3", "item-4"}, []string{"item-1"}, nil,
		}, `an earlier one has the same id`},
		{"server down", func(s *langfusetest.Server, list []langfuse.Item) []langfuse.Item {
			s.Fail(down...)
			return list
		}, fate{
			nil, []string{"item-0", "item-1", "item-2"}, []string{"item-3", "item-4"},
		}, "3 of 5 dataset items failed and 2 were not tried"},
		{"down for a while", func(s *langfusetest.Server, list []langfuse.Item) []langfuse.Item {
			s.Fail(down[:6]...)
			return list
		}, fate{
			[]string{"item-1", "item-2", "item-3", "item-4"}, []string{"item-0"}, nil,
		}, "1 of 5 dataset items failed: "},
		{"keys refused", func(s *langfusetest.Server, list []langfuse.Item) []langfuse.Item {
			s.Fail(langfusetest.Fault{}, langfusetest.Broken(401))
			return list
		}, fate{[]string{"item-0"}, []string{"item-1"}, []string{"item-2", "item-3", "item-4"}},
			"check LANGFUSE_PUBLIC_KEY"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, client := inside(t)
			s.AddDataset("d")
			list := c.change(s, items(5))
			synctest.Test(t, func(t *testing.T) {
				err := client.PutItems(t.Context(), list)
				if d := cmp.Diff(c.want, fateOf(t, err)); d != "" {
					t.Error(d)
				}
				wants(t, err, c.text)
			})
			if got := s.Items("d"); len(got) != len(c.want.Done) {
				t.Errorf("the server has %v", got)
			}
		})
	}
}

func TestPushAll(t *testing.T) {
	s, client := inside(t)
	s.AddDataset("d")
	if err := client.PutItems(t.Context(), items(7)); err != nil || len(s.Items("d")) != 7 {
		t.Errorf("%v, %v", err, s.Items("d"))
	}
	if err := client.PutItems(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestPushLeft ends the context within a push.
func TestPushLeft(t *testing.T) {
	s, client := inside(t)
	s.AddDataset("d")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.OnAnswer(func(*http.Request) {
		if len(s.Requests()) == 3 {
			cancel()
		}
	})
	err := client.PutItems(ctx, items(5))
	got := fateOf(t, err)
	if !errors.Is(err, context.Canceled) || len(got.Rest) == 0 || len(got.Done)+len(got.Failed)+len(got.Rest) != 5 {
		t.Errorf("%+v: %v", got, err)
	}
}

// TestLongPushError keeps the error of many failures short.
func TestLongPushError(t *testing.T) {
	s, client := inside(t)
	s.AddDataset("d")
	list := items(500)
	for i := range list {
		list[i].Dataset = "absent"
	}
	err := client.PutItems(t.Context(), list)
	wants(t, err, "500 of 500 dataset items failed: ")
	if !strings.HasSuffix(err.Error(), "; and 497 more") || !errors.Is(err, langfuse.ErrNotFound) ||
		len(fateOf(t, err).Failed) != 500 {
		t.Error(err)
	}
}
