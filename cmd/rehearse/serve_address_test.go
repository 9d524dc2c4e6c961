package main

import (
	"bytes"
	"net"
	"testing"
)

// The address that serve prints is one at which its pages answer: none is asked for by the name of all addresses.
func TestServeSaysWhereToGo(t *testing.T) {
	for _, c := range []struct {
		at   net.TCPAddr
		want string
	}{
		{net.TCPAddr{IP: net.IPv6unspecified, Port: 8090}, "listening on http://127.0.0.1:8090\n"},
		{net.TCPAddr{IP: net.IPv4zero, Port: 8090}, "listening on http://127.0.0.1:8090\n"},
		{net.TCPAddr{IP: net.IPv6loopback, Port: 8090}, "listening on http://[::1]:8090\n"},
	} {
		var out bytes.Buffer
		(&serveFlags{}).printAddress(&Env{Stdout: &out}, &c.at, "")
		if out.String() != c.want {
			t.Errorf("%v: %q, want %q", c.at, out.String(), c.want)
		}
	}
}
