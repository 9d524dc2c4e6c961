package redact_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/redact"
)

// The name of a variable tells that its value is a secret.
func ExampleRedactor() {
	r := redact.New([]string{"OPENAI_API_KEY=sk-1234567890", "HOME=/home/ada"})
	fmt.Println(r.Text("401: the key sk-1234567890 of /home/ada is refused"))
	// Output: 401: the key [redacted OPENAI_API_KEY] of /home/ada is refused
}
