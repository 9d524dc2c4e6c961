package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseJSON parses one JSON value that starts on the given line of the file, as a line of a JSON Lines file does.
// Columns count bytes. The error is a Problems with one entry.
func ParseJSON(file string, data []byte, line int) (Value, error) {
	if _, column, broken := notUTF8(data); broken {
		return Value{}, Problems{{
			File: file, Line: line, Column: column, Message: "the line is not UTF-8 text",
			Hint: "save the file as UTF-8",
		}}
	}
	p := jsonParser{dec: jsonDecoders.Get().(*jsontext.Decoder), data: data, line: line}
	defer jsonDecoders.Put(p.dec)
	p.dec.Reset(bytes.NewBuffer(data), jsontext.AllowInvalidUTF8(true)) // half a surrogate pair, escaped
	v := Value{}
	t, err := p.token()
	if err == nil {
		v, err = p.value(t)
	}
	if rest := bytes.TrimLeft(data[p.dec.InputOffset():], jsonSpace); err == nil && len(rest) > 0 {
		p.start, err = len(data)-len(rest), errors.New("something follows the value")
	}
	if err != nil {
		offset, message := jsonFault(data, p.start, err)
		before := data[:offset]
		return Value{}, Problems{{
			File: file, Line: line + bytes.Count(before, []byte("\n")),
			Column:  offset - bytes.LastIndexByte(before, '\n'),
			Message: "not valid JSON: " + message, Hint: "each line must be one complete JSON object",
		}}
	}
	return v, nil
}

// ParseJSON is ParseJSON for a document of these files.
func (f Files) ParseJSON(file string, data []byte, line int) (Value, error) {
	if f.allowance == nil {
		return ParseJSON(file, data, line)
	}
	rows, nodes := rowsOf(file), JSONNodes(data)
	if nodes > f.allowance.most(rows, line) {
		return Value{}, f.allowance.refuse(file, line)
	}
	v, err := ParseJSON(file, data, line)
	if err != nil {
		line = 0 // it counts as read again: the caller may read it in another way
	}
	if err := f.allowance.take(rows, line, nodes); err != nil {
		return Value{}, err
	}
	return v, err
}

// JSONNodes counts the scalars, lists, mappings and keys of JSON text without reading it. It takes no memory.
func JSONNodes(data []byte) (nodes int) {
	inWord := false
	for i := 0; i < len(data); i++ {
		switch b := data[i]; b {
		case '"':
			nodes++
			inWord = false
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			nodes++
			inWord = false
		case '}', ']', ',', ':', ' ', '\t', '\r', '\n':
			inWord = false
		default: // of a number, true, false or null
			if !inWord {
				nodes++
			}
			inWord = true
		}
	}
	return nodes
}

// jsonSpace is the white space of JSON.
const jsonSpace = " \t\r\n"

// jsonDecoders are decoders of earlier texts, whose stacks are used again.
var jsonDecoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

type jsonParser struct {
	dec  *jsontext.Decoder
	data []byte
	// start is the offset of the last token, and lineStart that of its line.
	start, line, lineStart int
}

// token reads the next token. Each token is read here, so that no end of a line is missed.
func (p *jsonParser) token() (jsontext.Token, error) {
	p.start = int(p.dec.InputOffset())
separators:
	for ; p.start < len(p.data); p.start++ {
		switch p.data[p.start] {
		case '\n':
			p.line, p.lineStart = p.line+1, p.start+1
		case ' ', '\t', '\r', ',', ':':
		default:
			break separators
		}
	}
	depth := p.dec.StackDepth()
	t, err := p.dec.ReadToken()
	if err == nil && depth > maxDepth && t.Kind() != ']' && t.Kind() != '}' {
		err = fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	return t, err
}

// value returns the value that starts with a token.
func (p *jsonParser) value(t jsontext.Token) (v Value, err error) {
	v.Line, v.Column = p.line, p.start-p.lineStart+1
	switch t.Kind() {
	case 't', 'f':
		v.Kind, v.Scalar = Bool, t.String()
	case '0':
		v.Kind, v.Scalar = Number, t.String()
	case '"':
		v.Kind, v.Scalar = String, p.text(t)
	case '[':
		v.Kind = List
		v.Items, err = p.items()
	case '{':
		v.Kind = Map
		v.Fields, err = p.fields()
	}
	return v, err
}

func (p *jsonParser) items() ([]Value, error) {
	var few [8]Value // on the stack: the list is made once, as long as it is
	items := few[:0]
	for {
		t, err := p.token()
		if err != nil || t.Kind() == ']' {
			return append([]Value{}, items...), err
		}
		item, err := p.value(t)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

func (p *jsonParser) fields() ([]Field, error) {
	var few [8]Field
	fields := few[:0]
	for {
		t, err := p.token()
		if err != nil || t.Kind() == '}' {
			return append([]Field{}, fields...), err
		}
		f := Field{Name: p.text(t), Line: p.line, Column: p.start - p.lineStart + 1}
		if t, err = p.token(); err == nil {
			f.Value, err = p.value(t)
		}
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
}

// text returns the text of a string, which was read last.
func (p *jsonParser) text(t jsontext.Token) string {
	if raw := p.data[p.start+1 : p.dec.InputOffset()-1]; bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	return t.String()
}

// jsonFault returns the offset of a fault, and what is wrong, in the words of encoding/json. The token that was read
// last begins at start.
func jsonFault(data []byte, start int, err error) (offset int, message string) {
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case ok && syntactic.Err == jsontext.ErrDuplicateName:
		return start, fmt.Sprintf("the key %q is written twice", syntactic.JSONPointer.LastToken())
	case ok:
		err = cmp.Or(json.NewDecoder(bytes.NewReader(data)).Decode(new(json.RawMessage)), err)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return int(syntax.Offset) - 1, err.Error()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return min(start, len(bytes.TrimRight(data, jsonSpace))), "it ends in the middle"
	}
	return start, err.Error()
}
