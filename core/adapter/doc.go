// Package adapter is the engine that Floodgate's framework adapters drive. It
// is for their authors: an adapter shows a request through a [View], calls
// [Engine.Begin], and does what the [Passage] says in its framework's own
// idiom. It translates and never decides; adaptertest.Run proves that it does
// so as all others do.
package adapter
