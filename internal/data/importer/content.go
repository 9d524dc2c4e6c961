package importer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// content returns a content: a text, or blocks if there are files among them.
func (r *reader) content(v source.Value) any {
	isFile := func(block source.Value) bool {
		kind, _ := block.Get("type")
		value, _ := block.Get("value")
		return (kind.Scalar == "file" || kind.Scalar == "image") && value.Kind == source.String
	}
	if !slices.ContainsFunc(v.Items, isFile) {
		return r.contentText(v)
	}
	var blocks []any
	for _, block := range v.Items {
		if !isFile(block) {
			if text := r.contentText(source.Value{Kind: source.List, Items: []source.Value{block}}); text != "" {
				blocks = append(blocks, pairs{{"type", "text"}, {"value", text}})
			}
			continue
		}
		kind, _ := block.Get("type")
		value, _ := block.Get("value")
		if path, ok := r.fromSuite(value.Scalar); ok {
			blocks = append(blocks, pairs{{"type", kind.Scalar}, {"value", path}})
		} else {
			r.leave(block, "the file "+value.Scalar, "it is not there", "")
		}
	}
	return blocks
}

// fromSuite returns the path of a file that the one being read names, from the folder of the suite; ok is false for one
// that is not there.
func (r *reader) fromSuite(path string) (found string, ok bool) {
	info, err := os.Stat(r.beside(path))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxAttached {
		return "", false
	}
	if filepath.IsAbs(path) {
		return path, true
	}
	from, err := filepath.Rel(absolute(r.out), absolute(r.beside(path)))
	return filepath.ToSlash(from), err == nil
}

// maxAttached is the greatest size of a file that a suite may attach.
const maxAttached = 1 << 20

// contentText returns the text of a content: a text, or the texts among blocks.
func (r *reader) contentText(v source.Value) string {
	if v.Kind != source.List {
		if v.Kind == source.Map {
			return toJSON(v)
		}
		return v.Scalar
	}
	var said []string
	for _, block := range v.Items {
		text, isText := block.Get("text")
		if !isText {
			text, isText = block.Get("content")
		}
		kind, _ := block.Get("type")
		if !isText && kind.Scalar == "text" {
			text, isText = block.Get("value")
		}
		switch {
		case block.Kind == source.String:
			said = append(said, block.Scalar)
		case isText && text.Kind == source.String:
			said = append(said, text.Scalar)
		default:
			r.leave(block, "a part of a message of the type "+kind.Scalar, "messages are texts", "")
		}
	}
	return strings.Join(said, "\n")
}
