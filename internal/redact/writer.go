package redact

import "io"

// Writer returns a writer that passes on to w what it is given, without secrets. A secret that is spread over two writes is not found, so each
// write holds a whole record, such as a line of a log.
func (r *Redactor) Writer(w io.Writer) io.Writer { return writer{w, r} }

type writer struct {
	to      io.Writer
	secrets *Redactor
}

// Write writes a record without secrets.
func (w writer) Write(record []byte) (int, error) {
	if _, err := w.to.Write(w.secrets.Bytes(record)); err != nil {
		return 0, err
	}
	return len(record), nil
}
