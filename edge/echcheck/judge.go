package echcheck

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"edge/ech"
	"edge/ech/keydir"
)

// What the facts mean.

// judgeKeys looks at the keys alone.
func (r *Report) judgeKeys(o *Options) {
	if o.Keys == nil {
		r.add(Note, "no directory of keys is given (--dir): DNS is shown, not compared")
		return
	}
	for _, e := range o.Keys.Entries {
		if e.Key == nil {
			r.add(Fail, "%s cannot be used: %s: servers that run do not reload", e.File, strings.Join(e.Problems, ", "))
		}
	}
	if len(keydir.GivenOut(o.set(), o.Now)) == 0 {
		r.add(Fail, "%s holds no current key: make one with `edge keys gen-ech`", o.Dir)
	}
}

// judgeDNS looks at one server's answer, and at our keys in its light.
func (r *Report) judgeDNS(o *Options, d *DNS) {
	first := d.first()
	switch {
	case d.Error != "":
		r.add(Fail, "%s: %s", d.Server, d.Error)
	case len(d.Records) == 0:
		r.add(Fail, "%s has no HTTPS record at %s: publish one (`edge keys publish`, `edge keys record`)", d.Server, d.At)
	case first == nil:
		r.add(Fail, "every record at %s makes something mandatory that clients do not know: they use none", d.At)
	case first.list == nil:
		r.add(Fail, "the record at %s that clients use has no ech: publish it (`edge keys publish`)", d.At)
	case first.Error != "":
		r.add(Fail, "the ech at %s cannot be read: %s", d.At, first.Error)
	case d.chosen() == nil:
		r.add(Fail, "clients can use none of the configs at %s: %s", d.At, first.Configs[0].Unusable)
	default:
		r.judgeChoice(o, d, first, d.chosen())
	}
}

// judgeChoice looks at what a client does with a record.
func (r *Report) judgeChoice(o *Options, d *DNS, first *Record, c *Config) {
	for i := range d.Records {
		if d.Records[i].list == nil {
			r.add(Warn, "one of the records at %s has no ech: who blocks the others makes clients go without (RFC 9848)", d.At)
			break
		}
	}
	if first.Target == "." && d.At == o.Owner.Name() && o.Owner.Self() != "." {
		r.add(Warn, "the target \".\" at %s stands for that very name: clients look for addresses there, and browsers pass the record over: make it %s",
			d.At, o.Owner.Self())
	}
	if strings.EqualFold(c.PublicName, o.serverName()) {
		r.add(Note, "the public name is %s itself: everyone sees it, so ECH hides nothing", c.PublicName)
	}
	if o.Keys == nil {
		return
	}
	k := keyOf(o.set(), c.raw)
	switch {
	case k == nil && o.set().RetryConfigs(o.Now) == nil:
		r.add(Fail, "clients encrypt to config %d for %s, whose key is not in %s, and get nothing instead", c.ID, c.PublicName, o.Dir)
	case k == nil:
		r.add(Fail, "clients encrypt to config %d for %s, whose key is not in %s: they come again with what we give out, "+
			"if we hold a certificate for %s, and without ECH if that name is relayed: run `edge keys publish`", c.ID, c.PublicName, o.Dir, c.PublicName)
	case !c.Opens:
		r.add(Fail, "a client's hello for config %d (%s) does not open with its key", c.ID, c.File)
	case k.Role == ech.DecryptOnly:
		r.judgeStale(o, first, k)
	case !bytes.Equal(first.list, o.set().RetryConfigs(o.Now)):
		r.add(Warn, "%s publishes the configs %s, and we give out %s: run `edge keys publish`", d.Server,
			ids(first.Configs), idsOf(keydir.GivenOut(o.set(), o.Now)))
	}
	r.judgeCaches(o, ttlOf(first))
}

func ttlOf(r *Record) time.Duration { return time.Duration(r.TTL) * time.Second }

// judgeStale is for a published key that is decrypt-only.
func (r *Report) judgeStale(o *Options, first *Record, k *ech.Key) {
	left := k.RemoveAfter.Sub(o.Now)
	if !k.RemoveAfter.IsZero() && left < ttlOf(first) {
		r.add(Fail, "DNS still publishes key %d (%s), to be removed %s: caches keep it for %v from now: run `edge keys publish`, and do not rotate before then",
			k.Config.ID, k.File, in(left), ttlOf(first))
		return
	}
	r.add(Warn, "DNS still publishes key %d (%s), which is decrypt-only: run `edge keys publish`", k.Config.ID, k.File)
}

// in says when, seen from now.
func in(d time.Duration) string {
	if d <= 0 {
		return "by the next rotation"
	}
	return "in " + d.Round(time.Second).String()
}

