package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

func (e *endpoint) read(ctx context.Context, res *http.Response) ([]byte, error) {
	data, err := readAll(res)
	if err == nil && cutSilently(res, data) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, e.broken(ctx, err)
	}
	return data, nil
}

// broken is the error of an answer that could not be read to its end.
func (e *endpoint) broken(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errTooLarge), errors.Is(err, errEventTooLarge):
		return e.malformed(err)
	}
	return e.unreachable(err)
}

// readAll reads a body. One that is announced as too large is not read at all, and one of known length needs no second
// buffer.
func readAll(res *http.Response) ([]byte, error) {
	switch n := res.ContentLength; {
	case n > maxBody:
		return nil, errTooLarge
	case n >= 0:
		data := make([]byte, n)
		_, err := io.ReadFull(res.Body, data)
		return data, err
	}
	return io.ReadAll(res.Body)
}

// cutSilently reports whether a body that only the end of the connection delimits stops inside of its JSON.
func cutSilently(res *http.Response, data []byte) bool {
	if res.ContentLength >= 0 || len(res.TransferEncoding) > 0 {
		return false
	}
	err := json.NewDecoder(bytes.NewReader(data)).Decode(new(json.RawMessage))
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
