package runindex

import (
	"iter"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// spares are buffers that are of no use any more, to be used again. Make them with newSpares.
type spares chan []byte

func newSpares() spares { return make(spares, 4*runtime.GOMAXPROCS(0)) }

// take returns an empty buffer.
func (s spares) take() []byte {
	select {
	case buffer := <-s:
		return buffer[:0]
	default:
		return nil
	}
}

// put gives a buffer back.
func (s spares) put(buffer []byte) {
	select {
	case s <- buffer:
	default: // there are enough
	}
}

// inOrder has workers make something of each batch, and takes what they have made in the order of the batches. Each
// worker is begun once and makes one batch after another. At most twice as many batches as workers wait.
func inOrder[Batch, Made any](workers int, batches iter.Seq2[Batch, error], begin func() func(Batch) Made,
	take func(Made)) error {
	type job struct {
		batch Batch
		done  chan Made
	}
	jobs, order := make(chan job), make(chan chan Made, 2*workers)
	var work errgroup.Group
	work.Go(func() error {
		defer close(order)
		defer close(jobs)
		for batch, err := range batches {
			if err != nil {
				return err
			}
			next := job{batch, make(chan Made, 1)}
			order <- next.done
			jobs <- next
		}
		return nil
	})
	for range workers {
		work.Go(func() error {
			made := begin()
			for next := range jobs {
				next.done <- made(next.batch)
			}
			return nil
		})
	}
	for done := range order {
		take(<-done)
	}
	return work.Wait()
}
