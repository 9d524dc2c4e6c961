package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// resultView is a result as the API shows it: the record, and where it stands.
type resultView struct{ store.Result }

// MarshalJSON puts id, seq and worker before the fields of the record.
func (v resultView) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(struct {
		ID     string `json:"id"`
		Seq    int64  `json:"seq"`
		Worker string `json:"worker"`
	}{v.ID, v.Seq, v.Worker})
	record := bytes.TrimSpace(v.Record)
	if err != nil || len(record) < 2 || record[0] != '{' {
		return head, err
	}
	if rest := bytes.TrimSpace(record[1:]); rest[0] != '}' {
		head = append(head[:len(head)-1], ',')
		return append(head, rest...), nil
	}
	return head, nil
}

func resultFilter(r *http.Request) (filter store.ResultFilter, page store.PageOf, err error) {
	q := query{r.URL.Query(), nil}
	filter = store.ResultFilter{
		Verdict: oneOf(&q, "verdict", result.Verdicts...), Code: result.Code(q.text("code")), Suite: q.text("suite"),
		TestID: q.text("test_id"), Target: q.text("target"), Trial: q.number("trial"), Text: q.text("q"),
	}
	page, err = q.page("verdict", "code", "suite", "test_id", "target", "trial", "q")
	return filter, page, err
}

// results answers with a page of results, or with all of them as JSON Lines.
func (s *Runs) results(w http.ResponseWriter, r *http.Request) error {
	filter, page, err := resultFilter(r)
	if err != nil {
		return err
	}
	id := r.PathValue("run_id")
	if accepts(r, "application/x-ndjson") {
		return s.lines(w, r, id, filter)
	}
	found, err := s.Store.Results(r.Context(), id, filter, page)
	if err != nil {
		return err
	}
	shown := store.Page[resultView]{Items: make([]resultView, len(found.Items)), Next: found.Next}
	for i, one := range found.Items {
		shown.Items[i] = resultView{one}
	}
	writeBody(w, http.StatusOK, "application/json", shown)
	return nil
}

// lines answers with all results as they stand in results.jsonl. An answer that breaks off has no end: its connection
// is cut.
func (s *Runs) lines(w http.ResponseWriter, r *http.Request, id string, filter store.ResultFilter) error {
	begun := false
	for one, err := range s.Store.AllResults(r.Context(), id, filter) {
		if err != nil && !begun {
			return err
		}
		if err == nil {
			if !begun {
				w.Header().Set("Content-Type", "application/x-ndjson")
				begun = true
			}
			// fails for a recorder in a test
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
			_, err = w.Write(append(bytes.TrimSpace(one.Record), '\n'))
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	if !begun {
		if _, err := s.Store.Run(r.Context(), id); err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
	}
	return nil
}

func (s *Runs) result(w http.ResponseWriter, r *http.Request) error {
	found, err := s.Store.Result(r.Context(), r.PathValue("run_id"), r.PathValue("result_id"))
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", resultView{found})
	return nil
}

// runFiles are the files of a run that has ended, with their media types.
var runFiles = map[string]string{
	"results.jsonl": "application/x-ndjson", "run.json": "application/json", "report.html": "text/html; charset=utf-8",
	"report.md": "text/markdown; charset=utf-8", "junit.xml": "application/xml",
	"classification.json": "application/json", "report.json": "application/json",
}

// file answers with a file of a run that has ended.
func (s *Runs) file(w http.ResponseWriter, r *http.Request) error {
	id, name := r.PathValue("run_id"), r.PathValue("file")
	media, known := runFiles[name]
	run, err := s.Store.Run(r.Context(), id)
	if err != nil {
		return err
	}
	if !known || !run.Status.Ended() {
		return newProblem(http.StatusNotFound, codeNotFound, "the run has no such file, or has not ended",
			"its files are there when it has ended")
	}
	if name == "results.jsonl" {
		return s.lines(w, r, id, store.ResultFilter{})
	}
	dir, err := s.Leader.Files(r.Context(), run.ID)
	if err != nil {
		return err
	}
	file, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) { // that of a run of another kind, or of one that came to no figures
		return newProblem(http.StatusNotFound, codeNotFound, "the run has no such file",
			"results.jsonl and run.json are those of every run")
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:")
	http.ServeContent(w, r, "", info.ModTime(), file)
	return nil
}

// storedBlob is a stored file.
type storedBlob struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func (s *Runs) putBlob(w http.ResponseWriter, r *http.Request) error {
	body, err := readUpTo(w, r, maxBlobMB, "a file of a run has at most 64 MB")
	if err != nil {
		return err
	}
	created, err := s.Store.PutBlob(r.Context(), r.PathValue("sha256"), body)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	writeBody(w, status, "application/json", storedBlob{len(body), r.PathValue("sha256")})
	return nil
}

func (s *Runs) hasBlob(w http.ResponseWriter, r *http.Request) error {
	missing, err := s.Store.MissingBlobs(r.Context(), []string{r.PathValue("sha256")})
	if err != nil || len(missing) > 0 {
		w.WriteHeader(http.StatusNotFound) // the answer to HEAD has no body
	}
	return nil
}
