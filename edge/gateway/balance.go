package gateway

import (
	"fmt"
	"strings"

	"edge/edge/config"
	"edge/proxy"
	"edge/proxy/httpmsg"
)

// setBalance reads --proxy-balance.
func (s *server) setBalance() error {
	name := s.cfg.Balance
	if field, ok := strings.CutPrefix(name, config.BalanceHashField); ok {
		if !httpmsg.IsToken([]byte(field)) {
			return fmt.Errorf("--proxy-balance %q: a field's name must follow %s", name, config.BalanceHashField)
		}
		s.balance, s.hashField = proxy.Hash, strings.ToLower(field)
		return nil
	}
	s.balance = map[string]proxy.Balance{
		config.BalanceRoundRobin: proxy.RoundRobin,
		config.BalanceLeast:      proxy.LeastConnections,
		config.BalanceHash:       proxy.Hash,
	}[name]
	return nil
}

// healthPolicy is when a target is left alone, and for how long.
func (s *server) healthPolicy() *proxy.HealthPolicy {
	p := proxy.DefaultHealth
	p.Failures, p.Pause = s.cfg.ProxyMaxFails, s.cfg.ProxyFailTimeout
	p.PauseMax = max(p.Pause, p.PauseMax)
	return &p
}

// balanceKey is what a target is chosen by where the same client is to have the
// same one: the first field of the name that was asked for, in a request that has
// it, else the client's address. It is made when the request starts, of front: a
// second attempt needs it when that is another's.
func (c *conn) balanceKey(x *exchange) uint64 {
	s := c.w.server
	if s.balance != proxy.Hash {
		return 0
	}
	if v := fieldToHash(&x.req, s.hashField); len(v) > 0 {
		return proxy.HashKey(v)
	}
	a := c.w.front.Client.As16()
	return proxy.HashKey(a[:])
}

// fieldToHash is the value of a field, nil if there is none; Host is the one that
// was asked for, however it came.
func fieldToHash(req *httpmsg.Request, name string) []byte {
	switch name {
	case "":
		return nil
	case "host":
		return req.Authority
	}
	return req.Header.Get(name)
}
