package testsqlite

import (
	"context"
	"database/sql/driver"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// hooked is the driver, with a say in what becomes of the writes of documents and of questions.
type hooked struct {
	driver.Connector
	path  string
	write func(carryOut func() (driver.Result, error)) (driver.Result, error)
	ask   func() error // its error is the answer; nil: all are answered
}

func (h *hooked) Driver() driver.Driver { return &sqlite.Driver{} }

func (h *hooked) Connect(context.Context) (driver.Conn, error) {
	c, err := h.Driver().Open(
		"file:" + filepath.ToSlash(h.path) + "?_pragma=busy_timeout(10000)",
	)
	return &hookedConn{c, h}, err
}

type hookedConn struct {
	driver.Conn
	h *hooked
}

func (c *hookedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (
	driver.Rows, error) {
	if c.h.ask != nil {
		if err := c.h.ask(); err != nil {
			return nil, err
		}
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *hookedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (
	driver.Result, error) {
	carryOut := func() (driver.Result, error) {
		return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	}
	if strings.Contains(query, "doc_key") && !strings.Contains(query, "CREATE") {
		return c.h.write(carryOut)
	}
	return carryOut()
}
