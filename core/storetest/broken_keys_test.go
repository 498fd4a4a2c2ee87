package storetest

import (
	"fmt"
	"strings"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

var brokenKeys = []brokenStore{
	{"keyed without the policy", "keys_apart reset_one_key adjust_one_key", onKeys(func(policy *string, _ *ratelimit.Partition, _ *ratelimit.Limit) { *policy = "" })},
	{"keyed without the partition", "keys_apart concurrent_keys", onKeys(func(_ *string, partition *ratelimit.Partition, _ *ratelimit.Limit) { *partition = "" })},
	{"keyed without the window", "keys_apart changed_limit_starts_afresh adjust_one_key reset_one_key", func(b *book) ratelimit.Store {
		first := make(map[string]ratelimit.Limit)
		return onKeys(func(policy *string, partition *ratelimit.Partition, l *ratelimit.Limit) {
			name := fmt.Sprintf("%q %q %v", *policy, string(*partition), l.Algorithm)
			b.mu.Lock()
			defer b.mu.Unlock()
			if known, ok := first[name]; ok {
				l.Window = known.Window
			}
			first[name] = *l
		})(b)
	}},
	{"keyed without the algorithm", "keys_apart reset_one_key", func(b *book) ratelimit.Store {
		first := make(map[string]ratelimit.Algorithm)
		return onKeys(func(policy *string, partition *ratelimit.Partition, l *ratelimit.Limit) {
			name := fmt.Sprintf("%q %q %v", *policy, string(*partition), l.Window)
			b.mu.Lock()
			defer b.mu.Unlock()
			if known, ok := first[name]; ok {
				*l = limitOf(known, l.Capacity(), l.Window)
			}
			first[name] = l.Algorithm
		})(b)
	}},
	{"keyed with the quota", "changed_quota changed_quota_drains same_key_twice", onKeys(func(policy *string, _ *ratelimit.Partition, l *ratelimit.Limit) {
		*policy += fmt.Sprint("|", l.Quota)
	})},
	{"policy and partition run together", "hostile_keys", onKeys(func(policy *string, partition *ratelimit.Partition, _ *ratelimit.Limit) {
		*policy, *partition = "", ratelimit.Partition(*policy+":")+*partition
	})},
	{"long keys are cut", "hostile_keys", onKeys(func(_ *string, partition *ratelimit.Partition, _ *ratelimit.Limit) {
		*partition = (*partition)[:min(len(*partition), 1000)]
	})},
	{"case is folded", "hostile_keys reset_one_key", onKeys(func(_ *string, partition *ratelimit.Partition, _ *ratelimit.Limit) {
		*partition = ratelimit.Partition(strings.ToLower(string(*partition)))
	})},
	{"what is no UTF-8 is replaced", "hostile_keys", onKeys(func(_ *string, partition *ratelimit.Partition, _ *ratelimit.Limit) {
		*partition = ratelimit.Partition(strings.ToValidUTF8(string(*partition), "\ufffd"))
	})},
	{"the hash tag is all that counts", "hostile_keys", onKeys(func(_ *string, partition *ratelimit.Partition, _ *ratelimit.Limit) {
		_, after, found := strings.Cut(string(*partition), "{")
		if tag, _, closed := strings.Cut(after, "}"); found && closed && tag != "" {
			*partition = ratelimit.Partition(tag)
		}
	})},
	{"the empty partition is not limited", "hostile_keys", onCharges(func(c *ratelimit.Charge) {
		if c.Partition == "" {
			c.Mode = ratelimit.ModePeek
		}
	})},
}
