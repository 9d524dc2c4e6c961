package store

import (
	"context"
	"database/sql/driver"
	"strings"

	"modernc.org/sqlite"
)

// hasText is the SQL function of connections that tells whether its first text has the second in it. Go finds a text in
// 100,000 transcripts several times faster than SQLite's own instr, which compares byte by byte.
const hasText = "has_text"

// connector opens connections to a file that have the function hasText.
type connector struct {
	files *sqlite.Driver
	dsn   string
}

func newConnector(dsn string) (*connector, error) {
	c := &connector{&sqlite.Driver{}, dsn}
	return c, c.files.RegisterFunction(hasText, &sqlite.FunctionImpl{
		NArgs: 2, Deterministic: true, VolatileArgs: true, Scalar: contains,
	})
}

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.files.Open(c.dsn)
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c.files }

// contains keeps none of its arguments: they are SQLite's.
func contains(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	text, whole := args[0].(string)
	part, given := args[1].(string)
	return whole && given && strings.Contains(text, part), nil
}
