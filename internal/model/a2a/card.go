// Package a2a has the wire format of the Agent2Agent protocol (https://a2a-protocol.org), versions 1.0 and 0.3, as a
// client needs it: agent cards, the requests that send a message and ask for a task, and their answers. It sends
// nothing itself.
package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// WellKnown is where the card of an agent is, below its base address.
const WellKnown = "/.well-known/agent-card.json"

// The bindings that are spoken here.
const (
	JSONRPC  = "JSONRPC"
	HTTPJSON = "HTTP+JSON"
)

// The versions that are spoken here.
const (
	V1  = "1.0"
	V03 = "0.3"
)

// Interface is where and how an agent is spoken to.
type Interface struct {
	URL string
	// Binding is JSONRPC or HTTPJSON, Version V1 or V03.
	Binding, Version string
	// Tenant goes along with every request of version 1.0; empty means none.
	Tenant string
	// Streaming is true if the agent can stream its answers.
	Streaming bool
}

// Direct returns the interface of an endpoint that has no card.
func Direct(address string) Interface { return Interface{URL: address, Binding: JSONRPC, Version: V1} }

// card is what is read of an agent's card. The last four are version 0.3's.
type card struct {
	Interfaces   []declared `json:"supportedInterfaces"`
	Capabilities struct {
		Streaming bool `json:"streaming"`
	} `json:"capabilities"`
	URL        string     `json:"url"`
	Version    string     `json:"protocolVersion"`
	Preferred  string     `json:"preferredTransport"`
	Additional []declared `json:"additionalInterfaces"`
}

// declared is one interface of a card. Version 0.3 calls the binding transport.
type declared struct {
	URL       string `json:"url"`
	Binding   string `json:"protocolBinding"`
	Transport string `json:"transport"`
	Version   string `json:"protocolVersion"`
	Tenant    string `json:"tenant"`
}

// ReadCard reads a card that was found at an address and returns the first interface that can be spoken to. A relative
// address of an interface begins at the card's. An https card cannot lead to an http address: what is sent there may
// hold credentials.
func ReadCard(data []byte, at string) (Interface, error) {
	var c card
	if err := json.Unmarshal(data, &c); err != nil {
		return Interface{}, fmt.Errorf("not an agent card: %w", err)
	}
	all := c.Interfaces
	if len(all) == 0 {
		main := declared{URL: c.URL, Binding: c.Preferred}
		if main.Binding == "" {
			main.Binding = JSONRPC // version 0.3, section 5.5.5
		}
		all = append([]declared{main}, c.Additional...)
		for i := range all {
			all[i].Version = c.Version
			if all[i].Binding == "" {
				all[i].Binding = all[i].Transport
			}
		}
	}
	if len(c.Interfaces) == 0 && c.URL == "" {
		return Interface{}, errors.New("not an agent card: it has neither supportedInterfaces nor url")
	}
	var unknown []string
	for _, d := range all {
		version, ok := spoken(d.Version)
		if d.Binding != JSONRPC && d.Binding != HTTPJSON || !ok {
			unknown = append(unknown, strings.TrimSpace(d.Binding+" "+d.Version))
			continue
		}
		address, err := resolve(d.URL, at)
		if err != nil {
			return Interface{}, fmt.Errorf("the agent card has an interface at %q: %w", d.URL, err)
		}
		return Interface{
			URL: address, Binding: d.Binding, Version: version, Tenant: d.Tenant, Streaming: c.Capabilities.Streaming,
		}, nil
	}
	return Interface{},
		fmt.Errorf("the agent card offers only %s: JSONRPC and HTTP+JSON of versions 1.0 and 0.3 are spoken",
			strings.Join(unknown, ", "))
}

// spoken returns the version whose format a declared one has. A card without a version is one of 0.3.
func spoken(version string) (string, bool) {
	switch {
	case version == "", strings.HasPrefix(version+".", "0.3."), strings.HasPrefix(version+".", "0.2."):
		return V03, true
	case strings.HasPrefix(version+".", "1."):
		return V1, true
	}
	return "", false
}

func resolve(address, at string) (string, error) {
	base, err := url.Parse(at)
	if err != nil {
		return "", err
	}
	to, err := base.Parse(address)
	switch {
	case err != nil:
		return "", err
	case to.Scheme != "http" && to.Scheme != "https" || to.Host == "":
		return "", errors.New("not an http or https address")
	case base.Scheme == "https" && to.Scheme == "http":
		return "", errors.New("an https card must not lead to an http address")
	}
	return to.String(), nil
}
