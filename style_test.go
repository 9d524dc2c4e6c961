package rehearse

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

// bannedNames are words that no exported identifier contains, because the field has another term for their concept.
var bannedNames = strings.Fields(`hold holds held holder holding talk talks talker desk said says say unsaid ask asks
	asked asking unasked tell tells told telling take takes taken keep keeps kept keeper goes lane lanes look looks
	sighting crew courier shelf journal inbox callout probe prose place places tape cassette doubt doubts discreet
	insistent noting lent away foreign belief hurry pupil lesson unheard heard faulty led whole deed life story
	turnstile room rooms floor house door mend nobody somebody whoever anew behind beside`)

// bannedTexts returns a pattern of the wording that testdata/style/vale lists, and of a number with a space before "%".
func bannedTexts(t *testing.T) *regexp.Regexp {
	t.Helper()
	var rule struct{ Tokens []string }
	data, err := os.ReadFile("testdata/style/vale/Rehearse/Wording.yml")
	if err == nil {
		err = yaml.Unmarshal(data, &rule)
	}
	if err != nil || len(rule.Tokens) == 0 {
		t.Fatalf("%d patterns: %v", len(rule.Tokens), err)
	}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(rule.Tokens, "|") + `)\b|\d %`)
}

var camelWords = regexp.MustCompile(`[A-Z]+[a-z]*|[a-z]+`)

// TestNames checks the words of exported identifiers. testdata/style/names.txt lists the exceptions that are left;
// UPDATE_GOLDEN=1 removes those that are gone, and adds none.
func TestNames(t *testing.T) {
	banned := map[string]bool{}
	for _, word := range bannedNames {
		banned[word] = true
	}
	found := map[string]int{}
	for _, file := range goFiles(t) {
		check := func(id *ast.Ident) {
			if !id.IsExported() {
				return
			}
			for _, word := range camelWords.FindAllString(id.Name, -1) {
				if banned[strings.ToLower(word)] {
					found[file.pkg+" "+id.Name]++
					return
				}
			}
		}
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				check(n.Name)
			case *ast.TypeSpec:
				check(n.Name)
			case *ast.ValueSpec:
				for _, id := range n.Names {
					check(id)
				}
			case *ast.Field:
				for _, id := range n.Names {
					check(id)
				}
			}
			return true
		})
	}
	ratchet(t, "testdata/style/names.txt", found, "rename it to the field's term")
}

// TestTexts checks the wording of documentation, page templates, messages and comments. testdata/style/texts.txt has
// the number of findings that are left in each folder; UPDATE_GOLDEN=1 lowers the numbers, and raises none.
func TestTexts(t *testing.T) {
	banned, found := bannedTexts(t), map[string]int{}
	count := func(name, text string) {
		if n := len(banned.FindAllString(text, -1)); n > 0 {
			found[filepath.ToSlash(filepath.Dir(name))] += n
		}
	}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata" ||
			d.Name() == "dist"):
			return fs.SkipDir
		case strings.HasSuffix(name, "_test.go"):
			return nil
		}
		switch filepath.Ext(name) {
		case ".md", ".tmpl":
			text, err := os.ReadFile(name)
			count(name, string(text))
			return err
		case ".go":
			return goTexts(name, count)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ratchet(t, "testdata/style/texts.txt", found, "reword it")
}

// TestLineWidths checks that no line of Go is over 120 columns, a tab counting 4. testdata/style/widths.txt has the
// number of wider lines that are left in each folder; UPDATE_GOLDEN=1 lowers the numbers, and raises none.
func TestLineWidths(t *testing.T) {
	found := map[string]int{}
	err := filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" {
			return err
		}
		text, err := os.ReadFile(name)
		for line := range strings.Lines(string(text)) {
			if utf8.RuneCountInString(strings.TrimRight(line, "\n"))+3*strings.Count(line, "\t") > 120 {
				found[filepath.ToSlash(filepath.Dir(name))]++
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ratchet(t, "testdata/style/widths.txt", found, "wrap it")
}

// goTexts passes the comments and the string literals with several words of a Go file to count.
func goTexts(name string, count func(name, text string)) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, comment := range file.Comments {
		count(name, comment.Text())
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(text, " ") {
				count(name, text)
			}
		}
		return true
	})
	return nil
}

// ratchet compares findings with the recorded ones: none may be added.
func ratchet(t *testing.T, record string, found map[string]int, advice string) {
	t.Helper()
	recorded := map[string]int{}
	file, err := os.Open(record)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		number, key, _ := strings.Cut(lines.Text(), " ")
		if recorded[key], err = strconv.Atoi(number); err != nil {
			t.Fatalf("%s: %v", record, err)
		}
	}
	var left strings.Builder
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if found[key] > recorded[key] {
			t.Errorf("%s: %d findings, %d are recorded in %s: %s", key, found[key], recorded[key], record, advice)
		}
		if n := min(found[key], recorded[key]); n > 0 {
			fmt.Fprintf(&left, "%d %s\n", n, key)
		}
	}
	if golden.Update() {
		if err := os.WriteFile(record, []byte(left.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
