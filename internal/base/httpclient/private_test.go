package httpclient_test

import (
	"net/netip"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
)

func TestPrivate(t *testing.T) {
	for _, ip := range []string{
		"127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
		"100.64.0.1", "100.100.100.200", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.255", "255.255.255.255",
		"240.0.0.1", "192.0.0.192", "198.18.0.1", "168.63.129.16", "::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
		"::127.0.0.1", "::ffff:0:127.0.0.1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254",
		"fec0::1", "ff02::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1",
		"2001:0:7f00:1::1",
	} {
		if !httpclient.Private(netip.MustParseAddr(ip)) {
			t.Errorf("%s counts as public", ip)
		}
	}
	for _, ip := range []string{
		"93.184.215.14", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "8.8.8.8", "192.0.2.1", "203.0.113.9",
		"198.17.0.1", "::ffff:8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1",
		"2001:4860:4860::8888",
	} {
		if httpclient.Private(netip.MustParseAddr(ip)) {
			t.Errorf("%s counts as private", ip)
		}
	}
	if !httpclient.Private(netip.Addr{}) {
		t.Error("no address counts as public")
	}
}

func TestPrivateHost(t *testing.T) {
	for _, host := range []string{
		"localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.localhost.", "localhost.localdomain",
		"ip6-localhost", "ip6-loopback", "", ".", "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "0x7f.1", "0x7f000001",
		"0X7F.0.0.1", "2130706433", "017700000001", "0177.0.0.1", "0", "0x", "010.0.0.1", "127.0.0.01", "4294967297",
		"1.2.3.4.5", "a.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "0.0.0.0", "100.64.1.1", "::1", "[::1]",
		"::1%lo", "::1%25lo", "::ffff:127.0.0.1", "::FFFF:7f00:1", "::", "0:0:0:0:0:0:0:1", "fd00::1", "fe80::1%25eth0",
		"64:ff9b::7f00:1", "2002:7f00:1::", "::gg", "１２７.0.0.1", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "ｌｏｃａｌｈｏｓｔ",
		"①②⑦.⓪.⓪.①", "local\u00adhost", "127.0.\u200b0.1", " 127.0.0.1 ", "ⓛocalhost",
	} {
		if !httpclient.PrivateHost(host) {
			t.Errorf("%q counts as public", host)
		}
	}
	for _, host := range []string{
		"example.com", "example.com.", "localhost.example.com", "mylocalhost", "127.0.0.1.nip.io", "8.8.8.8",
		"2606:4700::1111", "[2606:4700::1111]", "10.example", "0x7f.example", "shop-1.example", "bücher.example",
		"metadata.google.internal", "a.0xg",
	} {
		if httpclient.PrivateHost(host) {
			t.Errorf("%q counts as private", host)
		}
	}
}

func TestHost(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1":                           "127.0.0.1",
		"HTTP://127.0.0.1:80/x@example.com":          "127.0.0.1",
		"http://example.com@127.0.0.1/":              "127.0.0.1",
		"http://example.com:pw@127.0.0.1:8080":       "127.0.0.1",
		"http://a@b@127.0.0.1":                       "127.0.0.1",
		"http://127.0.0.1\\@example.com/":            "127.0.0.1",
		"http://127.0.0.1?x=//example.com":           "127.0.0.1",
		"http://127.0.0.1#@example.com":              "127.0.0.1",
		"ws://[::1]:80/chat":                         "::1",
		"http://[::1%25lo]/":                         "::1%25lo",
		"supabase+https://10.0.0.1":                  "10.0.0.1",
		" http://127.0.0.1/{{session_id}}":           "127.0.0.1",
		"http://127.0.0.1:{{vars.port}}/":            "127.0.0.1",
		"http://{{vars.host}}/":                      "",
		"http://{{vars.host}}.example/":              "",
		"https://example.com/?next=http://127.0.0.1": "example.com",
		"/relative":      "",
		"./agent --flag": "",
		"":               "",
	} {
		if got := httpclient.Host(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
