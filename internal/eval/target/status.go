package target

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

// untaken reports whether an answer with a status says that what was sent cannot have been taken, so that it may be
// sent again.
func untaken(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable:
		return true
	}
	return false
}

// refusal says what an answer outside 2xx is: its status, and where it redirects to or the beginning of what its body
// says.
func refusal(response *http.Response, body []byte) string {
	said := strings.TrimRight(fmt.Sprintf("answered %d %s", response.StatusCode, http.StatusText(response.StatusCode)),
		" ")
	if redirect := httpclient.RedirectAddress(response); redirect != "" {
		return said + ": " + redirect + ", and a redirect is not followed"
	}
	if reason := answer.Reason(body); reason != "" {
		said += ": " + reason
	}
	return said
}
