package gateway

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"edge/edge/config"
	"edge/edge/service"
)

// inheritance is the listening sockets that were handed over by a predecessor or
// by the service manager, and that no address has taken yet.
type inheritance struct{ sockets []inherited }

type inherited struct {
	service.Socket
	at     config.Address
	scheme string // "": it serves whatever is configured at its address
	owned  bool   // the file of a unix socket was made by a predecessor
}

// ownedSuffix in the name of a unix socket says that its file is edge's own.
const ownedSuffix = ".own"

func newInheritance(sockets []service.Socket) *inheritance {
	in := new(inheritance)
	for _, k := range sockets {
		in.sockets = append(in.sockets, inherited{
			Socket: k, at: boundTo(k.FD), scheme: schemeOf(k.Name), owned: strings.HasSuffix(k.Name, ownedSuffix),
		})
	}
	return in
}

// schemeOf is what a socket's name says it is for: "http" and "https", also with
// a suffix behind a dot or a hyphen. Any other name, as that of the unit, which
// is systemd's default, says nothing.
func schemeOf(name string) string {
	if i := strings.IndexAny(name, ".-"); i >= 0 {
		name = name[:i]
	}
	if name == schemeTLS || name == schemePlain {
		return name
	}
	return ""
}

// standIn is where to serve TLS: where --listen says or, without it, where the
// sockets we were given are.
func (in *inheritance) standIn(cfg *config.Config) []config.Address {
	if cfg.ListenGiven {
		return cfg.Listen
	}
	var given []config.Address
	for _, k := range in.sockets {
		plain := func(a config.Address) bool { return sameAddress(k.at, a) }
		if k.scheme == schemePlain || k.scheme == "" && slices.ContainsFunc(cfg.HTTP, plain) {
			continue
		}
		if !slices.Contains(given, k.at) {
			given = append(given, k.at)
		}
	}
	if len(given) == 0 {
		return cfg.Listen
	}
	return given
}

// inherit takes the sockets that were handed over for p's address.
func (p *place) inherit(from *inheritance) (took bool, err error) {
	var mine []int
	var others []inherited
	for _, k := range from.sockets {
		if (k.scheme != "" && k.scheme != p.scheme()) || !sameAddress(k.at, p.at) {
			others = append(others, k)
			continue
		}
		p.at = k.at // a port of 0 is any, but only one
		if k.owned {
			p.file = socketFileAt(k.at.Unix)
		}
		mine = append(mine, k.FD)
	}
	if len(mine) == 0 {
		return false, nil
	}
	from.sockets = others
	return true, p.share(mine)
}

// sameAddress compares a bound address with one asked for. A port of 0 asks for
// any; every address of either family is the same here, for what can be heard on
// one of them is on the other, as far as the machine has both.
func sameAddress(bound, asked config.Address) bool {
	if bound.Unix != "" || asked.Unix != "" {
		return bound.Unix == asked.Unix
	}
	b, a := bound.TCP.Addr().Unmap(), asked.TCP.Addr().Unmap()
	port := asked.TCP.Port() == 0 || asked.TCP.Port() == bound.TCP.Port()
	return port && (a == b || a.IsUnspecified() && b.IsUnspecified())
}

// socketFile is the file of a unix socket that we made. The zero value is none.
type socketFile struct {
	path     string
	dev, ino uint64
}

// socketFileAt is the file at path; none in the abstract namespace.
func socketFileAt(path string) socketFile {
	info, err := os.Lstat(path)
	if err != nil {
		return socketFile{}
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return socketFile{}
	}
	return socketFile{path, st.Dev, st.Ino}
}

// remove takes the file away, unless another has taken its place.
func (f socketFile) remove() error {
	if f.path == "" || socketFileAt(f.path) != f {
		return nil
	}
	return os.Remove(f.path)
}
