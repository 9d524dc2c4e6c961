package langfuse

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
)

// request is one call of the API.
type request struct {
	// what says in errors what was to be done.
	what   string
	method string
	// path has the segments below /api/public, unescaped.
	path   []string
	query  url.Values
	header http.Header
	body   []byte
	// retry allows to send it once more when the server may have carried it out.
	retry bool
}

func (c *Client) build(ctx context.Context, r request) (*http.Request, error) {
	path, err := escape(r.path)
	if err != nil {
		return nil, c.invalid(r.what, "%s", err)
	}
	address := c.base + "/api/public" + path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(r.body))
	if err != nil {
		return nil, c.invalid(r.what, "the address cannot be asked: check %s", HostEnv)
	}
	maps.Copy(req.Header, r.header)
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "rehearse")
	req.Header.Set("Authorization", c.auth)
	return req, nil
}

// maxName is the longest name or id that is asked for or taken, in bytes.
const maxName = 1000

// escape writes the segments of a path; names of datasets and prompts may hold slashes and blanks. Dots alone would be read as steps
// through the path by whatever stands between.
func escape(segments []string) (string, error) {
	var path strings.Builder
	for _, s := range segments {
		if s == "" || s == "." || s == ".." || len(s) > maxName {
			return "", errors.New("an empty name, one of dots only, or one of more than 1000 bytes: give another one")
		}
		path.WriteString("/" + url.PathEscape(s))
	}
	return path.String(), nil
}
