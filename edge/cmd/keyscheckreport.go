package cmd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"edge/edge/echcheck"
)

// writeReport prints what a check found, for people: facts first, then what they
// mean.
func writeReport(w io.Writer, r *echcheck.Report, dir string) error {
	var b strings.Builder
	for i := range r.DNS {
		writeDNS(&b, &r.DNS[i])
	}
	if len(r.Keys) > 0 {
		fmt.Fprintf(&b, "keys in %s\n", dir)
	}
	for i := range r.Keys {
		writeKey(&b, &r.Keys[i])
	}
	for i := range r.Connections {
		writeConnection(&b, &r.Connections[i])
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Level, f.Text)
	}
	if !r.Failed() {
		fmt.Fprintf(&b, "ok: %s\n", summaryOf(r))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func summaryOf(r *echcheck.Report) string {
	if len(r.Keys) == 0 {
		return "DNS publishes ECH for " + r.Name
	}
	return "clients get ECH for " + r.Name
}

func writeDNS(b *strings.Builder, d *echcheck.DNS) {
	how := "from a cache"
	if d.Authoritative {
		how = "authoritative"
	}
	if d.Error != "" {
		how = d.Error
	}
	fmt.Fprintf(b, "DNS of %s (%s)\n", d.Server, how)
	for _, a := range d.Aliases {
		fmt.Fprintf(b, "  %s is an alias\n", a)
	}
	for i := range d.Records {
		r := &d.Records[i]
		fmt.Fprintf(b, "  %s TTL %ds, priority %d, target %s%s\n", r.Name, r.TTL, r.Priority, r.Target, paramText(r))
		for j := range r.Configs {
			writeConfig(b, &r.Configs[j])
		}
	}
}

// paramText shows the parameters besides ech, which is shown taken apart.
func paramText(r *echcheck.Record) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(r.Params)) {
		if key != "ech" {
			fmt.Fprintf(&b, ", %s=%q", key, r.Params[key])
		}
	}
	return b.String()
}

func writeConfig(b *strings.Builder, c *echcheck.Config) {
	fmt.Fprintf(b, "    config %d for %s, %s: %s", c.ID, c.PublicName, c.KEM, roleText(c))
	switch {
	case c.Unusable != "":
		fmt.Fprintf(b, "; clients pass it over: %s", c.Unusable)
	case c.Chosen && c.Opens:
		b.WriteString("; clients encrypt to it, and it opens")
	case c.Chosen:
		b.WriteString("; clients encrypt to it")
	}
	b.WriteString("\n")
}

func roleText(c *echcheck.Config) string {
	if c.File == "" {
		return "not one of our keys"
	}
	return c.Role + " in " + c.File
}

func writeKey(b *strings.Builder, k *echcheck.Key) {
	fmt.Fprintf(b, "  key %d for %s, %s: %s", k.ID, k.PublicName, k.KEM, k.Role)
	if k.GivenOut {
		b.WriteString(", given out")
	}
	if k.NotBefore != nil {
		fmt.Fprintf(b, ", from %s", stamp(*k.NotBefore))
	}
	if k.RemoveAfter != nil {
		fmt.Fprintf(b, ", to be removed after %s", k.RemoveAfter.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(b, " (%s)\n", k.File)
}

func writeConnection(b *strings.Builder, c *echcheck.Connection) {
	fmt.Fprintf(b, "handshake with %s, configs from %s: ", c.Address, c.With)
	switch {
	case c.Error != "":
		fmt.Fprintf(b, "%s\n", c.Error)
		return
	case c.Accepted:
		b.WriteString("accepted")
	case len(c.Retry) == 0:
		b.WriteString("rejected, no retry_configs")
	default:
		b.WriteString("rejected, retry_configs")
		for i := range c.Retry {
			fmt.Fprintf(b, " %d", c.Retry[i].ID)
		}
	}
	if c.Certificate == "" {
		fmt.Fprintf(b, "; certificate for %s is valid", c.Name)
	}
	b.WriteString("\n")
}
