package ratelimit

import "time"

// Login is a preset for a log-in route: 5 failures per 15 minutes by client IP
// and by account ("login-ip" and "login-account"). A right password costs
// nothing; attempts running at the same time count while they run. Each change
// is applied to both policies.
//
//	ratelimit.New(store, ratelimit.Login(func(p *ratelimit.Policy) { p.Limit = ratelimit.SlidingLog(10, time.Hour) }))
//
// The adapter's Config.Account says which account a request is about. Mind the
// price: a stranger can keep the owner of an account from logging in. A
// [Penalty] belongs to the policy by address, not to the one by account, for the
// same reason.
func Login(changes ...func(*Policy)) Policies { return failuresOf("login", changes) }

// PasswordReset is a preset for a password-reset route: 5 failures per 15
// minutes by client IP and by account ("password-reset-ip" and
// "password-reset-account"). Each change is applied to both policies. Where
// the route answers the same whether the account exists or not, count
// everything: func(p *ratelimit.Policy) { p.Counts = ratelimit.CountEverything }.
func PasswordReset(changes ...func(*Policy)) Policies { return failuresOf("password-reset", changes) }

func failuresOf(name string, changes []func(*Policy)) Policies {
	limit := SlidingLog(5, 15*time.Minute)
	policies := Policies{
		{Name: name + "-ip", Key: ByIP(), Limit: limit, Counts: CountFailures},
		{Name: name + "-account", Key: ByAccount(), Limit: limit, Counts: CountFailures},
	}
	for i := range policies {
		for _, change := range changes {
			change(&policies[i])
		}
	}
	return policies
}
