package suite

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Find returns the suites that an argument of a command names: the file itself, the matches of a glob, or the suites
// below a folder (suite.yaml, *.suite.yaml, *.eval.yaml; each also as .yml, .json, .jsonl and .gz), in order of name.
func Find(files source.Files, arg string) ([]string, error) {
	info, err := files.Stat(arg)
	if err != nil {
		if matches, globErr := files.Glob(arg); globErr == nil && len(matches) > 0 {
			return matches, nil
		}
		return nil, fmt.Errorf("there is no suite at %s", arg)
	}
	if !info.IsDir() {
		return []string{arg}, nil
	}
	var found []string
	err = files.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && IsName(d.Name()) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search for suites in the folder %s: %w", arg, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no suite in the folder %s: suites there are called suite.yaml, "+
			"*.suite.yaml or *.eval.yaml; name any other file itself", arg)
	}
	return found, nil
}

// IsName reports whether a file is called as suites are that Find finds in a folder.
func IsName(name string) bool {
	name = strings.TrimSuffix(name, ".gz")
	extension := filepath.Ext(name)
	if !slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl"}, extension) {
		return false
	}
	name = strings.TrimSuffix(name, extension)
	return name == "suite" || strings.HasSuffix(name, ".suite") || strings.HasSuffix(name, ".eval")
}

// format returns the extension of a file that says how to read it, .gz set aside.
func format(path string) string {
	extension := strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz")))
	if extension == ".ndjson" {
		return ".jsonl"
	}
	return extension
}

// baseName returns the file's name without extensions, such as greeting for greeting.eval.yaml.
func baseName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	name = strings.TrimSuffix(name, filepath.Ext(name))
	for _, suffix := range []string{".eval", ".suite"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// open returns the file's content, unpacked if it ends in .gz.
func open(files source.Files, path string) (io.ReadCloser, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, plainError(err)
	}
	if !strings.HasSuffix(path, ".gz") {
		return f, nil
	}
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s is not a gzip file", path), f.Close())
	}
	return files.Unpacked(&gzipFile{unpacked, f}), nil
}

type gzipFile struct {
	*gzip.Reader
	file *os.File
}

func (g *gzipFile) Close() error { return errors.Join(g.Reader.Close(), g.file.Close()) }

// readBounded reads a whole file of at most that many bytes.
func readBounded(files source.Files, path string, most int64) ([]byte, error) {
	f, err := open(files, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	var data bytes.Buffer
	if file, ok := f.(*os.File); ok {
		if info, err := file.Stat(); err == nil { // room for the whole file at once, rather than copies that grow
			data.Grow(int(min(info.Size(), most)) + bytes.MinRead)
		}
	}
	if _, err := data.ReadFrom(io.LimitReader(f, most+1)); err != nil {
		return nil, plainError(err)
	}
	if int64(data.Len()) > most {
		return nil, fmt.Errorf("%s is larger than %d MB", path, most>>20)
	}
	return data.Bytes(), nil
}

// testsKey is the key of the list of tests in every dialect.
const testsKey = "tests"

// maxCommas bounds the values of a JSON file, since a value takes much more memory than its text.
const maxCommas = 4_000_000

// parse reads one document by its file's extension and takes its list of tests out. A .json file that is not JSON is
// read as YAML, which allows comments for example; if it is not YAML either, the problem is that of JSON.
func parse(files source.Files, file string, data []byte) (root source.Value, tests source.Packed, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if format(file) != ".json" || len(bytes.TrimSpace(data)) == 0 {
		return files.ParseYAMLList(file, data, testsKey)
	}
	if bytes.Count(data, []byte(",")) > maxCommas {
		return source.Value{}, source.Packed{}, source.Problems{{
			File: file, Message: fmt.Sprintf("the file has more than %d values", maxCommas),
			Hint: "split it, or keep the tests in a .jsonl file",
		}}
	}
	v, err := files.ParseJSON(file, data, 1)
	if err == nil {
		root, tests = source.PackList(v, testsKey)
		return root, tests, nil
	}
	if root, tests, err := files.ParseYAMLList(file, data, testsKey); err == nil {
		return root, tests, nil
	}
	if problems, ok := Problems(err); ok {
		problems[0].Hint = "check the quotes, commas and brackets here"
	}
	return source.Value{}, source.Packed{}, err
}

// plainError returns a file's error without the name of the system call: "x: no such file or directory".
func plainError(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", pathError.Path, pathError.Err)
	}
	return err
}

// listTests returns the files with tests that path names: itself, a folder's, or a glob's, in order of name.
func listTests(files source.Files, path string) ([]string, error) {
	if info, err := files.Stat(path); err == nil && !info.IsDir() {
		return []string{path}, nil
	} else if err == nil {
		path = filepath.Join(path, "*")
	}
	matches, err := files.Glob(path)
	if err != nil {
		return nil, fmt.Errorf("bad pattern %s: %w", path, err)
	}
	matches = slices.DeleteFunc(matches, func(name string) bool { return !readable(format(name)) })
	if len(matches) == 0 {
		return nil, fmt.Errorf("no file matches %s", path)
	}
	return matches, nil
}

func readable(extension string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl", ".csv"}, extension)
}
