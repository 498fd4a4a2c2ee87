#!/usr/bin/env bash
# fuzz.sh TIME MODULE...: runs every fuzz target of the modules for TIME each.
# Stops at the first that finds something; Go has then written the input to
# testdata/fuzz, where it belongs once the fault is mended.
set -euo pipefail

time=$1
shift
found=0
for module in "$@"; do
	packages=$(cd "$module" && go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...)
	for package in $packages; do
		# In two steps: a test that does not compile must not look like none.
		listing=$(cd "$module" && go test -list='^Fuzz' "$package")
		targets=$(sed -n '/^Fuzz/p' <<<"$listing")
		for target in $targets; do
			echo "--- fuzz $package $target"
			(cd "$module" && go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" "$package")
			found=$((found + 1))
		done
	done
done
if [ "$found" = 0 ]; then
	echo "fuzz: no fuzz target in: $*" >&2
	exit 1
fi
echo "fuzz: $found targets, $time each, found nothing"
