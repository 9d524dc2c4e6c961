// Command mutate measures the tests: it makes small wrong changes, each by itself, runs the tests of the changed
// package, and lists the changes that no test sees. The work tree is never touched, since the compiler gets a changed
// file by -overlay. The exit status is 1 when a change survives that the file of explained ones does not name.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// rooms are the packages in which a wrong change makes a verdict untrue. Behind a colon stands which of the files.
const rooms = "internal/eval/runner,internal/eval/grader,internal/eval/judge,internal/base/stats,internal/run/orchestrator,internal/replay,internal/agent/sitebot:history*.go"

func main() {
	log.SetFlags(0)
	packages := flag.String("packages", rooms,
		"folders, with commas between them; folder:pattern takes some files only")
	most := flag.Int("max", 0, "try at most so many mutants of a package, always the same ones; 0 is all")
	seed := flag.Uint64("seed", 1, "which ones")
	workers := flag.Int("workers", 2, "how many are tried at once")
	file := flag.String("explained", "mutate/explained.txt", "mutants that may survive: file | function | change | why")
	flag.Parse()
	explanations, survivors := readExplained(*file), 0
	for p := range strings.SplitSeq(*packages, ",") {
		folder, pattern, _ := strings.Cut(p, ":")
		survivors += try(folder, sample(mutantsOf(folder, pattern), *most, *seed), explanations, *workers)
	}
	if survivors > 0 {
		log.Fatalf("%d mutants survive without an explanation", survivors)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// readExplained returns what comes before the reason in each line. Empty lines and those that begin with # are left
// out.
func readExplained(file string) map[string]bool {
	data, err := os.ReadFile(file)
	check(err)
	explanations := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if at := strings.LastIndex(line, " | "); at > 0 && line[0] != '#' {
			explanations[line[:at]] = true
		}
	}
	return explanations
}

// try prints the survivors of a package and how many were killed, and returns how many survive unexplained.
func try(folder string, mutants []mutant, explanations map[string]bool, workers int) int {
	if got, said := test(folder, ""); got != "survived" {
		log.Fatalf("the tests of %s fail without any change:\n%s", folder, said)
	}
	outcomes, places := make([]string, len(mutants)), make(chan bool, workers)
	var all sync.WaitGroup
	for i := range mutants {
		places <- true
		all.Go(func() { outcomes[i] = mutants[i].try(folder); <-places })
	}
	all.Wait()
	counts := map[string]int{}
	for i, m := range mutants {
		if outcomes[i] == "survived" && explanations[m.String()] {
			outcomes[i] = "explained"
		}
		if counts[outcomes[i]]++; outcomes[i] == "survived" {
			fmt.Printf("%s (line %d)\n", m, m.line)
		}
	}
	fmt.Printf("%s: %d of %d killed, %d more explained, %d do not compile\n",
		folder, counts["killed"], counts["killed"]+counts["survived"], counts["explained"], counts["invalid"])
	return counts["survived"]
}

// try runs the tests of a mutant's package with the changed file in place of the real one.
func (m mutant) try(folder string) string {
	dir, err := os.MkdirTemp("", "mutate")
	check(err)
	defer func() { _ = os.RemoveAll(dir) }()
	file, err := filepath.Abs(m.file)
	check(err)
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	check(err)
	check(os.WriteFile(changed, []byte(m.source), 0o600))
	check(os.WriteFile(overlay, replace, 0o600))
	got, _ := test(folder, overlay)
	return got
}

// test runs the tests of a package, which then is killed, has survived, or is invalid, since it does not compile.
func test(folder, overlay string) (outcome, said string) {
	output, err := exec.Command("go", "test", "-vet=off", "-failfast", "-timeout", "2m", "-overlay", overlay, "./"+folder).CombinedOutput() //nolint:noctx // it has a timeout
	switch said = string(output); {
	case err == nil:
		return "survived", said
	case strings.Contains(said, "[build failed]"):
		return "invalid", said
	}
	return "killed", said
}
