package ratelimit

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-floodgate/floodgate/core/internal/sfv"
)

// maxPolicyName is the longest policy name: clients are sent it twice in every
// response, and a store keeps it in every key.
const maxPolicyName = 64

// validatePolicyName returns nil if name can stand in a response field, a
// metric label and a stored key as it is.
func validatePolicyName(name string) error {
	switch {
	case name == "":
		return errors.New(`ratelimit: Policy.Name is empty: give the policy a name, such as "per-ip"`)
	case len(name) > maxPolicyName:
		return fmt.Errorf("ratelimit: Policy.Name %.20q... has %d characters: use at most %d", name, len(name), maxPolicyName)
	}
	for i := range len(name) {
		if name[i] < ' ' || name[i] > '~' {
			return fmt.Errorf("ratelimit: Policy.Name %q holds a character that is not printable ASCII: use letters, digits and punctuation", name)
		}
	}
	return nil
}

// advert is what never changes about how a policy with one limit is told to
// clients, written out once. A nil advert is a policy that clients are not
// told about: it is hidden, in shadow or unlimited.
type advert struct {
	// name is the policy's name with quotes and escapes: a String of a
	// structured field, and because it is printable ASCII a JSON string too.
	// remaining is the name and what comes before the number in RateLimit.
	name, remaining string
	// member is the policy's member of RateLimit-Policy; oldMember the same
	// as drafts 06 and 07 have it, without a name.
	member, oldMember string
	// capacity is the limit's capacity, capacityText as clients are told it.
	capacity     int64
	capacityText string
}

// newAdvert returns the advert of a policy with limit l, nil if there is
// nothing to tell. A name that [validatePolicyName] refuses is never told.
func newAdvert(name string, l Limit) *advert {
	if l.IsUnlimited() || validatePolicyName(name) != nil {
		return nil
	}
	quoted, err := sfv.AppendString(nil, name)
	if err != nil {
		return nil
	}
	quota := sfv.ClampInteger(l.Quota)
	rest := fmt.Sprintf(";w=%d", windowSeconds(l.Window))
	if l.Algorithm.Bucket() {
		rest += fmt.Sprintf(";floodgate-burst=%d", sfv.ClampInteger(l.Burst))
	}
	return &advert{
		name:         string(quoted),
		remaining:    string(quoted) + ";r=",
		member:       fmt.Sprintf("%s;q=%d%s", quoted, quota, rest),
		oldMember:    strconv.FormatInt(quota, 10) + rest,
		capacity:     l.Capacity(),
		capacityText: strconv.FormatInt(sfv.ClampInteger(l.Capacity()), 10),
	}
}

// windowSeconds is a window in the whole seconds of a field: rounded up,
// because 0 is no window, and a window told too long promises too little
// rather than too much.
func windowSeconds(window time.Duration) int64 { return max(1, ceilSeconds(window)) }

// advertised reports whether clients are told about p.
func (p *PolicyResult) advertised() bool { return p.advert != nil && !p.Hidden && !p.Shadow }

// advertisedPolicy is the binding policy if clients are told about it, else
// nil.
func (d *Decision) advertisedPolicy() *PolicyResult {
	if d.Policy == "" {
		return nil
	}
	policies := d.Policies()
	for i := range policies {
		if p := &policies[i]; p.Policy == d.Policy && p.advertised() {
			return p
		}
	}
	return nil
}
