// Package httpclienttest has what tests of outgoing connections need.
package httpclienttest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
)

// Resolver returns a resolver for which every name has the first address when it is looked up first, the second then,
// and so on; the last stays. The addresses are IPv4. asked counts the look-ups.
func Resolver(addresses ...string) (r *net.Resolver, asked *atomic.Int32) {
	asked = &atomic.Int32{}
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer func() { _ = there.Close() }()
			for {
				size := make([]byte, 2)
				if _, err := io.ReadFull(there, size); err != nil {
					return
				}
				query := make([]byte, binary.BigEndian.Uint16(size))
				if _, err := io.ReadFull(there, query); err != nil {
					return
				}
				reply := answered(query, asked, addresses)
				if _, err := there.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))),
					reply...)); err != nil {
					return
				}
			}
		}()
		return streamed{here}, nil
	}}, asked
}

// streamed is a pipe that is no packet connection, so that the resolver speaks as over TCP.
type streamed struct{ net.Conn }

// answered returns the answer to a question: an A record for A, none for anything else.
func answered(query []byte, asked *atomic.Int32, all []string) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	question := query[12 : end+5]
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	if binary.BigEndian.Uint16(query[end+1:]) != 1 {
		return reply
	}
	reply[7] = 1
	n := min(int(asked.Add(1)), len(all)) - 1
	ip := netip.MustParseAddr(all[n]).As4()
	return append(append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), ip[:]...)
}
