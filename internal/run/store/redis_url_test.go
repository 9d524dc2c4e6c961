package store

import (
	"testing"
	"time"
)

func TestRedisURL(t *testing.T) {
	for address, want := range map[string]string{
		"redis://h":                   "redis://h:6379/0",
		"redis://:secret@h:1/3":       "redis://h:1/3",
		"redis://[::1]:7":             "redis://[::1]:7/0",
		"rediss://user:secret@h/2":    "rediss://h:6379/2",
		"unix:///run/redis.sock?db=4": "unix:///run/redis.sock",
		"redis://h?pool_size=9&db=1":  "redis://h:6379/1",
		"redis://":                    "redis://localhost:6379/0",
		"redis://h?read_timeout=50ms": "redis://h:6379/0",
		"redis://h?dial_timeout=3":    "redis://h:6379/0",
		"redis://h/x":                 "",
		"redis://h/-1":                "",
		"redis://h?pool_size=0":       "",
		"redis://h?read_timeout=-1s":  "",
		"redis://h?read_timeout=0":    "",
		"redis://h?pool=1":            "",
		"unix://":                     "",
		"h:6379":                      "",
	} {
		s, err := readRedisURL(address)
		if (err == nil) != (want != "") || err == nil && s.name() != want {
			t.Errorf("%s: %q, %v; want %q", address, s.name(), err, want)
		}
	}
	s, err := readRedisURL("rediss://user:secret@h:1/3?pool_size=9&read_timeout=50ms&max_retries=-1&dial_timeout=3")
	if err != nil || s.user != "user" || s.password != "secret" || s.database != 3 || s.connections != 9 || s.read != 50*time.Millisecond || s.retries != 0 ||
		s.dial != 3*time.Second || s.tls == nil || s.tls.ServerName != "h" {
		t.Errorf("settings %+v, %v", s, err)
	}
}
