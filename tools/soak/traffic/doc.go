// Package traffic is an application and its clients, to put a proxy between: mixed
// requests by the million, with clients that go away, that read slowly, and an
// application that is started anew in the middle. Every request has a token, and
// every byte that belongs to it is made of the token; so an answer, an upload or a
// message that is lost, cut, doubled or mixed up with another is known as such.
//
// It judges from outside alone, and knows nothing of what it tests but its
// addresses and, where its memory is to be watched, its process.
package traffic
