package retry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/retry"
)

func ExampleDo() {
	busy := errors.New("busy")
	policy := retry.Policy{
		Retries: 2, First: time.Millisecond,
		Transient: func(err error) bool { return errors.Is(err, busy) },
	}
	calls := 0
	answer, attempts, err := retry.Do(context.Background(), policy, func(context.Context) (string, error) {
		if calls++; calls == 1 {
			return "", busy
		}
		return "hello", nil
	})
	fmt.Println(answer, attempts, err)
	// Output: hello 2 <nil>
}
