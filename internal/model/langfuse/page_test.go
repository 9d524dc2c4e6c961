package langfuse_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

// filled returns a server with a dataset "d" of n items called 0 to n-1.
func filled(t *testing.T, n int) (*langfusetest.Server, *langfuse.Client) {
	t.Helper()
	s, c := inside(t)
	s.AddDataset("d")
	for i := range n {
		s.AddItem("d", strconv.Itoa(i), i, nil, nil)
	}
	return s, c
}

// TestChangesBetweenPages changes a list of three pages after its first, or its last one was sent.
func TestChangesBetweenPages(t *testing.T) {
	remove := func(from, to int) func(*langfusetest.Server) {
		return func(s *langfusetest.Server) {
			for i := from; i < to; i++ {
				s.RemoveItem(strconv.Itoa(i))
			}
		}
	}
	add := func(n int) func(*langfusetest.Server) {
		return func(s *langfusetest.Server) {
			for i := range n {
				s.AddItem("d", fmt.Sprint("new", i), i, nil, nil)
			}
		}
	}
	for _, c := range []struct {
		name           string
		after          int // which answer the change follows
		change         func(*langfusetest.Server)
		least, most    int // of the 150 items
		fresh, request int
	}{
		{"nothing", 1, func(*langfusetest.Server) {}, 150, 150, 0, 3},
		{"one of those sent is deleted", 1, remove(149, 150), 150, 150, 0, 5},
		{"all of those sent are deleted", 1, remove(100, 150), 150, 150, 0, 4},
		{"more than a page is deleted", 2, remove(60, 150), 150, 150, 0, 5},
		{"one of those to come is deleted", 1, remove(3, 4), 149, 149, 0, 5},
		{"everything is deleted", 1, remove(0, 150), 50, 50, 0, 3},
		{"one is added", 1, add(1), 150, 150, 1, 8},
		{"a page is added", 2, add(50), 150, 150, 50, 8},
		{"the last page is followed by a deletion", 3, remove(0, 150), 150, 150, 0, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, client := filled(t, 150)
			answers := 0
			s.OnAnswer(func(*http.Request) {
				if answers++; answers == c.after {
					c.change(s)
				}
			})
			old, fresh, seen := 0, 0, map[string]bool{}
			for _, item := range collect(t, client.Items(t.Context(), "d", langfuse.ItemsOptions{})) {
				if seen[item.ID] {
					t.Errorf("%s came twice", item.ID)
				}
				if seen[item.ID] = true; strings.HasPrefix(item.ID, "new") {
					fresh++
				} else {
					old++
				}
			}
			if old < c.least || old > c.most || fresh != c.fresh {
				t.Errorf("%d of 150 items and %d new ones", old, fresh)
			}
			if n := len(s.Requests()); n > c.request {
				t.Errorf("%d requests, at most %d wanted", n, c.request)
			}
		})
	}
}

// TestDeletions deletes and adds at random between pages. What was there all the time comes, once.
func TestDeletions(t *testing.T) {
	s := langfusetest.New(t)
	client := connect(t, s, s.Transport(), langfuse.Config{})
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		dataset, n, gone, changes := fmt.Sprint("d", seed), random.IntN(230), map[string]bool{}, random.IntN(6)
		id := func(i int) string { return fmt.Sprint(dataset, " ", i) }
		s.AddDataset(dataset)
		for i := range n {
			s.AddItem(dataset, id(i), i, nil, nil)
		}
		s.OnAnswer(func(*http.Request) {
			if changes--; changes < 0 {
				return
			}
			if random.IntN(5) == 0 { // only added, since an addition hides a deletion in the total
				s.AddItem(dataset, id(1000+changes), nil, nil, nil)
				return
			}
			for range random.IntN(60) {
				doomed := id(random.IntN(n + 1))
				gone[doomed] = true
				s.RemoveItem(doomed)
			}
		})
		seen := map[string]int{}
		for _, item := range collect(t, client.Items(t.Context(), dataset, langfuse.ItemsOptions{})) {
			seen[item.ID]++
		}
		for i := range n {
			if count := seen[id(i)]; count > 1 || count == 0 && !gone[id(i)] {
				t.Errorf("seed %d: item %d of %d came %d times", seed, i, n, count)
			}
		}
	}
}

