package access

import "context"

// Grant is what a request may do, and why.
type Grant struct {
	// Token is the name of the token that was sent; empty for a request without one, and for the token of the
	// environment.
	Token string
	// ID tells tokens apart, also a token from an earlier one of the same name. It is empty for a request without one.
	ID     string
	Scopes Scopes
	// Open is true where visitors may make this request.
	Open bool
}

// Allows reports whether the grant opens what needs a scope.
func (g Grant) Allows(needed Scope) bool { return g.Open || g.Scopes.Open(needed) }

type grantKey struct{}

// With returns a context that carries a grant.
func With(ctx context.Context, g Grant) context.Context { return context.WithValue(ctx, grantKey{}, g) }

// Of returns the grant of the request that ctx belongs to. Without one it is the zero value, which allows nothing.
func Of(ctx context.Context) Grant {
	g, _ := ctx.Value(grantKey{}).(Grant)
	return g
}
