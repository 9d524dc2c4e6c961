package langfuse

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// The environment variables that FromEnv reads; they are those of Langfuse's own SDKs.
const (
	PublicKeyEnv = "LANGFUSE_PUBLIC_KEY"
	SecretKeyEnv = "LANGFUSE_SECRET_KEY"
	// HostEnv is the usual variable, BaseURLEnv the one of current SDKs. If both are set, BaseURLEnv counts, as in the
	// SDKs.
	HostEnv        = "LANGFUSE_HOST"
	BaseURLEnv     = "LANGFUSE_BASE_URL"
	EnvironmentEnv = "LANGFUSE_TRACING_ENVIRONMENT"
)

// CloudHost is the default host.
const CloudHost = "https://cloud.langfuse.com"

const (
	defaultTimeout   = 30 * time.Second
	defaultMaxAnswer = 16 << 20
	defaultAttempts  = 4
)

// ErrNotConfigured is the error of FromEnv when none of the variables is set.
var ErrNotConfigured = errors.New("langfuse: not configured: set " + PublicKeyEnv + ", " + SecretKeyEnv + " and " +
	HostEnv + " (the keys are in the project's settings)")

// Config is how Langfuse is reached. Its printed form has the host only.
type Config struct {
	// Host is an address such as https://cloud.langfuse.com, with a path if Langfuse has one; empty means CloudHost.
	Host string
	// PublicKey and SecretKey are the project's keys.
	PublicKey string `json:"-"`
	SecretKey string `json:"-"`
	// Environment is set on traces and scores; empty means Langfuse's "default".
	Environment string
	// Transport sends the requests; nil is that of outbound.Client. No redirect is followed.
	Transport http.RoundTripper
	// Timeout bounds each attempt of a call; 0 means 30 seconds.
	Timeout time.Duration
	// MaxAnswer bounds an answer in bytes; 0 means 16 MB.
	MaxAnswer int
	// Attempts is the greatest number of attempts of a call; 0 means 4.
	Attempts int
}

// String returns the host without the other parts of the address.
func (c Config) String() string {
	u, err := url.Parse(cmp.Or(c.Host, CloudHost))
	if err != nil || u.Host == "" {
		return "langfuse"
	}
	return "langfuse " + u.Scheme + "://" + u.Host
}

// GoString returns what String does.
func (c Config) GoString() string { return c.String() }

// FromEnv makes a Config of environment variables. The error says in one line what is missing; it is ErrNotConfigured
// when no variable is set.
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

// environmentName matches the environment names that Langfuse accepts.
var environmentName = text.Regexp(`^[a-z0-9_-]{1,40}$`)

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
		return fmt.Errorf("langfuse: no %s: copy the keys from the project's settings",
			strings.Join(missing, " and no "))
	case strings.ContainsAny(c.PublicKey, ": \t\r\n") || strings.ContainsAny(c.SecretKey, " \t\r\n"):
		return fmt.Errorf("langfuse: %s or %s is not a key: copy it anew, without blanks", PublicKeyEnv, SecretKeyEnv)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("langfuse: %s is not an http address: write one such as %s", HostEnv, CloudHost)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("langfuse: %s has more than a host and a path: the keys go into %s and %s", HostEnv,
			PublicKeyEnv, SecretKeyEnv)
	case c.Environment != "" &&
		(!environmentName().MatchString(c.Environment) || strings.HasPrefix(c.Environment, "langfuse")):
		return fmt.Errorf("langfuse: %s: write lower-case letters, digits, - and _, not beginning with langfuse",
			EnvironmentEnv)
	case c.Timeout < 0 || c.MaxAnswer < 0 || c.Attempts < 0:
		return errors.New("langfuse: a timeout, a size or a number of attempts is below 0")
	}
	return nil
}

// EnabledEnv is the environment variable that switches Langfuse off.
const EnabledEnv = "LANGFUSE_ENABLED"

// Disabled reports whether the environment switches Langfuse off, whatever its other variables are.
func Disabled(getenv func(string) string) bool {
	return slices.Contains([]string{"false", "0", "no", "off"}, strings.ToLower(strings.TrimSpace(getenv(EnabledEnv))))
}

// Configured reports whether the environment has keys of Langfuse and does not switch it off.
func Configured(getenv func(string) string) bool {
	return !Disabled(getenv) && getenv(PublicKeyEnv) != "" && getenv(SecretKeyEnv) != ""
}
