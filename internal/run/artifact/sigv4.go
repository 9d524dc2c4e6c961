package artifact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// credentials sign requests to S3, by Signature Version 4:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
type credentials struct {
	id, secret string
	// session is the token of credentials that are lent; empty for others.
	session string
	region  string
}

const (
	algorithm = "AWS4-HMAC-SHA256"
	amzTime   = "20060102T150405Z"
)

// sign adds the time, the session and the signature to a request, whose other headers are set. payload is the SHA-256 of its body, in hexadecimal.
func (c credentials) sign(r *http.Request, payload string, now time.Time) {
	at := now.UTC().Format(amzTime)
	r.Header.Set("X-Amz-Date", at)
	if c.session != "" {
		r.Header.Set("X-Amz-Security-Token", c.session)
	}
	request, signed := canonical(r, payload)
	scope := at[:8] + "/" + c.region + "/s3/aws4_request"
	sum := sha256.Sum256([]byte(request))
	toSign := algorithm + "\n" + at + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	key := []byte("AWS4" + c.secret)
	for _, part := range []string{at[:8], c.region, "s3", "aws4_request"} {
		key = keyed(key, part)
	}
	r.Header.Set("Authorization", algorithm+" Credential="+c.id+"/"+scope+", SignedHeaders="+signed+", Signature="+hex.EncodeToString(keyed(key, toSign)))
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonical returns a request in the one form that is signed, and the names of its headers.
func canonical(r *http.Request, payload string) (request, signed string) {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	values := map[string]string{"host": host}
	for name, all := range r.Header {
		trimmed := make([]string, len(all))
		for i, value := range all {
			trimmed[i] = strings.Join(strings.Fields(value), " ")
		}
		values[strings.ToLower(name)] = strings.Join(trimmed, ",")
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var headers strings.Builder
	for _, name := range names {
		headers.WriteString(name + ":" + values[name] + "\n")
	}
	signed = strings.Join(names, ";")
	path := "/" + strings.TrimPrefix(r.URL.Path, "/")
	return strings.Join([]string{r.Method, escaped(path, true), query(r.URL.Query()), headers.String(), signed, payload}, "\n"), signed
}

// query writes the parameters of a query in the order of their names and values.
func query(values url.Values) string {
	var pairs []string
	for name, all := range values {
		for _, value := range all {
			pairs = append(pairs, escaped(name, false)+"="+escaped(value, false))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// escaped writes every byte in percent form that RFC 3986 does not leave unreserved; slashes stay in a path.
func escaped(s string, path bool) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	for _, by := range []byte(s) {
		switch {
		case by >= 'a' && by <= 'z', by >= 'A' && by <= 'Z', by >= '0' && by <= '9', strings.IndexByte("-_.~", by) >= 0, path && by == '/':
			out.WriteByte(by)
		default:
			out.WriteByte('%')
			out.WriteByte(digits[by>>4])
			out.WriteByte(digits[by&15])
		}
	}
	return out.String()
}
