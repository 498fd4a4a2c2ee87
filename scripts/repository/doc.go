// Package repository holds the rules that all modules of this repository keep,
// and tells where one does not. Reviews forget; `make verify-mods` and
// `make verify-structure` do not.
package repository
