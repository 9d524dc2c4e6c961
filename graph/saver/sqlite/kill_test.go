package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/graph/saver/sqlite"
)

type work struct {
	Log   []string          `json:"log"`
	Texts map[string]string `json:"texts"`
	Sum   float64           `json:"sum"`
}

// killed builds a graph whose nodes write a line to a file each time that they run, and take some time.
func killed(ctx context.Context, path, journal string) (*graph.Graph[work], func() error, error) {
	s, err := sqlite.Open(ctx, "sqlite:"+path)
	if err != nil {
		return nil, nil, err
	}
	log := graph.Append(func(s *work) *[]string { return &s.Log })
	texts := graph.Merge(func(s *work) *map[string]string {
		return &s.Texts
	}, func(old, written map[string]string) map[string]string {
		if old == nil {
			return written
		}
		maps.Copy(old, written)
		return old
	})
	sum := graph.Merge(func(s *work) *float64 { return &s.Sum }, func(a, b float64) float64 { return a*1.1 + b })
	ran := func(name string) error {
		f, err := os.OpenFile(journal, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(name + "\n")
		return errors.Join(err, f.Close())
	}
	b := graph.New("killed", log, texts, sum)
	const nodes = 6
	for i := range nodes {
		name := fmt.Sprint("n", i)
		b.Node(name, func(_ context.Context, s work) (graph.Update[work], error) {
			time.Sleep(5 * time.Millisecond)
			u := graph.Update[work]{
				log.Add(fmt.Sprint(name, len(s.Log))), texts.Set(map[string]string{name: "é"}), sum.Set(float64(i) / 3),
			}
			return u, ran(name)
		})
	}
	graph.Each(b, "items", func(work) []int {
		return []int{0, 1, 2, 3}
	}, func(_ context.Context, _ work, i int) (graph.Update[work], error) {
		time.Sleep(5 * time.Millisecond)
		return graph.Update[work]{log.Add(fmt.Sprint("item", i)), sum.Set(float64(i))}, ran(fmt.Sprint("items ", i))
	}).Parallel(2)
	b.Edge(graph.Start, "n0", "n1")
	b.Edge("n0", "n2")
	b.Edge("n1", "n3", "items")
	b.Edge("n2", "n4")
	b.Edge("n3", "n4")
	b.Edge("items", "n4")
	b.Edge("n4", "n5")
	b.Edge("n5", graph.End)
	g, err := b.Compile(graph.Config{Checkpoints: s, Durable: true})
	return g, s.Close, err
}

const killedEnv = "REHEARSE_TEST_KILLED"

// TestKilledChild is the process that is killed.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv(killedEnv)
	if dir == "" {
		t.Skip("it is run by TestKill")
	}
	g, end, err := killed(t.Context(), filepath.Join(dir, "threads.db"), filepath.Join(dir, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = end() }()
	s, err := g.Continue(t.Context(), "thread", nil)
	if errors.Is(err, graph.ErrNothingToContinue) {
		var at graph.Checkpoint[work]
		at, err = g.State(t.Context(), "thread") // the one before may have been killed after the end of the turn
		if s = at.State; err == nil && at.Turn == 0 {
			s, err = g.Run(t.Context(), "thread", nil, nil)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "result"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestKill kills processes at random moments of a durable turn, until one gets to the end. The result is that of a turn
// that nothing disturbs, and at most as many nodes as can be at work have run once more for each kill.
func TestKill(t *testing.T) {
	calm := t.TempDir()
	g, end, err := killed(t.Context(), filepath.Join(calm, "threads.db"), filepath.Join(calm, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = end() }()
	s, err := g.Run(t.Context(), "thread", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		dir := t.TempDir()
		kills := 0
		for ; kills < 40; kills++ {
			child := exec.Command(os.Args[0], "-test.run=^TestKilledChild$")
			child.Env = append(os.Environ(), killedEnv+"="+dir)
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			if kills < 12 { // the moment counts from the first sign of life, as starting takes its time
				waitForLines(filepath.Join(dir, "journal"), rand.IntN(4))
				time.Sleep(time.Duration(rand.IntN(6)) * time.Millisecond)
				_ = child.Process.Kill()
			}
			if child.Wait() == nil {
				break
			}
		}
		got, err := os.ReadFile(filepath.Join(dir, "result"))
		if err != nil || string(got) != string(want) {
			t.Fatalf("round %d, after %d kills: %s, %v\nundisturbed %s", round, kills, got, err, want)
		}
		journal, err := os.ReadFile(filepath.Join(dir, "journal"))
		if runs := strings.Count(string(journal), "\n"); err != nil || runs < 10 || runs > 10+4*kills {
			t.Errorf("round %d: 10 nodes and items have run %d times with %d kills, %v", round, runs, kills, err)
		}
	}
}

// waitForLines waits until a file has more lines than now, by so many, for a second at most.
func waitForLines(path string, more int) {
	before, _ := os.ReadFile(path)
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		now, _ := os.ReadFile(path)
		if strings.Count(string(now), "\n") >= strings.Count(string(before), "\n")+more {
			return
		}
	}
}
