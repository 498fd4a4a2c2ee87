// Package measure times contenders side by side: rounds in which they take
// turns, each in a process of its own, so that no one's garbage and no one's
// luck with memory is another's, and medians of what the rounds gave.
package measure
