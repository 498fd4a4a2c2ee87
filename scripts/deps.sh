#!/usr/bin/env bash
# Sees to what the tests need beside Go: a C compiler for the race detector
# and, with the arguments "redis" and "prometheus", those servers. Installs what
# is missing where that needs no question (Debian as root or with sudo, Homebrew), else says
# what to do. Prints nothing if all is there.
set -euo pipefail

fail() {
	echo "deps: $*" >&2
	exit 1
}

# as_root COMMAND..., if that needs no password
as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@" 2>/dev/null; fi
}

# install PROGRAM DEBIAN-PACKAGE BREW-FORMULA
install() {
	if command -v apt-get >/dev/null && as_root true; then
		echo "deps: $1 is missing, installing $2" >&2
		as_root apt-get update -qq >&2
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >&2
	elif command -v apt-get >/dev/null; then
		fail "$1 is missing: sudo apt-get install -y $2"
	elif command -v brew >/dev/null; then
		echo "deps: $1 is missing, installing $3" >&2
		brew install "$3" >&2
	else
		fail "$1 is missing: install it with your system's package manager"
	fi
	command -v "$1" >/dev/null || fail "$1 is still missing after installing $2: put it on the PATH"
}

# The race detector needs cgo on Linux only.
if [ "$(go env GOOS)" = linux ]; then
	compiler=$(go env CC)
	command -v "${compiler%% *}" >/dev/null || install "${compiler%% *}" build-essential gcc
	[ "$(go env CGO_ENABLED)" = 1 ] || fail "the race detector needs cgo: unset CGO_ENABLED"
fi

need_redis() {
	command -v redis-server >/dev/null || install redis-server redis-server redis
	version=$(redis-server --version | sed -n 's/.* v=\([0-9]*\)\..*/\1/p')
	if [ "${version:-0}" -lt 7 ]; then
		fail "redis-server is older than 7: $(redis-server --version); install Redis 7 or later and put it first on the PATH"
	fi
}

# One package has both programs. The tests start servers of their own: Debian's
# service is of no use to them and does no harm.
need_prometheus() {
	command -v promtool >/dev/null || install promtool prometheus prometheus
	command -v prometheus >/dev/null || install prometheus prometheus prometheus
}

for server in "$@"; do
	case "$server" in
	redis | prometheus) "need_$server" ;;
	*) fail "what is $server? use redis, prometheus or both" ;;
	esac
done
