package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/rehearse-dev/rehearse/internal/base/mailbox"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// socketGrace is how long the other side may take to answer the end of a conversation.
const socketGrace = 2 * time.Second

// socket is an open WebSocket. One goroutine reads it all the time, so that pings are answered also between turns.
type socket struct {
	conn *websocket.Conn
	box  *mailbox.Box
	// session is the agent's id of the conversation from the handshake; empty where it gives none there.
	session string
	// silent is true of another side that has left a ping unanswered.
	silent bool
	// hangUp closes the connection at once; ended is closed when nobody reads any more.
	hangUp context.CancelFunc
	ended  chan struct{}
}

// dial opens a WebSocket. ctx bounds the handshake only. The answer to a handshake that failed is returned where there
// is one, with the beginning of its body. Most bounds a message, and all messages that were not taken, in bytes.
func dial(ctx context.Context, url string, o *websocket.DialOptions, most int) (*socket, *http.Response, error) {
	conn, answer, err := websocket.Dial(ctx, url, o)
	if err != nil {
		return nil, answer, err
	}
	conn.SetReadLimit(int64(most))
	open, hangUp := context.WithCancel(context.Background())
	s := &socket{conn: conn, box: mailbox.New(most), hangUp: hangUp, ended: make(chan struct{})}
	go func() {
		err := s.listen(open, most)
		close(s.ended) // before anybody learns of it, and closes a connection to which nobody listens
		s.box.Fail(err)
	}()
	return s, answer, nil
}

// listen reads messages until the connection ends, and returns how it has.
func (s *socket) listen(ctx context.Context, most int) error {
	for {
		_, data, err := s.conn.Read(ctx)
		closed, orderly := errors.AsType[websocket.CloseError](err)
		switch {
		case err == nil && s.box.Put(data):
		case err == nil:
			return nil // the box has failed
		case errors.Is(err, websocket.ErrMessageTooBig):
			return fmt.Errorf("%w %d bytes", mailbox.ErrTooLong, most)
		case orderly && closed.Reason != "":
			return fmt.Errorf("the WebSocket broke off: closed with %d, %s", closed.Code, shown(closed.Reason))
		case orderly:
			return fmt.Errorf("the WebSocket broke off: closed with %d", closed.Code)
		default:
			return fmt.Errorf("the WebSocket broke off: %s", shown(err.Error()))
		}
	}
}

// shown returns what the other side, or an error about it, says: in one line, without what a terminal would obey.
func shown(said string) string { return text.OneLine(strings.ToValidUTF8(said, "\ufffd"), 200) }

// send sends a text message. That the connection has ended is no error: whoever waits for an answer is told.
func (s *socket) send(ctx context.Context, data []byte) error {
	if s.write(ctx, data) != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}

// write sends a text message. A message that ctx has cut closes the connection.
func (s *socket) write(ctx context.Context, data []byte) error {
	return s.conn.Write(ctx, websocket.MessageText, data)
}

// settleTime bounds the wait for the answer to a ping.
const settleTime = time.Second

// settle waits until all messages have been read that the other side sent before it answered a ping. A side that
// answers none is not asked again.
func (s *socket) settle(ctx context.Context) {
	select {
	case <-s.ended:
		return
	default:
	}
	if s.silent {
		return
	}
	limited, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	_ = s.conn.Ping(limited) // a connection that has ended is found when a message is awaited
	s.silent = errors.Is(limited.Err(), context.DeadlineExceeded)
}

// next returns the next message.
func (s *socket) next(ctx context.Context) ([]byte, error) { return s.box.Next(ctx) }

// unread returns the messages that were not taken.
func (s *socket) unread() [][]byte { return s.box.Waiting() }

// close says goodbye and closes the connection. It returns when nothing of it is left.
func (s *socket) close() {
	late := time.AfterFunc(socketGrace, s.hangUp)
	defer late.Stop()
	select {
	case <-s.ended: // nobody would read the other side's goodbye
		_ = s.conn.CloseNow()
	default:
		_ = s.conn.Close(websocket.StatusNormalClosure, "") // the other side may have gone
	}
	s.hangUp()
	<-s.ended
}
