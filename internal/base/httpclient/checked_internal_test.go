package httpclient

import (
	"errors"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient/httpclienttest"
)

// Each connection goes to an address that was checked for it: a name that has turned private meanwhile is refused, and
// tells no address.
func TestCheckedRebinding(t *testing.T) {
	for _, private := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.7", "100.64.0.1"} {
		resolver, asked := httpclienttest.Resolver("203.0.113.1", private)
		if _, err := resolver.LookupNetIP(t.Context(), "ip4", "rebinds.example"); err != nil {
			t.Fatal(err)
		}
		err := get(t, checked(resolver), "http://rebinds.example/latest/meta-data")
		refused, ok := errors.AsType[*NotPublicError](err)
		if !ok || refused.Host != "rebinds.example" || strings.Contains(err.Error(), private) || asked.Load() < 2 {
			t.Errorf("%s: %v", private, err)
		}
	}
	if transport := Checked(); transport.Proxy != nil || !transport.DisableKeepAlives {
		t.Error("a proxy would look the host up again, and a kept connection send a request twice")
	}
}
