package source

import "bytes"

// cutList is a YAML document whose long list has been cut into parts of whole elements, by looking at the lines alone.
// Whether the cuts are right shows when the parts are parsed: each must hold as many elements as it has dashes.
type cutList struct {
	data []byte
	// key is the entry of the document that holds the list; the document itself is the list when it is empty.
	key string
	// keyLine is the line of the key.
	keyLine int
	// indent is how many blanks stand before the dashes.
	indent int
	// parts are the pieces of the list. The last one reaches to the end of the document, with whatever stands behind
	// the list.
	parts []listPart
	// converter makes a converter for one of the pieces.
	converter func() *converter
}

// listPart is a run of whole elements.
type listPart struct {
	start, line int
	dashes      int
}

// cutYAML cuts a document into parts of about size bytes. It gives up (ok is false) on any text that it is not sure of.
func cutYAML(data []byte, key string, size int) (list *cutList, ok bool) {
	list = &cutList{data: data, key: key}
	at, line, found := list.findFirst()
	if !found {
		return nil, false
	}
	for ; at < len(data); line++ {
		text, next := lineAt(data, at)
		indent, rest := indentOf(text)
		switch {
		case len(rest) == 0 || indent > list.indent: // an empty line, or one within an element
		case rest[0] == '#': // a comment between elements
		case indent == list.indent && isDash(rest):
			if last := len(list.parts) - 1; last < 0 || at-list.parts[last].start >= size {
				list.parts = append(list.parts, listPart{start: at, line: line})
			}
			list.parts[len(list.parts)-1].dashes++
		case rest[0] == '\t': // the parser decides what a tab is
			return nil, false
		default: // behind the list
			return list, len(list.parts) > 1
		}
		at = next
	}
	return list, len(list.parts) > 1
}

// findFirst finds the line of the first dash. Only comments and empty lines may stand between the key and the dash.
func (l *cutList) findFirst() (at, line int, ok bool) {
	line = 1
	inList := l.key == ""
	for at < len(l.data) {
		text, next := lineAt(l.data, at)
		indent, rest := indentOf(text)
		switch {
		case len(rest) == 0 || rest[0] == '#':
		case inList && isDash(rest):
			l.indent = indent
			return at, line, true
		case l.key != "" && indent == 0 && isKeyLine(rest, l.key):
			inList, l.keyLine = true, line
		case l.key == "" && bytes.Equal(rest, []byte("---")):
		case inList:
			return 0, 0, false
		}
		at = next
		line++
	}
	return 0, 0, false
}

// lineAt returns the line that starts at an offset without its end, and where the next one starts.
func lineAt(data []byte, at int) (text []byte, next int) {
	end := bytes.IndexByte(data[at:], '\n')
	if end < 0 {
		return data[at:], len(data)
	}
	return bytes.TrimSuffix(data[at:at+end], []byte("\r")), at + end + 1
}

// indentOf returns how many blanks a line starts with and what stands behind them, without blanks at its end.
func indentOf(line []byte) (indent int, rest []byte) {
	rest = bytes.TrimLeft(line, " ")
	return len(line) - len(rest), bytes.TrimRight(rest, " ")
}

func isDash(rest []byte) bool {
	return rest[0] == '-' && (len(rest) == 1 || rest[1] == ' ')
}

// isKeyLine reports whether a line holds the key of a value that starts on a later line.
func isKeyLine(rest []byte, key string) bool {
	after, ok := bytes.CutPrefix(rest, []byte(key+":"))
	return ok && (len(after) == 0 || after[0] == ' ' && bytes.HasPrefix(bytes.TrimLeft(after, " "), []byte("#")))
}
