package coordinator

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

const (
	// maxFolders is how many of the newest runs of the fleet have a folder that pages can read.
	maxFolders = 200
	// gatherTime bounds how long the files of one run are made.
	gatherTime = time.Minute
)

// Folders returns the folders of the newest runs of the fleet: of one that this server leads its own, of one that has
// ended the one with its files, which is made in the background where it is missing, one run at a time. A run that
// another server leads has a folder once it has ended.
func (r *Running) Folders(ctx context.Context) (dirs []string) {
	page, err := r.Store.Runs(ctx, store.RunFilter{}, store.PageOf{Limit: maxFolders})
	if err != nil {
		r.log.WarnContext(ctx, "the runs of the store cannot be listed", "error", err)
		return nil
	}
	stamps, err := r.Store.Stamps(ctx)
	if err != nil {
		r.log.WarnContext(ctx, "it is not known which runs have words that are erased", "error", err)
		return nil
	}
	var missing []string
	for _, run := range page.Items {
		if run.Status.Ended() {
			if err := r.dropErased(run.ID, stamps); err != nil {
				r.log.WarnContext(ctx, "files with words that are erased cannot be removed", "run_id", run.ID,
					"error", err)
				continue
			}
		}
		switch dir := r.folderOf(run.ID); {
		case dir != "":
			dirs = append(dirs, dir)
		case run.Status.Ended():
			missing = append(missing, run.ID)
		}
	}
	if len(missing) > 0 && r.gathering.TryLock() {
		r.group.Go(func() {
			defer r.gathering.Unlock()
			r.gather(missing)
		})
	}
	return dirs
}

// folderOf returns the folder of a run on this machine; empty where there is none.
func (r *Running) folderOf(id string) string {
	for _, dir := range []string{r.endedDir(id), r.leadingDir(id)} {
		if _, err := os.Stat(filepath.Join(dir, runlog.RunFile)); err == nil {
			return dir
		}
	}
	return ""
}

// gather makes the files of runs until the server stops.
func (r *Running) gather(ids []string) {
	for _, id := range ids {
		select {
		case <-r.stop:
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), gatherTime)
		if _, err := r.Files(ctx, id); err != nil {
			r.log.Warn("the files of a run cannot be made", "run_id", id, "error", err)
		}
		cancel()
	}
}
