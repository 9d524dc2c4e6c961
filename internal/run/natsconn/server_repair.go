package natsconn

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// writeError is in what NATS says when it could not write a stream or a consumer to its disk. From then on it takes
	// no message for it, and says nothing to whoever sends one, until it starts again.
	writeError = "critical write error"
	// roomTime is between two looks for room, roomSize the room that a restart waits for, in bytes.
	roomTime = time.Second
	roomSize = 4 << 20
)

// mend starts the server again after it could not write to its disk, as soon as there is room, until ctx ends.
// Connections are taken up again by those who have them.
func (s *Server) mend(ctx context.Context) {
	for {
		select {
		case <-s.unwritten:
		case <-ctx.Done():
			return
		}
		s.log.Warn("NATS could not write to its disk, and starts again when there is room", "folder",
			s.options.StoreDir)
		for err := errors.New("not yet"); err != nil; {
			if Pause(ctx, roomTime) != nil {
				return
			}
			if err = s.room(); err == nil {
				if err = s.restart(ctx); err != nil && ctx.Err() == nil {
					s.log.Warn("NATS cannot start again", "error", err)
				}
			}
		}
		s.log.Info("NATS has started again")
	}
}

// room returns nil when roomSize bytes can be written.
func (s *Server) room() error {
	name := filepath.Join(s.options.StoreDir, "room")
	err := os.WriteFile(name, make([]byte, roomSize), 0o600)
	return errors.Join(err, os.Remove(name))
}

// restart stops the server and starts it with what it has on disk, at the same address.
func (s *Server) restart(ctx context.Context) error {
	old := s.current()
	if addr := s.Addr(); s.options.Port == server.RANDOM_PORT && addr != "" {
		if err := listenAt(&s.options, ServerConfig{Listen: addr, Token: s.token}); err != nil {
			return err
		}
	}
	old.Shutdown()
	old.WaitForShutdown()
	select {
	case <-s.unwritten: // what it said until then
	default:
	}
	return s.start(ctx)
}
