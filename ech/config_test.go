package ech_test

import (
	"bytes"
	"testing"

	"edge/ech"
)

// TestConfigListVectors parses lists and judges each config as a client does
// (RFC 9849, 4 and 6.1.7).
func TestConfigListVectors(t *testing.T) {
	type vector struct {
		Name         string
		List         hexBytes `json:"ech_config_list_hex"`
		Parses       bool     `json:"list_parses"`
		Usable       []bool   `json:"client_usable"`
		ClientSelect int      `json:"client_selects"`
	}
	for _, v := range readVectors[vector](t, "ech/config_lists.json") {
		configs, err := ech.ParseConfigList(v.List)
		if (err == nil) != v.Parses {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		selected := -1
		var raws [][]byte
		for i, c := range configs {
			err := c.Usable()
			if (err == nil) != v.Usable[i] {
				t.Errorf("%s: config %d: %v", v.Name, i, err)
			}
			if err == nil && selected < 0 {
				selected = i
			}
			raws = append(raws, c.Raw)
		}
		if selected != v.ClientSelect {
			t.Errorf("%s: selected %d", v.Name, selected)
		}
		if list, err := ech.AppendConfigList(nil, raws...); v.Parses && (err != nil || !bytes.Equal(list, v.List)) {
			t.Errorf("%s: rebuilt as %x, %v", v.Name, list, err)
		}
	}
}

// TestConfigListCut cuts every good list at every byte: none of the pieces is one.
func TestConfigListCut(t *testing.T) {
	type vector struct {
		List hexBytes `json:"ech_config_list_hex"`
	}
	for _, v := range readVectors[vector](t, "ech/config_lists.json") {
		if _, err := ech.ParseConfigList(v.List); err != nil {
			continue
		}
		for n := range v.List {
			if _, err := ech.ParseConfigList(v.List[:n]); err == nil {
				t.Errorf("%x parses when cut to %d bytes", v.List, n)
			}
		}
	}
}

func FuzzParseConfigList(f *testing.F) {
	type vector struct {
		List hexBytes `json:"ech_config_list_hex"`
	}
	for _, v := range readVectors[vector](f, "ech/config_lists.json") {
		f.Add([]byte(v.List))
	}
	f.Fuzz(func(t *testing.T, list []byte) {
		configs, err := ech.ParseConfigList(list)
		if err != nil {
			return
		}
		var raws [][]byte
		for _, c := range configs {
			c.Usable()
			raws = append(raws, c.Raw)
		}
		if again, err := ech.AppendConfigList(nil, raws...); err != nil || !bytes.Equal(again, list) {
			t.Errorf("%x became %x, %v", list, again, err)
		}
	})
}
