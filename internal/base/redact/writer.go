package redact

import (
	"io"
	"sync"
)

// Writer passes on what it is given, without secrets, also one that is spread over several writes: what may be the
// beginning of a secret waits for the next write, or for Flush. It is safe for concurrent use.
type Writer struct {
	to       io.Writer
	redactor *Redactor

	mu      sync.Mutex
	waiting []byte
}

// Writer returns a writer to w.
func (r *Redactor) Writer(w io.Writer) *Writer { return &Writer{to: w, redactor: r} }

// Write passes data on. Data that is a whole JSON object or list stays one.
func (w *Writer) Write(data []byte) (int, error) {
	if w.redactor == nil {
		return w.to.Write(data)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.redactor.found.Load()
	if len(w.waiting) == 0 && len(data) > 0 && (data[0] == '{' || data[0] == '[') {
		if masked, ok := maskJSON(f, data); ok && (len(masked) != len(data) || isJSON(data)) {
			_, err := w.to.Write(masked)
			return done(len(data), err)
		}
	}
	all := append(w.waiting, data...)
	spans, open := search(f, all)
	for i := len(spans) - 1; i >= 0 && spans[i].to >= open; i-- { // a longer match may still come
		open, spans = min(open, spans[i].from), spans[:i]
	}
	w.waiting = append([]byte(nil), all[open:]...)
	_, err := w.to.Write(mask(f, all[:open], spans))
	return done(len(data), err)
}

func done(n int, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Flush passes on what waits.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return nil
	}
	rest := w.redactor.Text(string(w.waiting))
	w.waiting = nil
	_, err := io.WriteString(w.to, rest)
	return err
}
