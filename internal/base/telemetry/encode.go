package telemetry

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// message is a protobuf message that is being written: fields one after the other. The field numbers are those of
// https://github.com/open-telemetry/opentelemetry-proto (opentelemetry/proto/trace/v1/trace.proto).
type message []byte

// The wire types of protobuf.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

func (m message) tag(field, wire int) message {
	return binary.AppendUvarint(m, uint64(field)<<3|uint64(wire))
}

func (m message) bytes(field int, data []byte) message {
	m = binary.AppendUvarint(m.tag(field, wireBytes), uint64(len(data)))
	return append(m, data...)
}

func (m message) text(field int, text string) message {
	if text == "" {
		return m
	}
	m = binary.AppendUvarint(m.tag(field, wireBytes), uint64(len(text)))
	return append(m, text...)
}

func (m message) number(field int, n int64) message {
	return binary.AppendUvarint(m.tag(field, wireVarint), uint64(n))
}

func (m message) time(field int, t time.Time) message {
	return binary.LittleEndian.AppendUint64(m.tag(field, wireFixed64), uint64(t.UnixNano()))
}

func (m message) attributes(field int, attributes []trace.Attribute) message {
	for _, a := range attributes {
		if value := encodeValue(a.Value); value != nil {
			m = m.bytes(field, message(nil).text(1, a.Key).bytes(2, value))
		}
	}
	return m
}

// encodeValue returns an AnyValue; nil for a value of another type than an attribute has.
func encodeValue(value any) message {
	switch v := value.(type) {
	case string:
		return message(nil).bytes(1, []byte(v)) // also an empty one
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		return message(nil).number(2, n)
	case int:
		return message(nil).number(3, int64(v))
	case float64:
		return binary.LittleEndian.AppendUint64(message(nil).tag(4, wireFixed64), math.Float64bits(v))
	}
	return nil
}

// statusError is STATUS_CODE_ERROR.
const statusError = 2

// sampled is the flag of a span that is kept, as in a traceparent.
const sampled = 1

// encodeSpan returns a Span as a field of ScopeSpans.
func encodeSpan(s *trace.Span) []byte {
	m := make(message, 0, 512).bytes(1, s.IDs.Trace[:]).bytes(2, s.IDs.Span[:])
	if s.Parent != [8]byte{} {
		m = m.bytes(4, s.Parent[:])
	}
	m = m.text(5, s.Name).number(6, int64(s.Kind)).time(7, s.Start).time(8, s.End).attributes(9, s.Attributes)
	for _, e := range s.Events {
		m = m.bytes(11, message(nil).time(1, e.At).text(2, e.Name).attributes(3, e.Attributes))
	}
	for _, link := range s.Links {
		m = m.bytes(13, message(nil).bytes(1, link.Trace[:]).bytes(2, link.Span[:]))
	}
	if s.Failed {
		m = m.bytes(15, message(nil).text(2, s.Message).number(3, statusError))
	}
	m = binary.LittleEndian.AppendUint32(m.tag(16, wireFixed32), sampled)
	return message(nil).bytes(2, m)
}

// encodeRequest returns an ExportTraceServiceRequest of encoded spans.
func encodeRequest(resource []trace.Attribute, version string, spans [][]byte) []byte {
	scope := message(nil).bytes(1, message(nil).text(1, "rehearse").text(2, version))
	for _, s := range spans {
		scope = append(scope, s...)
	}
	of := message(nil).bytes(1, message(nil).attributes(1, resource)).bytes(2, scope)
	return message(nil).bytes(1, of)
}

// rejected reads how many spans an ExportTraceServiceResponse says were not taken. An answer that cannot be read rejects none.
func rejected(answer []byte) int {
	partial, _ := field(answer, 1, wireBytes)
	_, n := field(partial, 1, wireVarint)
	if n > math.MaxInt32 {
		return 0
	}
	return int(n)
}

// field finds a field of a message: the bytes or the number in it.
func field(data []byte, number, wire int) ([]byte, uint64) {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, 0
		}
		data = data[n:]
		value, n := binary.Uvarint(data)
		found := tag == uint64(number)<<3|uint64(wire)
		switch tag & 7 {
		case wireVarint:
			if n <= 0 || found {
				return nil, value
			}
			data = data[n:]
		case wireBytes:
			if n <= 0 || value > uint64(len(data)-n) {
				return nil, 0
			}
			if found {
				return data[n : n+int(value)], 0
			}
			data = data[n+int(value):]
		default:
			return nil, 0
		}
	}
	return nil, 0
}
