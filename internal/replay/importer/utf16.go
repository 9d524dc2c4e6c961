package importer

import (
	"bufio"

	"golang.org/x/text/encoding/unicode"
)

// textOfInput reads a text that begins with the mark of UTF-16, as spreadsheets save it, as UTF-8. Any other one stays
// as it is.
func textOfInput(r *bufio.Reader) *bufio.Reader {
	begin, _ := r.Peek(2) // an error comes again when it is read
	if mark := string(begin); mark != "\xff\xfe" && mark != "\xfe\xff" {
		return r
	}
	return bufio.NewReaderSize(unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Reader(r), r.Size())
}
