// Package adapter is the engine that Floodgate's framework adapters drive. It
// is for their authors: an adapter shows a request through a [View], calls
// [Engine.Begin], and does what the [Passage] says in its framework's own
// idiom. It translates and never decides; adaptertest.Run proves that it does
// so as all others do.
//
// A middleware takes these steps for a request, of which Refuse and Run see to
// [Passage.Finish] by themselves:
//
//	p := passages.Get().(*passage) // which has a Passage in it, is a View, and was told to Keep
//	defer func() {
//		if p.Done() {
//			passages.Put(p)
//		}
//	}()
//	header := w.Header()
//	p.Call.KnownBy(header)
//	if !engine.Begin(&p.Passage, c, p, header) {
//		return p.Refuse(write)
//	}
//	if p.Marks() {
//		// make &p.Call the request's context
//	}
//	return p.Run(next, ended)
//
// A View that is part of what is used again reads the request from p.C.
package adapter
