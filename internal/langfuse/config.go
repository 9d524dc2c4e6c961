package langfuse

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// The environment variables that FromEnv reads; they are those of Langfuse's own SDKs.
const (
	PublicKeyEnv = "LANGFUSE_PUBLIC_KEY"
	SecretKeyEnv = "LANGFUSE_SECRET_KEY"
	// HostEnv is what most deployments set, BaseURLEnv what current SDKs call it. Where both are set BaseURLEnv counts, as it does there.
	HostEnv        = "LANGFUSE_HOST"
	BaseURLEnv     = "LANGFUSE_BASE_URL"
	EnvironmentEnv = "LANGFUSE_TRACING_ENVIRONMENT"
)

// CloudHost is where Langfuse is when nothing else is said.
const CloudHost = "https://cloud.langfuse.com"

const (
	defaultTimeout   = 30 * time.Second
	defaultMaxAnswer = 16 << 20
	defaultAttempts  = 4
)

// ErrNotConfigured is the error of FromEnv where none of the variables is set: Langfuse is not used.
var ErrNotConfigured = errors.New("langfuse: not configured: set " + PublicKeyEnv + ", " + SecretKeyEnv + " and " + HostEnv +
	" (the keys are in the project's settings)")

// Config says how Langfuse is reached. Printing one tells the host only.
type Config struct {
	// Host is an address such as https://cloud.langfuse.com, with a path where Langfuse stands behind one; CloudHost without.
	Host string
	// PublicKey and SecretKey are those of the project.
	PublicKey string `json:"-"`
	SecretKey string `json:"-"`
	// Environment is put on traces and scores; Langfuse calls it "default" without.
	Environment string
	// HTTP sends the requests, but for redirects, which are never followed: the key would go along. Nil for one on http.DefaultTransport.
	HTTP *http.Client
	// Timeout bounds each attempt of a call; 30 seconds without.
	Timeout time.Duration
	// MaxAnswer bounds what is read of an answer, in bytes; 16 MB without.
	MaxAnswer int
	// Attempts is how often a call is tried at most; 4 without.
	Attempts int
}

// String returns the host, without what else an address may hold.
func (c Config) String() string {
	u, err := url.Parse(cmp.Or(c.Host, CloudHost))
	if err != nil || u.Host == "" {
		return "langfuse"
	}
	return "langfuse " + u.Scheme + "://" + u.Host
}

// GoString returns what String does.
func (c Config) GoString() string { return c.String() }

// FromEnv builds a Config from environment variables. The error says on one line what is missing; it is ErrNotConfigured when nothing
// of it is set.
func FromEnv(getenv func(string) string) (Config, error) {
	c := Config{
		Host:      strings.TrimSpace(cmp.Or(getenv(BaseURLEnv), getenv(HostEnv))),
		PublicKey: strings.TrimSpace(getenv(PublicKeyEnv)), SecretKey: strings.TrimSpace(getenv(SecretKeyEnv)),
		Environment: strings.TrimSpace(getenv(EnvironmentEnv)),
	}
	if c.Host == "" && c.PublicKey == "" && c.SecretKey == "" {
		return Config{}, ErrNotConfigured
	}
	if err := c.check(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// environmentName is what Langfuse takes as an environment.
var environmentName = regexp.MustCompile(`^[a-z0-9_-]{1,40}$`)

func (c Config) check() error {
	u, err := url.Parse(cmp.Or(c.Host, CloudHost))
	var missing []string
	if c.PublicKey == "" {
		missing = append(missing, PublicKeyEnv)
	}
	if c.SecretKey == "" {
		missing = append(missing, SecretKeyEnv)
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("langfuse: no %s: copy the keys from the project's settings", strings.Join(missing, " and no "))
	case strings.ContainsAny(c.PublicKey, ": \t\r\n") || strings.ContainsAny(c.SecretKey, " \t\r\n"):
		return fmt.Errorf("langfuse: %s or %s is not a key: copy it anew, without blanks", PublicKeyEnv, SecretKeyEnv)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("langfuse: %s is not an http address: write one such as %s", HostEnv, CloudHost)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("langfuse: %s has more than host and path: the keys go into %s and %s", HostEnv, PublicKeyEnv, SecretKeyEnv)
	case c.Environment != "" && (!environmentName.MatchString(c.Environment) || strings.HasPrefix(c.Environment, "langfuse")):
		return fmt.Errorf("langfuse: %s: write lower-case letters, digits, - and _, not beginning with langfuse", EnvironmentEnv)
	case c.Timeout < 0 || c.MaxAnswer < 0 || c.Attempts < 0:
		return errors.New("langfuse: a timeout, a size or a number of attempts is below 0")
	}
	return nil
}
