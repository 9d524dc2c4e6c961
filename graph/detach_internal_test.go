package graph

import (
	"reflect"
	"testing"
	"time"
)

type deep struct {
	Name  string
	At    time.Time
	List  []string
	Lists [][]int
	Map   map[string]string
	Maps  map[string][]*deep
	Next  *deep
	Any   any
	Array [2][]int
	embedded
	private []int
}

type embedded struct{ Inner map[string]int }

func sample() deep {
	return deep{
		Name: "n", At: time.Now(), List: []string{"a"}, Lists: [][]int{{1}, nil, {}}, Map: map[string]string{"k": "v"},
		Maps: map[string][]*deep{"k": {{Name: "x", List: []string{"y"}}, nil}}, Next: &deep{List: []string{"b"}},
		Any: map[string]any{"k": []any{1.5, "s", nil, true}}, Array: [2][]int{{1}},
		embedded: embedded{map[string]int{"k": 1}}, private: []int{1},
	}
}

// A copy is equal and shares nothing that can be reached.
func TestDetach(t *testing.T) {
	free, _, err := detacher[deep]()
	if err != nil {
		t.Fatal(err)
	}
	original := sample()
	c := original
	free(&c)
	if !reflect.DeepEqual(c, original) {
		t.Fatalf("%+v\nis no copy of %+v", c, original)
	}
	c.List[0], c.Lists[0][0], c.Map["k"], c.Maps["k"][0].List[0], c.Next.List[0], c.Array[0][0], c.Inner["k"] = "x", 9,
		"x", "x", "x", 9, 9
	c.Any.(map[string]any)["k"].([]any)[0] = "x"
	c.Maps["new"] = nil
	if want := sample(); !reflect.DeepEqual(original.Maps, want.Maps) || original.List[0] != "a" ||
		original.Next.List[0] != "b" || !reflect.DeepEqual(original.Any, want.Any) || original.Lists[0][0] != 1 ||
		original.Array[0][0] != 1 || original.Inner["k"] != 1 || original.Map["k"] != "v" {
		t.Errorf("the original has changed: %+v", original)
	}
}

func TestDetachEmpty(t *testing.T) {
	free, _, err := detacher[deep]()
	if err != nil {
		t.Fatal(err)
	}
	c := deep{List: []string{}, Map: map[string]string{}}
	free(&c)
	if c.List == nil || c.Map == nil || c.Lists != nil || c.Next != nil || c.Any != nil {
		t.Errorf("nil and empty are mixed up: %+v", c)
	}
}

// Flat types need no copy; what contains itself is refused, and so is what cannot be stored.
func TestDetachKinds(t *testing.T) {
	if free, _, err := detacher[struct {
		A string
		B time.Time
		C [3]int
	}](); free != nil || err != nil {
		t.Errorf("a flat type has a copy function, %v", err)
	}
	if _, _, err := detacher[struct{ F []func() }](); err == nil {
		t.Error("a function passed")
	}
	free, _, _ := detacher[any]()
	for name, value := range map[string]any{"itself": itself(), "a channel": make(chan int)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was copied", name)
				}
			}()
			free(&value)
		}()
	}
}

func itself() any {
	m := map[string]any{}
	m["m"] = m
	return m
}
