package source

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// partBytes is the size of the parts in which a long list is parsed. The tree of a part takes about twenty times as
// much memory.
const partBytes = 8 << 10

// ParseYAMLList parses one document like ParseYAML and takes its long list out: the one under the key, or the document
// itself if it is a list. The root keeps the list's place, without its elements.
//
// A long list is parsed in parts on all cores, so that the parser's tree of the whole document, twenty times as large
// as the text, never exists. Values, places and problems are those of ParseYAML.
func (f Files) ParseYAMLList(file string, data []byte, key string) (root Value, list Packed, err error) {
	return f.parseYAMLList(file, data, key, partBytes)
}

func (f Files) parseYAMLList(file string, data []byte, key string, size int) (root Value, list Packed, err error) {
	if err := checkYAML(file, data); err != nil {
		return Value{}, Packed{}, err
	}
	for _, holder := range []string{key, ""} {
		if cut, ok := cutYAML(trimMark(data), holder, size); ok {
			cut.converter = func() *converter { return f.converter(file) }
			if root, list, nodes, ok := cut.parse(); ok {
				return root, list, f.take(file, nodes)
			}
		}
	}
	docs, c, err := f.parse(file, data)
	if root, err = oneDocument(file, docs, err); err != nil {
		return Value{}, Packed{}, err
	}
	root, items := extractList(root, key)
	if len(c.anchors) > 0 { // a text may stand in many places, each of which would take a copy
		return root, Packed{shared: items}, nil
	}
	return root, Pack(items), nil
}

// PackList takes the long list out of a document that was parsed otherwise, as ParseYAMLList does.
func PackList(document Value, key string) (root Value, list Packed) {
	root, items := extractList(document, key)
	return root, Pack(items)
}

func extractList(document Value, key string) (root Value, items []Value) {
	if document.Kind == List {
		items, document.Items = document.Items, nil
		return document, items
	}
	document.Fields = slices.Clone(document.Fields)
	for i := range document.Fields {
		if f := &document.Fields[i]; f.Name == key && f.Value.Kind == List {
			items, f.Value.Items = f.Value.Items, nil
		}
	}
	return document, items
}

// parse parses the parts. It gives up (ok is false) when one of them is not what the cuts promised, is faulty, or may
// depend on another.
func (l *cutList) parse() (root Value, list Packed, nodes int, ok bool) {
	last := len(l.parts) - 1
	root, items, nodes, ok := l.parseRest()
	if !ok {
		return Value{}, Packed{}, 0, false
	}
	most := int64(l.converter().most - nodes)
	list.parts = make([]packedPart, last, last+1)
	var next, total atomic.Int64
	var failed atomic.Bool
	var workers sync.WaitGroup
	for range min(last, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(last) && !failed.Load(); i = next.Add(1) - 1 {
				values, nodes, ok := l.parsePart(int(i))
				if !ok || total.Add(int64(nodes)) > most {
					failed.Store(true)
					return
				}
				list.parts[i] = packPart(values)
			}
		})
	}
	workers.Wait()
	if failed.Load() {
		return Value{}, Packed{}, 0, false
	}
	list.parts = append(list.parts, packPart(items))
	return root, list, nodes + int(total.Load()), true
}

// parseRest parses the document without all parts but the last.
func (l *cutList) parseRest() (root Value, items []Value, nodes int, ok bool) {
	first, last := l.parts[0], l.parts[len(l.parts)-1]
	c := l.converter()
	c.cutLine, c.moved = first.line-1, last.line-first.line
	docs, err := c.parse(bytes.Join([][]byte{l.data[:first.start], l.data[last.start:]}, nil))
	if err != nil || len(docs) != 1 || len(c.anchors) > 0 {
		return Value{}, nil, 0, false
	}
	root = docs[0]
	list := &root
	if l.key != "" {
		list = nil
		for i := range root.Fields {
			if f := &root.Fields[i]; f.Name == l.key && f.Line == l.keyLine && f.Column == 1 {
				list = &f.Value
			}
		}
	}
	if list == nil || list.Kind != List || list.Line != last.line || list.Column != l.indent+1 ||
		len(list.Items) != last.dashes {
		return Value{}, nil, 0, false
	}
	items, list.Items, list.Line = list.Items, nil, first.line
	return root, items, c.nodes, true
}

// parsePart parses one part but the last as a document of its own, under the same key and with an element behind it
// that ends it.
func (l *cutList) parsePart(i int) (items []Value, nodes int, ok bool) {
	part, next := l.parts[i], l.parts[i+1]
	var text bytes.Buffer
	text.Grow(next.start - part.start + len(l.key) + l.indent + 6)
	c := l.converter()
	c.moved = part.line - 1
	around := 2 // nodes that the file does not have: the list and the element behind
	if l.key != "" {
		text.WriteString(l.key + ":\n")
		c.moved--
		around += 2
	}
	text.Write(l.data[part.start:next.start])
	text.WriteString(strings.Repeat(" ", l.indent) + "- 0\n")
	docs, err := c.parse(text.Bytes())
	if err != nil || len(docs) != 1 || len(c.anchors) > 0 {
		return nil, 0, false
	}
	list := docs[0]
	if l.key != "" && len(list.Fields) == 1 {
		list = list.Fields[0].Value
	}
	if list.Kind != List || len(list.Items) != part.dashes+1 {
		return nil, 0, false
	}
	end := list.Items[part.dashes]
	if end.Kind != Number || end.Scalar != "0" || end.Line != next.line || end.Column != l.indent+3 {
		return nil, 0, false
	}
	return list.Items[:part.dashes], c.nodes - around, true
}
