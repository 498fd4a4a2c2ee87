package redisstore

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Open returns a Store on a client of its own for a URL, which Close closes.
// It makes no call to Redis.
//
//	redis://user:password@host:6379/0                  one server; rediss: with TLS; unix: a socket
//	redis://host:6379,host:6380,host:6381              a Cluster, by some of its nodes
//	redis://host:26379,host:26380?master_name=primary  the master that Sentinels name
//
// Further settings are those of redis.ParseURL and its like, as in
// "?pool_size=50&read_timeout=1s".
func Open(address string, options ...Option) (*Store, error) {
	client, err := newClient(address)
	if err != nil {
		return nil, fmt.Errorf("redisstore: Open: %w: use a URL such as redis://localhost:6379/0", err)
	}
	s, err := newStore(client, options)
	if err != nil {
		_ = client.Close() // it has no connection yet
		return nil, err
	}
	s.owned = client
	return s, nil
}

func newClient(address string) (redis.UniversalClient, error) {
	first, others, err := cutHosts(address)
	if err != nil {
		return nil, err
	}
	settings, err := url.Parse(first)
	if err != nil {
		return nil, withoutURL(err)
	}
	query := settings.Query()
	sentinel := query.Get("master_name") != ""
	if len(others) == 0 && !sentinel {
		opt, err := redis.ParseURL(first)
		if err != nil {
			return nil, withoutURL(err)
		}
		return redis.NewClient(Interruptible(opt)), nil
	}
	for _, host := range others {
		query.Add("addr", host)
	}
	settings.RawQuery = query.Encode()
	if sentinel {
		opt, err := redis.ParseFailoverURL(settings.String())
		if err != nil {
			return nil, withoutURL(err)
		}
		opt.ContextTimeoutEnabled = true
		opt.Dialer = interruptible(defaultDialer(&redis.Options{DialTimeout: opt.DialTimeout, TLSConfig: opt.TLSConfig}))
		return redis.NewFailoverClient(opt), nil
	}
	opt, err := redis.ParseClusterURL(settings.String())
	if err != nil {
		return nil, withoutURL(err)
	}
	opt.ContextTimeoutEnabled = true
	opt.Dialer = interruptible(defaultDialer(&redis.Options{DialTimeout: opt.DialTimeout, TLSConfig: opt.TLSConfig}))
	return redis.NewClusterClient(opt), nil
}

// cutHosts splits redis://a,b,c/rest into redis://a/rest and the other hosts.
func cutHosts(address string) (first string, others []string, err error) {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		scheme, rest = "redis", address
	}
	if rest == "" {
		return "", nil, errors.New("the address is empty")
	}
	if !found && !strings.Contains(rest, ":") {
		return "", nil, errors.New("the address is neither a URL nor host:port")
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	user := ""
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, authority = authority[:at+1], authority[at+1:]
	}
	hosts := strings.Split(authority, ",")
	for _, host := range hosts[1:] {
		if host = strings.TrimSpace(host); host != "" {
			others = append(others, host)
		}
	}
	return scheme + "://" + user + strings.TrimSpace(hosts[0]) + path, others, nil
}

// withoutURL drops from an error the URL it may repeat: it holds a password.
func withoutURL(err error) error {
	if parse, ok := err.(*url.Error); ok { //nolint:errorlint // what url.Parse returns
		return fmt.Errorf("the address can't be read: %w", parse.Err)
	}
	return err
}
