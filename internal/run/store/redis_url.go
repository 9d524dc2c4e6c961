package store

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// redisSettings are what the URL of a Redis says, and what it leaves open.
type redisSettings struct {
	network, address  string
	user, password    string
	database          int
	tls               *tls.Config // nil without TLS
	dial, read, write time.Duration
	connections       int
	retries           int
}

// readRedisURL reads redis://user:password@host:6379/0, rediss:// or unix:///path?db=0. Further settings are queries: pool_size, max_retries (-1 for
// none), dial_timeout, read_timeout and write_timeout, each as 2s or in seconds. Its errors do not quote the URL, which holds a password.
func readRedisURL(address string) (redisSettings, error) {
	s := redisSettings{network: "tcp", dial: redisTimeout, read: redisTimeout, write: redisTimeout, connections: redisConnections, retries: redisRetries}
	u, err := url.Parse(address)
	if err != nil {
		return s, errors.New("it is no URL")
	}
	s.user = u.User.Username()
	s.password, _ = u.User.Password()
	name, query := strings.Trim(u.Path, "/"), u.Query()
	switch u.Scheme {
	case "redis", "rediss":
		s.address = net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379"))
		if u.Scheme == "rediss" {
			s.tls = &tls.Config{ServerName: cmp.Or(u.Hostname(), "localhost"), MinVersion: tls.VersionTLS12}
		}
	case "unix":
		s.network, s.address, name = "unix", u.Path, ""
	default:
		return s, errors.New("its scheme is not redis, rediss or unix")
	}
	if s.address == "" {
		return s, errors.New("it names no server")
	}
	name = cmp.Or(name, query.Get("db"), "0")
	query.Del("db")
	if s.database, err = strconv.Atoi(name); err != nil || s.database < 0 {
		return s, errors.New("its database is no number")
	}
	for key := range query {
		if err := s.set(key, query.Get(key)); err != nil {
			return s, err
		}
	}
	return s, nil
}

// set reads one query of the URL.
func (s *redisSettings) set(key, value string) (err error) {
	switch key {
	case "pool_size":
		s.connections, err = strconv.Atoi(value)
		if s.connections < 1 {
			err = errors.New("too few")
		}
	case "max_retries":
		s.retries, err = strconv.Atoi(value)
		s.retries = min(max(s.retries, 0), 10)
	case "dial_timeout":
		s.dial, err = secondsOf(value)
	case "read_timeout":
		s.read, err = secondsOf(value)
	case "write_timeout":
		s.write, err = secondsOf(value)
	default:
		err = errors.New("unknown")
	}
	if err != nil {
		return errors.New("one of its settings is unknown or wrong")
	}
	return nil
}

// secondsOf reads a positive time as 50ms or as a number of seconds.
func secondsOf(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if seconds, plain := strconv.Atoi(text); plain == nil {
		d, err = time.Duration(seconds)*time.Second, nil
	}
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s is no time to wait", d)
	}
	return d, err
}

// dialling are the settings of one connection.
func (s redisSettings) dialling() []redis.DialOption {
	return []redis.DialOption{
		redis.DialUsername(s.user), redis.DialPassword(s.password), redis.DialDatabase(s.database),
		redis.DialConnectTimeout(s.dial), redis.DialReadTimeout(s.read), redis.DialWriteTimeout(s.write), redis.DialKeepAlive(redisKeepAlive),
		redis.DialUseTLS(s.tls != nil), redis.DialTLSConfig(s.tls),
	}
}

// name is the URL without user, password and settings.
func (s redisSettings) name() string {
	switch {
	case s.network == "unix":
		return "unix://" + s.address
	case s.tls != nil:
		return "rediss://" + s.address + "/" + strconv.Itoa(s.database)
	}
	return "redis://" + s.address + "/" + strconv.Itoa(s.database)
}
