package source

import (
	"encoding/binary"
	"iter"
)

// Packed is a list of values in a form about as large as their text. As values they take five times as much.
// The zero value is an empty list. A Packed is never changed, so goroutines may share it.
type Packed struct {
	parts []packedPart
	// shared are values that are kept as they are, since they have parts in common.
	shared []Value
}

// packedPart is a run of values, one behind the other.
type packedPart struct {
	text  string
	count int
}

// Pack returns the values packed.
func Pack(values []Value) Packed {
	if len(values) == 0 {
		return Packed{}
	}
	return Packed{parts: []packedPart{packPart(values)}}
}

// Len returns the number of values.
func (p Packed) Len() int {
	n := len(p.shared)
	for _, part := range p.parts {
		n += part.count
	}
	return n
}

// Within reports whether the list takes at most that number of bytes. A list whose values have parts in common does
// not.
func (p Packed) Within(bytes int) bool {
	for _, part := range p.parts {
		bytes -= len(part.text)
	}
	return bytes >= 0 && len(p.shared) == 0
}

// All yields the values in order, each made anew.
func (p Packed) All() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for _, part := range p.parts {
			u := unpacker{rest: part.text}
			for range part.count {
				if !yield(u.value()) {
					return
				}
			}
		}
		for _, v := range p.shared {
			if !yield(v) {
				return
			}
		}
	}
}

func packPart(values []Value) packedPart {
	p := packer{}
	for _, v := range values {
		p.value(v)
	}
	return packedPart{string(p.text), len(values)}
}

// packer writes values: their kind, their place and what they hold. A line is written as its distance from the one
// before.
type packer struct {
	text []byte
	line int
}

func (p *packer) value(v Value) {
	p.text = append(p.text, byte(v.Kind))
	p.place(v.Line, v.Column)
	switch v.Kind {
	case Bool, Number, String:
		p.string(v.Scalar)
	case List:
		p.text = binary.AppendUvarint(p.text, uint64(len(v.Items)))
		for _, item := range v.Items {
			p.value(item)
		}
	case Map:
		p.text = binary.AppendUvarint(p.text, uint64(len(v.Fields)))
		for _, f := range v.Fields {
			p.string(f.Name)
			p.place(f.Line, f.Column)
			p.value(f.Value)
		}
	}
}

func (p *packer) place(line, column int) {
	p.text = binary.AppendVarint(p.text, int64(line-p.line))
	p.text = binary.AppendUvarint(p.text, uint64(column))
	p.line = line
}

func (p *packer) string(s string) {
	p.text = binary.AppendUvarint(p.text, uint64(len(s)))
	p.text = append(p.text, s...)
}

// unpacker reads what a packer wrote. Texts stay parts of what is read.
type unpacker struct {
	rest string
	line int
}

func (u *unpacker) value() Value {
	v := Value{Kind: Kind(u.rest[0])}
	u.rest = u.rest[1:]
	v.Line, v.Column = u.place()
	switch v.Kind {
	case Bool, Number, String:
		v.Scalar = u.string()
	case List:
		v.Items = make([]Value, u.number())
		for i := range v.Items {
			v.Items[i] = u.value()
		}
	case Map:
		v.Fields = make([]Field, u.number())
		for i := range v.Fields {
			f := &v.Fields[i]
			f.Name = u.string()
			f.Line, f.Column = u.place()
			f.Value = u.value()
		}
	}
	return v
}

func (u *unpacker) place() (line, column int) {
	distance := u.number()
	u.line += int(distance>>1) ^ -int(distance&1) // as binary.AppendVarint writes a sign
	return u.line, int(u.number())
}

func (u *unpacker) string() string {
	n := u.number()
	s := u.rest[:n]
	u.rest = u.rest[n:]
	return s
}

func (u *unpacker) number() uint64 {
	var n uint64
	for shift := 0; ; shift += 7 {
		b := u.rest[0]
		u.rest = u.rest[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}
