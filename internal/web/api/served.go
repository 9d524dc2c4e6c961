package api

import (
	"net/netip"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// OfServed returns the settings with the flows, chatbots and events of what was opened.
func (c AgentsConfig) OfServed(served *wire.Served) AgentsConfig {
	c.Engine = served.Engine
	if served.Sites != nil {
		c.Bot, c.Operator, c.Sites = served.Sites.Bot, served.Sites.Bot, served.Sites.Library
		if served.Sites.Server != nil {
			c.Healthy = served.Sites.Server.Healthy
		}
	}
	if served.History != nil {
		c.Events = served.History.Events
		c.Lists = NewLists(ListsConfig{
			Sessions: served.History.Events, Variants: served.History.Variants, Replays: served.History.Runs,
			Datasets: served.History.Datasets, Log: c.Log,
		})
	}
	return c
}

// Networks reads the networks of trusted proxies: such as 10.0.0.0/8, and single addresses.
func Networks(texts []string) ([]netip.Prefix, error) {
	var read []netip.Prefix
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			address, failed := netip.ParseAddr(text)
			if failed != nil {
				return nil, source.Invalid("--trusted-proxy %q is no network such as 10.0.0.0/8, and no address", text)
			}
			network = netip.PrefixFrom(address, address.BitLen())
		}
		read = append(read, network)
	}
	return read, nil
}