// TestHostileLists lists from servers that lie.
func TestHostileLists(t *testing.T) {
	item := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"status":"ACTIVE","datasetName":"d","input":null,"unknown":[1]}`, id)
	}
	asked := 0
	page := func(data string, total any) string {
		return fmt.Sprintf(`{"data":[%s],"meta":{"page":1,"limit":50,"totalItems":%v,"totalPages":7},"more":{}}`,
			data, total)
	}
	for _, c := range []struct {
		name, want  string
		rows, calls int // at most
		answer      func() string
	}{
		{"a million in empty pages", "0 of 1000000 rows came", 0, 3, func() string { return page("", 1_000_000) }},
		{"more than a million", "more than 1000000 rows", 1, 1, func() string { return page(item("a"), 1_000_001) }},
		{"the same page for ever", "1 of 1000 rows came", 1, 60, func() string { return page(item("a"), 1000) }},
		{"a total that grows", "rows came: the list changes", 1, 60, func() string {
			return page(item("a"), min(1000, 60+asked))
		}},
		{"a total that jumps", "shrinks without end", 1, 3000, func() string {
			return page(item("a"), 500+asked%2*400)
		}},
		{"a total below 0", "", 1, 2, func() string { return page(item("a"), -5) }},
		{"no total", "lacks meta.totalItems", 0, 1, func() string { return `{"data":[],"meta":{"totalItems":null}}` }},
		{"no meta", "lacks meta.totalItems", 0, 1, func() string { return `{"data":[],"meta":null}` }},
		{"no data", "lacks data", 0, 1, func() string { return `{"data":null,"meta":{"totalItems":0}}` }},
		{"null", "lacks data", 0, 1, func() string { return `null` }},
		{"a list", "of a type that Langfuse does not document", 0, 1, func() string { return `[]` }},
		{"a total as text", "meta.totalItems is of a type that", 0, 1, func() string { return page("", `"12"`) }},
		{"an item without id", "lacks data[1].id", 0, 1, func() string { return page(item("a")+","+item(""), 2) }},
		{"an item of null", "lacks data[0].id", 0, 1, func() string { return page("null", 1) }},
		{"an item without status", "lacks data[0].status", 0, 1, func() string {
			return page(`{"id":"a","status":null,"datasetName":"d"}`, 1)
		}},
		{"a giant id", "a short name or id in data[0]", 0, 1, func() string {
			return page(item(strings.Repeat("x", 1001)), 1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked = 0
			client := answering(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				says(200, c.answer())(w, r)
			})
			rows, err := failure(client.Items(t.Context(), "d", langfuse.ItemsOptions{}))
			if c.want != "" {
				wants(t, err, c.want)
			} else if err != nil {
				t.Error(err)
			}
			if rows > c.rows || asked > c.calls {
				t.Errorf("%d rows by %d calls, want at most %d by %d", rows, asked, c.rows, c.calls)
			}
		})
	}
}

// TestEndless reads a list that always has more.
func TestEndless(t *testing.T) {
	n := 0
	client := answering(t, func(w http.ResponseWriter, r *http.Request) {
		var rows []string
		for range 50 {
			n++
			rows = append(rows, fmt.Sprintf(`{"id":"%d","status":"ACTIVE","datasetName":"d"}`, n))
		}
		says(200, fmt.Sprintf(`{"data":[%s],"meta":{"limit":50,"totalItems":%d}}`,
			strings.Join(rows, ","), 200*n))(w, r)
	})
	rows, err := failure(client.Items(t.Context(), "d", langfuse.ItemsOptions{}))
	wants(t, err, "more than 1000000 rows")
	if rows > 6000 {
		t.Errorf("%d rows", rows)
	}
}

// TestLowerLimit lists from a server that puts fewer rows on a page than it is asked for.
func TestLowerLimit(t *testing.T) {
	client := answering(t, func(w http.ResponseWriter, r *http.Request) {
		number, _ := strconv.Atoi(r.URL.Query().Get("page"))
		var rows []string
		for i := range 10 {
			rows = append(rows, fmt.Sprintf(`{"id":"%[1]d","name":"p%[1]d"}`, (number-1)*10+i))
		}
		says(200, fmt.Sprintf(`{"data":[%s],"meta":{"limit":10,"totalItems":30}}`, strings.Join(rows, ",")))(w, r)
	})
	if got := collect(t, client.Datasets(t.Context())); len(got) != 30 || got[29].Name != "p29" {
		t.Errorf("got %d", len(got))
	}
}
