// Package demo says what `rehearse demo` does: which files it writes, which commands it runs on them, and what can be
// looked at afterwards.
package demo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/examples"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Step is one command of the demonstration. It runs in the folder of the demonstration.
type Step struct {
	// Title says in a few words what the step shows.
	Title string
	// Args are the command line behind `rehearse`.
	Args []string
	// Exits are the exit codes that the step is expected to have.
	Exits []int
	// Name names the file with all that the step says.
	Name string

	shows shown
}

// Command is the command line as a user types it.
func (s Step) Command() string { return "rehearse " + strings.Join(s.Args, " ") }

// Steps are the commands in order. Each leaves something that the pages show.
func Steps() []Step {
	passed := []int{result.ExitPassed}
	tests, rate := `^(All \d+ tests passed|\d+ of \d+ tests? failed)`, `^  pass rate `
	return []Step{
		{
			"Three conversations, graded turn by turn", words("run quickstart/suite.yaml --quiet"), passed,
			"conversations", first(tests, rate),
		},
		{
			"A classifier of real requests",
			words("classify intents/items.jsonl --examples intents/train.jsonl --target lexical"), passed, "classifier",
			first(`^ *accuracy `, `^ *macro F1 `),
		},
		{
			"Two assistants on one suite, each test three times; the quicker one has faults",
			words("run bookshop/suite.yaml --target careful,hasty --quiet"), []int{result.ExitFailed},
			"assistants", first(`^ *Target `, `^ *careful `, `^ *hasty `, tests),
		},
		{
			"Real conversations of the STAR corpus, as a log", words("replay import replay/events.jsonl.gz"), passed,
			"log", first(`^imported `),
		},
		{
			"The flow of the same log, learned from it",
			words("flow mine --flow_id hotel_book --out replay/flows/hotel_book.yaml"), passed, "flow",
			first(`^hotel_book: `),
		},
		{
			"The flows that are compared", words("replay variant add replay/variants.yaml"), passed, "variants",
			first(`^\d+ added, `),
		},
		{
			"The log replayed: is the candidate better than the baseline?",
			words("replay run --candidate variant:hotel_book_candidate --baseline variant:hotel_book_baseline " +
				"--flow_id hotel_book " +
				"--start_date 2020-05-17 --end_date 2020-05-26 --flows replay/flows --prompts replay/prompts --mode " +
				"forced --quiet"),
			// by its latency, on a machine that is busy
			[]int{result.ExitPassed, result.ExitFailed, replay.ExitUnderpowered},
			"replay", opening(first(`^ *Metric `, `^ *Completion match +\d`, `^ *Turn count ratio +\d`,
				`^ *Turns to the logged state +\d`)),
		},
	}
}

// Serve is the last command, which shows everything; addr is where it listens.
func Serve(addr string) Step {
	return Step{
		Title: "All of it in the browser, and a website's chatbot to talk to",
		Args: append(
			words("serve --flows replay/flows --sites sites --model scripted:sites/bot.yaml --log off --addr"), addr),
	}
}

// Commands are the places worth a look, by their paths on the server, with what is seen there.
func Commands() [][2]string {
	return [][2]string{
		{"/runs", "the runs: open bookshop, then a failing conversation"},
		{"/compare?a=latest&b=latest&a_target=careful&b_target=hasty", "the two assistants beside each other"},
		{"/replays", "the log replayed: what became better and what worse"},
		{"/sessions", "the real conversations"},
		{"/flows/hotel_book?traffic=sessions", "a flow, and where the real conversations went in it"},
		{"/classify", "what the classifier confuses"},
		{"/chat/kestrel-rota.example", "a website's chatbot, played from a script"},
	}
}

func words(line string) []string { return strings.Fields(line) }

// configFile makes the folder stand by itself, whatever configuration lies above it.
const configFile = "rehearse.yaml"

const configuration = `# The configuration of the demonstration. Without this file, one in a folder above would count.
store: sqlite:.rehearse/rehearse.db
`

// Write writes the files into a folder, which it makes. Files that are there stay as they are, so that a user may
// change them and run the demonstration again. A folder that holds something else is refused.
func Write(dir string) error {
	if err := ours(dir); err != nil {
		return err
	}
	if err := put(filepath.Join(dir, configFile), []byte(configuration)); err != nil {
		return err
	}
	return fs.WalkDir(examples.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := examples.Files.ReadFile(name)
		if err != nil {
			return err
		}
		return put(filepath.Join(dir, filepath.FromSlash(name)), data)
	})
}

// put writes a file unless it is there.
func put(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// ours returns an error for a folder with files that the demonstration has not written.
func ours(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	known := []string{configFile, ".rehearse"}
	own, err := examples.Files.ReadDir(".")
	if err != nil {
		return err
	}
	for _, entry := range own {
		known = append(known, entry.Name())
	}
	for _, entry := range entries {
		if !slices.Contains(known, entry.Name()) {
			return source.Invalid(
				"%s holds other files, such as %s: name an empty folder, or one of an earlier demonstration", dir,
				entry.Name())
		}
	}
	return nil
}
