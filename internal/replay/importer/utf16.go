package importer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// textOfInput reads a text that begins with the mark of UTF-16, as spreadsheets save it, as UTF-8. Any other one stays as it is.
func textOfInput(r *bufio.Reader) *bufio.Reader {
	begin, _ := r.Peek(2) // an error comes again when it is read
	if len(begin) < 2 {
		return r
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if order.Uint16(begin) == '\ufeff' {
			_, _ = r.Discard(2) // which is buffered
			return bufio.NewReaderSize(&utf16Reader{from: r, order: order}, r.Size())
		}
	}
	return r
}

// utf16Reader makes UTF-8 of UTF-16. What is no letter becomes the sign for it.
type utf16Reader struct {
	from  *bufio.Reader
	order binary.ByteOrder
	// left is what did not fit, kept the unit that was read behind half of a letter; 0 is none.
	left []byte
	kept uint16
	buf  [utf8.UTFMax]byte
}

func (u *utf16Reader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(u.left) == 0 {
			var letter rune
			if letter, err = u.next(); err != nil {
				break
			}
			u.left = utf8.AppendRune(u.buf[:0], letter)
		}
		copied := copy(p[n:], u.left)
		u.left, n = u.left[copied:], n+copied
	}
	if n > 0 {
		err = nil // it comes again
	}
	return n, err
}

// next returns the next letter.
func (u *utf16Reader) next() (rune, error) {
	first, err := u.unit()
	if err != nil || !utf16.IsSurrogate(rune(first)) {
		return rune(first), err
	}
	second, err := u.unit()
	if errors.Is(err, io.EOF) {
		return utf8.RuneError, nil
	}
	letter := utf16.DecodeRune(rune(first), rune(second))
	if letter == utf8.RuneError {
		u.kept = second
	}
	return letter, err
}

// unit returns the next unit of two bytes. A last byte by itself is none.
func (u *utf16Reader) unit() (uint16, error) {
	if kept := u.kept; kept != 0 {
		u.kept = 0
		return kept, nil
	}
	var two [2]byte
	if _, err := io.ReadFull(u.from, two[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		return 0, err
	}
	return u.order.Uint16(two[:]), nil
}
