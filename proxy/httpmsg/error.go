package httpmsg

// Error says why a message is refused. Its values are constants of the packages
// that parse: compare by pointer where it matters, never change one.
type Error struct {
	Status  int    // the answer to a client; 502 when an upstream is at fault
	Reason  string // in words, for the log; names the limit if it was one
	Section string // the governing text, as in "RFC 9112, 5.1"
}

// Error gives the reason and the section that asks for it.
func (e *Error) Error() string {
	if e.Section == "" {
		return e.Reason
	}
	return e.Reason + " (" + e.Section + ")"
}
