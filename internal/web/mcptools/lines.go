package mcptools

import "bytes"

// maxLine bounds a line that is told, in bytes.
const maxLine = 1 << 10

// lines tells each line that is written to it, or as much of it as fits. It is not safe for concurrent use.
type lines struct {
	tell func(line string)
	line []byte
}

// Write never fails.
func (l *lines) Write(data []byte) (int, error) {
	n := len(data)
	for len(data) > 0 {
		part, rest, ended := bytes.Cut(data, []byte("\n"))
		l.line = append(l.line, part[:min(len(part), maxLine-len(l.line))]...)
		if data = rest; !ended {
			break
		}
		if len(l.line) > 0 {
			l.tell(string(bytes.ToValidUTF8(l.line, nil)))
		}
		l.line = l.line[:0]
	}
	return n, nil
}