// judgeCaches asks for each key that was replaced whether it outlives the caches
// that hold it, and whether there may be caches with keys that are gone.
func (r *Report) judgeCaches(o *Options, ttl time.Duration) {
	for _, k := range o.set().Keys() {
		if k.Role != ech.DecryptOnly || k.RemoveAfter.IsZero() || !k.RemoveAfter.After(o.Now) {
			continue
		}
		if next := successor(o.set(), k); next != nil && k.RemoveAfter.Before(next.NotBefore.Add(ttl)) {
			r.add(Warn, "key %d (%s) is to be removed %v after its successor was given out, within the TTL of %v: rotate with a longer overlap, or lower the TTL",
				k.Config.ID, k.File, k.RemoveAfter.Sub(next.NotBefore), ttl)
		}
	}
	for _, k := range keydir.GivenOut(o.set(), o.Now) {
		age := o.Now.Sub(k.NotBefore)
		if k.NotBefore.IsZero() || age >= ttl || predecessor(o.set(), k) != nil {
			continue
		}
		r.add(Note, "key %d is younger (%v) than the TTL (%v) and follows no other here: if something else was published before, caches may hold that until %s",
			k.Config.ID, age.Round(time.Second), ttl, k.NotBefore.Add(ttl).UTC().Format(time.RFC3339))
	}
}

func sameName(a, b *ech.Key) bool { return strings.EqualFold(a.Config.PublicName, b.Config.PublicName) }

// successor returns the next key for the same public name, nil when there is
// none.
func successor(set *ech.Set, k *ech.Key) *ech.Key {
	var next *ech.Key
	for _, o := range set.Keys() {
		if sameName(o, k) && o.NotBefore.After(k.NotBefore) && (next == nil || o.NotBefore.Before(next.NotBefore)) {
			next = o
		}
	}
	return next
}

// predecessor returns a key for the same public name from before, nil when there
// is none.
func predecessor(set *ech.Set, k *ech.Key) *ech.Key {
	for _, o := range set.Keys() {
		if sameName(o, k) && o.NotBefore.Before(k.NotBefore) {
			return o
		}
	}
	return nil
}

// compareServers finds servers that publish another list than the first.
func (r *Report) compareServers() {
	var reference *DNS
	for i := range r.DNS {
		d := &r.DNS[i]
		if d.first() == nil {
			continue
		}
		if reference == nil {
			reference = d
			continue
		}
		if !bytes.Equal(d.first().list, reference.first().list) {
			r.add(Warn, "%s and %s publish different lists: a cache that will expire, or two views of one zone", reference.Server, d.Server)
		}
	}
}

// judgeConnections looks at what the server did.
func (r *Report) judgeConnections(o *Options) {
	for i := range r.Connections {
		c := &r.Connections[i]
		switch {
		case c.Error != "":
			r.add(Fail, "%s with %s: %s", c.Address, c.With, c.Error)
		case i == 0 && c.Rejected && c.retry == nil:
			r.add(Fail, "%s rejected %s and gave no retry_configs: it has no keys, or %s is relayed: clients go on without ECH", c.Address, c.With, c.Name)
		case i == 0 && c.Rejected:
			r.add(Fail, "%s rejected %s: it holds other keys than are published", c.Address, c.With)
		case i == 1 && c.With == "the retry_configs" && !c.Accepted:
			r.add(Fail, "%s rejected its own retry_configs: its machines do not hold the same keys", c.Address)
		case i == 1 && c.Rejected:
			r.judgeRetry(o, c)
		}
		if c.Error == "" && c.Certificate != "" {
			r.add(Warn, "the certificate of %s for %s is not valid: %s%s", c.Address, c.Name, c.Certificate, needed(c))
		}
	}
}

// needed says what a certificate is for when it is that of the public name.
func needed(c *Connection) string {
	if c.Rejected {
		return ": clients do not believe its retry_configs (RFC 9849, 6.1.6)"
	}
	return ""
}

// judgeRetry compares what the server gives out with DNS and with the keys.
func (r *Report) judgeRetry(o *Options, c *Connection) {
	published, _ := r.published()
	switch {
	case c.retry == nil:
		r.add(Warn, "%s gives no retry_configs: clients with a list from before go on without ECH", c.Address)
	case o.Keys != nil && !bytes.Equal(c.retry, o.set().RetryConfigs(o.Now)):
		r.add(Warn, "%s gives out the configs %s, and %s holds %s: reload it (SIGHUP)", c.Address, ids(c.Retry), o.Dir, idsOf(keydir.GivenOut(o.set(), o.Now)))
	case published != nil && !bytes.Equal(c.retry, published):
		r.add(Warn, "%s gives out other configs (%s) than are published", c.Address, ids(c.Retry))
	}
}

// ids lists config_ids.
func ids(configs []Config) string {
	var all []string
	for i := range configs {
		all = append(all, fmt.Sprint(configs[i].ID))
	}
	return strings.Join(all, ", ")
}

func idsOf(keys []*ech.Key) string {
	var all []string
	for _, k := range keys {
		all = append(all, fmt.Sprint(k.Config.ID))
	}
	return strings.Join(all, ", ")
}
