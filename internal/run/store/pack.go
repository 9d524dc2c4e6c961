package store

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"sync"
)

// The first byte of packed bytes says how they are packed.
const (
	packedPlain = 0
	packedFlate = 1
)

// worthPacking is the number of bytes from which compression saves enough for its time: below it, packing takes longer
// than all else that storing does.
const worthPacking = 1 << 10

// packers are compressors that can be used again, as making one costs far more than a record takes.
type packers struct{ pool sync.Pool }

// pack compresses documents for the database.
func (p *packers) pack(data []byte) []byte {
	if len(data) < worthPacking {
		return append([]byte{packedPlain}, data...)
	}
	out := bytes.NewBuffer(make([]byte, 0, len(data)/2))
	out.WriteByte(packedFlate)
	w, _ := p.pool.Get().(*flate.Writer)
	if w == nil {
		w, _ = flate.NewWriter(out, flate.BestSpeed) // which fails for an unknown level only
	} else {
		w.Reset(out)
	}
	defer p.pool.Put(w)
	_, _ = w.Write(data) // into memory
	_ = w.Close()
	return out.Bytes()
}

// unpack returns what was packed.
func unpack(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return nil, errors.New("a document in the store is empty")
	}
	if data[0] == packedPlain {
		return data[1:], nil
	}
	return io.ReadAll(flate.NewReader(bytes.NewReader(data[1:])))
}
