package site_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

func TestFields(t *testing.T) {
	s, err := site.Load("s.yaml", []byte(`
site: x
qualification:
  profiling:
    forms:
      - id: z
        field_groups:
          - {id: b, fields: [{id: f3, required: true}, {id: f1}]}
          - {id: a, fields: [{id: f2, required: true}]}
      - {id: a, optional: true, field_groups: [{id: c, fields: [{id: f0, required: true}]}]}
  interest_signals: {signals: [{id: price, weight: 12}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"f3", "f1", "f2", "f0"}, s.FieldIDs()); diff != "" {
		t.Errorf("the order of the file is lost (-want +got):\n%s", diff)
	}
	for _, tc := range []struct {
		collected map[string]string
		missing   int
		blocked   bool
	}{
		{nil, 4, true},
		{map[string]string{"f3": "x", "f1": "y"}, 2, true},
		{map[string]string{"f3": "x", "f2": site.Declined}, 2, false},
		{map[string]string{"f3": "x", "f2": "  "}, 3, true},
	} {
		if got := len(site.Missing(s.Fields(), tc.collected)); got != tc.missing {
			t.Errorf("%v: %d missing, want %d", tc.collected, got, tc.missing)
		}
		if got := len(site.Missing(s.Required(), tc.collected)) > 0; got != tc.blocked {
			t.Errorf("%v: blocked %t", tc.collected, got)
		}
	}
	if f, ok := s.Field("f2"); !ok || f.ID != "f2" {
		t.Errorf("Field(f2) = %v, %t", f, ok)
	}
	if _, ok := s.Field("f9"); ok {
		t.Error("there is no f9")
	}
	if score, on := s.Threshold(); score != 10 || !on {
		t.Errorf("Threshold() = %d, %t", score, on)
	}
	if next, ok := site.Next(s.Booking.Fields, nil); !ok || next.ID != "email" {
		t.Errorf("Next = %v, %t", next, ok)
	}
	if _, ok := site.Next(s.Booking.Fields, map[string]string{"email": "a@b.example"}); ok {
		t.Error("nothing is missing")
	}
}
