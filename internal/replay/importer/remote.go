package importer

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
)

// Traces are an input of traces of Langfuse that come from its API, an error of which ends the import.
func Traces(ctx context.Context, name string, traces iter.Seq2[json.RawMessage, error]) Input {
	return Input{Name: name, From: "langfuse", Open: func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() {
			out := bufio.NewWriterSize(w, 64<<10)
			for trace, err := range traces {
				if err == nil && ctx.Err() != nil {
					err = ctx.Err()
				}
				if err == nil {
					_, err = out.Write(append(trace, '\n'))
				}
				if err != nil {
					_ = w.CloseWithError(err)
					return
				}
			}
			_ = w.CloseWithError(out.Flush()) // nil ends it with io.EOF
		}()
		return r, nil
	}}
}
