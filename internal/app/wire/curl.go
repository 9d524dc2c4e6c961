package wire

import (
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/eval/target/curl"
)

// CurlTarget is the name of the target that a pasted curl line describes.
const CurlTarget = "curl"

// pasted reads the curl line of the options. Its credentials are secrets from then on.
func (s *shared) pasted() error {
	if s.Curl == "" {
		return nil
	}
	_, mapping, err := CurlLine(s.Curl, s.secrets)
	if err != nil {
		return source.Invalid("--target-curl: %w", err)
	}
	t, err := TargetOf("--target-curl", mapping)
	if err != nil {
		return err
	}
	s.curl = &t
	return nil
}

// CurlLine reads a pasted curl line as the mapping of a target. The redactor learns its credentials, also where the
// line is refused.
func CurlLine(line string, secrets *Redactor) (curl.Request, source.Value, error) {
	request, err := curl.Parse(line)
	if err != nil {
		return request, source.Value{}, err
	}
	for _, secret := range request.Secrets {
		secrets.Credential(secret.Name, secret.Value)
	}
	secrets.Address(request.URL)
	mapping, err := request.Target()
	return request, mapping, err
}

// TargetOf reads the mapping of a target that stands in no configuration; from says where it comes from. Its paths
// begin at the working folder. The error is a source.Problems.
func TargetOf(from string, mapping source.Value) (config.Target, error) {
	reader := &source.Reader{File: from}
	t := target.Kinds().Read(reader.Node(mapping, ""), config.Location{})
	return t, reader.Problems.Err()
}
