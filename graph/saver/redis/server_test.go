package redis_test

import (
	"testing"

	driver "github.com/gomodule/redigo/redis"
)

// empty removes all keys of a database.
func empty(t *testing.T, url string) {
	t.Helper()
	c, err := driver.DialURLContext(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Do("FLUSHDB"); err != nil {
		t.Fatal(err)
	}
}
