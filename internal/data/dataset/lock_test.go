package dataset_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

// adderEnv makes the test program add an item to the file of its value: its only work is to write "locked" once it has
// the lock, and then to stay.
const adderEnv = "REHEARSE_TEST_ADDER"

func TestMain(m *testing.M) {
	if file := os.Getenv(adderEnv); file != "" {
		err := dataset.Add(file, "other", func(*dataset.Record) (dataset.Record, error) {
			fmt.Println("locked")
			_, err := bufio.NewReader(os.Stdin).ReadString('\n') // until the test says so, or kills
			return itemOf("other"), err
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func itemOf(id string) dataset.Record { return dataset.Record{ID: id, Input: []byte(`"hi"`)} }

// adder is another process that holds the lock of a file.
func adder(t *testing.T, file string) (process *exec.Cmd, goOn func()) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), adderEnv+"="+file)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	return c, func() { _, _ = in.Write([]byte("\n")) }
}

// TestLockOfTheDead holds that two living processes exclude each other, and that one that was killed holds up nobody.
func TestLockOfTheDead(t *testing.T) {
	for name, end := range map[string]func(*exec.Cmd, func()){
		"killed": func(c *exec.Cmd, _ func()) { _ = c.Process.Kill() },
		"done":   func(_ *exec.Cmd, goOn func()) { goOn() },
	} {
		file := filepath.Join(t.TempDir(), "items.jsonl")
		other, goOn := adder(t, file)
		added := make(chan error, 1)
		go func() {
			added <- dataset.Add(file, "mine", func(*dataset.Record) (dataset.Record, error) {
				return itemOf("mine"), nil
			})
		}()
		select {
		case err := <-added:
			t.Fatalf("%s: an item was added while another process wrote the file: %v", name, err)
		case <-time.After(300 * time.Millisecond):
		}
		end(other, goOn)
		if err := <-added; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = other.Wait()
		records, err := dataset.LoadRecords(file)
		if want := map[string]int{"killed": 1, "done": 2}[name]; len(records) != want || err != nil {
			t.Errorf("%s: %d items, want %d, error %v", name, len(records), want, err)
		}
		if _, err := os.Stat(file + ".lock"); err == nil {
			t.Errorf("%s: the lock file was left behind", name)
		}
	}
}

// TestLockFileLeft holds that a lock file that stands there is no lock.
func TestLockFileLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "items.jsonl")
	if err := os.WriteFile(file+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// A file that is held is an error after lockWait.
	if err := dataset.Add(file, "a", func(*dataset.Record) (dataset.Record, error) {
		return itemOf("a"), nil
	}); err != nil {
		t.Error(err)
	}
}

// TestManyAdders holds that nothing is lost when many add at once, though the lock file comes and goes.
func TestManyAdders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "items.jsonl")
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			id := fmt.Sprint(i)
			if err := dataset.Add(file, id, func(*dataset.Record) (dataset.Record, error) {
				return itemOf(id), nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	records, err := dataset.LoadRecords(file)
	if len(records) != 50 || err != nil {
		t.Errorf("%d items, error %v", len(records), err)
	}
	err = dataset.Add(filepath.Join(t.TempDir(), "no", "items.jsonl"), "a", nil)
	if err == nil || !strings.Contains(err.Error(), "items.jsonl") {
		t.Errorf("a folder that there is not: %v", err)
	}
}
