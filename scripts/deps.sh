#!/usr/bin/env bash
# Sees to what the tests need beside Go: a C compiler for the race detector
# and, with the argument "redis", redis-server. Installs what is missing where
# that needs no question (Debian as root, Homebrew), else says what to do.
# Prints nothing if all is there.
set -euo pipefail

fail() {
	echo "deps: $*" >&2
	exit 1
}

# install PROGRAM DEBIAN-PACKAGE BREW-FORMULA
install() {
	if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
		echo "deps: $1 is missing, installing $2" >&2
		apt-get update -qq >&2
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >&2
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

if [ "${1:-}" = redis ]; then
	command -v redis-server >/dev/null || install redis-server redis-server redis
	version=$(redis-server --version | sed -n 's/.* v=\([0-9]*\)\..*/\1/p')
	if [ "${version:-0}" -lt 7 ]; then
		fail "redis-server is older than 7: $(redis-server --version); install Redis 7 or later and put it first on the PATH"
	fi
fi
