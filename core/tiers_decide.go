package ratelimit

import (
	"context"
	"log/slog"
)

// appendTier appends whose quota r uses to w.keys and returns the limit of the
// tier. If it is nil the policy is left out, and left says why.
func (l *Limiter) appendTier(p *policy, r *Request, w *work) (limit *PolicyLimit, left Reason) {
	who, left, ok := l.identify(p, r, w)
	if !ok {
		return nil, left
	}
	if _, exempt := p.tiers.exempt[who.Tier]; exempt {
		return nil, ReasonExempt
	}
	if who.Key == "" {
		w.keys = r.appendClientIP(w.keys, kindAnonIP)
	} else {
		w.keys = append(w.keys, who.Key...)
	}
	return l.tierLimit(p, &who), 0
}

// identify finds out who r comes from, the zero Identity if that can't be told.
// If ok is false the policy is left out.
func (l *Limiter) identify(p *policy, r *Request, w *work) (who Identity, left Reason, ok bool) {
	t, ctx := p.tiers, r.Context()
	if t.cache == nil {
		who, err := t.resolve(r)
		switch {
		case err == nil:
			return who, 0, true
		case ctx.Err() != nil:
			return who, ReasonCanceled, false
		}
		l.resolverFailed(ctx, p.Name, err)
		return Identity{}, 0, true
	}
	start := len(w.keys)
	keys, ok := p.Key.append(w.keys, r)
	w.keys = keys[:start]
	l.checkRoute(p, p.keyNeedsRoute, r)
	if !ok {
		return who, ReasonNoPolicy, false
	}
	answer, ended, err := t.cache.Get(ctx, r, keys[start:])
	if ended {
		return who, ReasonCanceled, false
	}
	if err != nil {
		l.resolverFailed(ctx, p.Name, err)
	}
	if answer != nil {
		who = *answer
	}
	return who, 0, true
}

// tierLimit returns what applies to an identity whose tier is not exempt.
func (l *Limiter) tierLimit(p *policy, who *Identity) *PolicyLimit {
	limit := p.tiers.limits[who.Tier]
	if limit == nil {
		limit = p.tiers.standard
		if who.Tier != "" {
			l.tierUnknown(p.Name, who.Tier)
		}
	}
	if !who.overrides() {
		return limit
	}
	own := p.tiers.overrides.of(p, limit, who)
	if own.err != nil {
		l.overrideInvalid(limit, own.err)
		return limit
	}
	return own.limit
}

// maxLoggedTier bounds what is logged of a name that may be anything.
const maxLoggedTier = 64

func (l *Limiter) tierUnknown(policy, tier string) {
	if suppressed, due := l.diagnosis.unknownTier.due(); due {
		l.diagnosis.warn(context.Background(), CodeTierUnknown, "a tier resolver named a tier that is neither in Tiers.Limits nor in Tiers.Exempt, the default tier applies: add it",
			slog.String("policy", policy), slog.String("tier", tier[:min(len(tier), maxLoggedTier)]), slog.Int64("suppressed", suppressed))
	}
}

func (l *Limiter) overrideInvalid(tier *PolicyLimit, err error) {
	if suppressed, due := l.diagnosis.override.due(); due {
		l.diagnosis.warn(context.Background(), CodeTierOverride, "a tier resolver gave an identity a limit that can't be used, the tier's applies",
			slog.String("policy", tier.Policy), slog.String("tier", tier.Tier), slog.Any("error", err), slog.Int64("suppressed", suppressed))
	}
}
