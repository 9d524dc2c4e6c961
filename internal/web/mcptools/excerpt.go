package mcptools

import (
	"fmt"
	"strings"
)

// excerpt keeps the beginning and the end of what is written to it, max bytes together. It is not safe for concurrent
// use.
type excerpt struct {
	max        int
	head, tail []byte
	written    int
}

// Write never fails.
func (e *excerpt) Write(data []byte) (int, error) {
	n := len(data)
	e.written += n
	if room := e.max/2 - len(e.head); room > 0 {
		room = min(room, len(data))
		e.head, data = append(e.head, data[:room]...), data[room:]
	}
	end := e.max - e.max/2
	if len(data) > end {
		data = data[len(data)-end:]
	}
	if over := len(e.tail) + len(data) - end; over > 0 {
		e.tail = append(e.tail[:0], e.tail[over:]...)
	}
	e.tail = append(e.tail, data...)
	return n, nil
}

// leftOut returns how many bytes were not kept.
func (e *excerpt) leftOut() int { return e.written - len(e.head) - len(e.tail) }

// String returns what was kept. Where something was left out, a line says how much. A character that was cut has no
// rest.
func (e *excerpt) String() string {
	if e.leftOut() == 0 {
		return strings.ToValidUTF8(string(e.head)+string(e.tail), "\uFFFD")
	}
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s",
		strings.ToValidUTF8(string(e.head), ""), e.leftOut(), strings.ToValidUTF8(string(e.tail), ""))
}
