package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	// maxRecord bounds the bytes of one record.
	maxRecord = 16 << 20
	// maxPooled bounds the buffers that are kept to be used again.
	maxPooled = 64 << 10
)

// encode fills in what a record stores: the fields of the state, and what the writes have added to its lists. Both are
// encoded once, so that a turn costs what it changes, however long the conversation is.
func (s *schema[S]) encode(r *Record, state *S, writes Update[S]) error {
	var err error
	if r.Values, err = s.encodeValues(state); err != nil {
		return err
	}
	if r.Appended, err = s.encodeAdded(writes); err != nil {
		return err
	}
	if size := len(r.Values) + len(r.Appended); size > maxRecord {
		return fmt.Errorf(
			"the state takes %d bytes, more than the %d that a checkpoint may have: keep large values elsewhere", size,
			maxRecord)
	}
	return nil
}

func (s *schema[S]) encodeValues(state *S) ([]byte, error) {
	o := newObject()
	for _, c := range s.columns {
		if a := c.about(); !a.hidden && !a.grows() {
			o.name(a.quoted)
			if err := o.value(c.bind(state)); err != nil {
				return nil, fmt.Errorf("field %q cannot be stored: %w", a.name, err)
			}
		}
	}
	return o.end(), nil
}

// encodeAdded returns what an update adds to lists, as an object of arrays. A list from which the update also takes
// something stands under the empty name with each of its writes.
func (s *schema[S]) encodeAdded(writes Update[S]) ([]byte, error) {
	o := newObject()
	changed, err := s.encodeChanged(writes)
	if err != nil {
		return nil, err
	}
	if changed != nil {
		o.name([]byte(`""`))
		o.text.Write(changed)
	}
	for _, c := range s.growing {
		items, any, plain := c.gather(writes)
		if !any || !plain {
			continue
		}
		o.name(c.about().quoted)
		if err := o.value(items); err != nil {
			return nil, fmt.Errorf("field %q cannot be stored: %w", c.about().name, err)
		}
	}
	if o.names == 0 {
		return nil, nil
	}
	return o.end(), nil
}

// decode returns the state after a chain of records. Only the records after known are decoded. Fields that the state no
// longer has are ignored, so that a new version of a program can go on with old conversations.
func (s *schema[S]) decode(chain []Record, known recalled[S]) (recalled[S], error) {
	last := chain[len(chain)-1]
	if !known.leadsTo(chain) {
		known = recalled[S]{state: new(S)}
	}
	if known.records == len(chain) {
		return known, nil
	}
	state, err := s.decodeValues(last.Values, known)
	if err != nil {
		return known, fmt.Errorf("checkpoint %s: its values: %w", last.ID, err)
	}
	next := recalled[S]{last: last, records: len(chain), bytes: known.bytes, state: state}
	next.last.Appended = nil
	var added *S // nil while nothing was
	for _, c := range s.growing {
		c.take(next.state, known.state)
	}
	flush := func() {
		if added == nil {
			return
		}
		for _, c := range s.growing {
			c.extend(next.state, added)
		}
		added = nil
	}
	for _, r := range chain[known.records:] {
		if added, err = s.decodeAdded(r, added); err != nil {
			return known, err
		}
		if bytes.HasPrefix(r.Appended, changedPrefix) {
			flush() // no list of this record is both in added and changed
			if err := s.change(r, next.state); err != nil {
				return known, err
			}
		}
		next.bytes += len(r.Appended)
	}
	flush()
	return next, nil
}

// decodeAdded returns added with the list items of a record behind it.
func (s *schema[S]) decodeAdded(r Record, added *S) (*S, error) {
	if len(r.Appended) == 0 {
		return added, nil
	}
	items := new(S)
	if err := json.Unmarshal(r.Appended, items); err != nil {
		return nil, fmt.Errorf("checkpoint %s: what it appends: %w", r.ID, err)
	}
	if added == nil {
		return items, nil
	}
	for _, c := range s.growing {
		c.collect(added, items)
	}
	return added, nil
}

// object writes a JSON object.
type object struct {
	text  bytes.Buffer
	json  *json.Encoder
	names int
}

// objects are unused ones.
var objects = sync.Pool{New: func() any {
	o := &object{}
	o.json = json.NewEncoder(&o.text)
	o.json.SetEscapeHTML(false)
	return o
}}

func newObject() *object {
	o := objects.Get().(*object)
	o.text.Reset()
	o.text.WriteByte('{')
	o.names = 0
	return o
}

func (o *object) name(quoted []byte) {
	if o.names++; o.names > 1 {
		o.text.WriteByte(',')
	}
	o.text.Write(quoted)
	o.text.WriteByte(':')
}

func (o *object) value(v any) error {
	err := o.json.Encode(v)
	o.text.Truncate(o.text.Len() - 1) // the encoder ends with a line break
	return err
}

// end returns the object, which must not be written to any more.
func (o *object) end() []byte {
	o.text.WriteByte('}')
	text := bytes.Clone(o.text.Bytes())
	if o.text.Cap() <= maxPooled {
		objects.Put(o)
	}
	return text
}

// parse reads an update from a JSON object of fields. Unknown and repeated names are errors, at any depth.
func (s *schema[S]) parse(data []byte) (Update[S], error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("an update is a JSON object of fields, not %.40q", data)
	}
	var u Update[S]
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := key.(string) // the decoder lets nothing else stand for a key
		c, known := s.byName[name]
		switch {
		case !known:
			return nil, fmt.Errorf("unknown field %q (%s)", name, knownNames(s.names))
		case seen[name]:
			return nil, fmt.Errorf("field %q is given twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("field %q: %w", name, err)
		}
		w, err := c.parse(value)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", name, err)
		}
		u = append(u, w)
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("the update does not end: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the update: give one JSON object")
	}
	return u, nil
}

// decodeStrictly reads a value and refuses fields that it does not have.
func decodeStrictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%scannot store a JSON %s in a %s", prefix(typed.Field), typed.Value, typed.Type)
	}
	return err
}

func prefix(field string) string {
	if field == "" {
		return ""
	}
	return field + ": "
}
