package langfuse_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

// TestDeleteItems deletes items of which one is gone already and one stays.
func TestDeleteItems(t *testing.T) {
	s, client := inside(t)
	s.AddDataset("d")
	for _, id := range []string{"a", "b", "c"} {
		s.AddItem("d", id, "q", nil, nil)
	}
	synctest.Test(t, func(t *testing.T) {
		s.Fail(langfusetest.Fault{}, langfusetest.Fault{}, langfusetest.Broken(403))
		err := client.DeleteItems(t.Context(), []string{"a", "gone", "b", "c"})
		if d := cmp.Diff(fate{[]string{"a", "gone"}, []string{"b"}, []string{"c"}}, fateOf(t, err)); d != "" {
			t.Error(d)
		}
		if err := client.DeleteItems(t.Context(), []string{"b", "c"}); err != nil {
			t.Error(err)
		}
	})
	if left := s.Items("d"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestCountItems(t *testing.T) {
	s, client := inside(t)
	s.AddDataset("d")
	s.AddDataset("other")
	for _, id := range []string{"a", "b"} {
		s.AddItem("d", id, "q", nil, nil)
	}
	s.AddItem("other", "c", "q", nil, nil)
	synctest.Test(t, func(t *testing.T) {
		if n, err := client.CountItems(t.Context(), "d"); n != 2 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
		if _, err := client.CountItems(t.Context(), "absent"); !errors.Is(err, langfuse.ErrNotFound) {
			t.Error(err)
		}
		if _, err := client.CountItems(t.Context(), ""); err == nil {
			t.Error("the items of all datasets were counted")
		}
	})
}
