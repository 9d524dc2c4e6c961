package natsconn

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
)

// neverListened names a file that a folder has for as long as none of its servers has listened. A folder without it, as
// one that an earlier version of this program has made, may have had a listener.
const neverListened = "never-listened"

// noteListener notes in a folder, which is locked, whether a server of it listens, and reports whether none ever has.
func noteListener(dir string, listens bool) (never bool, err error) {
	mark := filepath.Join(dir, neverListened)
	if listens {
		if err := os.Remove(mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		return false, nil
	}
	if _, err := os.Stat(mark); err == nil {
		return true, nil
	}
	if _, err := os.Stat(filepath.Join(dir, server.JetStreamStoreDir)); !errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return os.WriteFile(mark, nil, 0o600) == nil, nil // without the file, the folder counts as one that has listened
}

// NeverListened reports whether no server of the folder has ever listened. Everybody who was connected to an earlier
// one was in its process, and has died with it: the folder is locked by the process that uses it.
func (s *Server) NeverListened() bool { return s.neverListened }
