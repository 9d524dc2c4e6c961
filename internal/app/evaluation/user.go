package evaluation

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/user"
	"github.com/rehearse-dev/rehearse/internal/run/fingerprint"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// userKey distinguishes the models that play users: by the suite, the user's own choice and the call settings.
type userKey struct {
	suite, model string
	call         wire.Call
}

func userOf(t *suite.Test) userKey {
	return userKey{t.Suite, t.User.Model, wire.CallOf(t.Execution)}
}

// playing says who plays a user.
func (e *Evaluation) playing(key userKey) wire.Playing {
	s := e.suiteNamed(key.suite)
	return wire.Playing{Own: e.local(s, key.model), Name: e.spec.User, Judging: e.judging(s), Call: key.call}
}

// askUsers adds what the simulated users of a suite can ask.
func (e *Evaluation) askUsers(a *dependencies, suiteName string) error {
	if e.regraded != nil {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(e.planned.users), func(a, b userKey) int {
		return cmp.Compare(a.model, b.model)
	})
	for _, key := range keys {
		if key.suite != suiteName {
			continue
		}
		models, err := e.setups[suiteName].UserDependencies(e.playing(key))
		if err != nil {
			return err
		}
		for _, m := range models {
			a.user = a.add(a.user, "the user", m)
		}
	}
	return nil
}

// prepareUsers opens the models that play users.
func (e *Evaluation) prepareUsers() error {
	for key := range e.planned.users {
		model, m, err := e.setups[key.suite].User(e.playing(key))
		if err != nil {
			return err
		}
		e.users[key] = user.ModelOf(model, m)
	}
	return nil
}

// userFor returns the simulated user of one conversation; nil for a test without one.
func (e *Evaluation) userFor(t *suite.Test) runner.User {
	if t.User == nil {
		return nil
	}
	return user.New(t.User, e.users[userOf(t)])
}

// settledUser is a simulated user as far as it decides a record.
type settledUser struct {
	User   suite.User
	Every  json.RawMessage
	Stop   json.RawMessage
	Player string
}

// user returns the user of a test as plain values, and adds the files that its assertions name; nil without one.
func (f *fingerprints) user(t *suite.Test, files *[]fingerprint.Content) (u *settledUser, err error) {
	if t.User == nil {
		return nil, nil
	}
	u = &settledUser{User: *t.User}
	if u.Every, err = f.plain(t.EveryTurn, files); err == nil {
		u.Stop, err = f.plain(t.User.StopWhen, files)
	}
	if err != nil {
		return nil, err
	}
	u.User.StopWhen, u.User.Model = nil, ""
	if f.e.regraded != nil { // its messages are those of the record
		return u, nil
	}
	key := userOf(t)
	u.Player, err = f.part("user "+key.suite+"\x00"+key.model, key.suite, func(at *wire.Setup) (any, error) {
		return at.UserDefinition(f.e.playing(key))
	})
	return u, err
}
