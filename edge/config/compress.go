package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The codings of --compress.
var compressCodings = []string{"zstd", "br", "gzip"}

// compressTypes is what text is called in the field, and what compresses like it:
// fonts that are not WOFF, icons, WebAssembly.
var compressTypes = []string{
	"text/*", "+json", "+xml", "+text", "+yaml",
	"application/json", "application/json-seq", "application/jsonl", "application/ndjson", "application/x-ndjson",
	"application/javascript", "application/x-javascript", "application/ecmascript",
	"application/xml", "application/xml-dtd", "application/yaml", "application/x-yaml", "application/toml",
	"application/graphql", "application/sql", "application/rtf", "application/wasm", "application/vnd.apple.mpegurl",
	"application/vnd.ms-fontobject", "font/ttf", "font/otf", "font/collection",
	"image/bmp", "image/x-icon", "image/vnd.microsoft.icon",
}

// compressMinBytes: what fits into one packet anyway gains nothing from being half
// of it, and what is shorter still hardly becomes so.
const compressMinBytes = 512

// checkCompress leaves the form of types to who reads them.
func (c *Config) checkCompress() error {
	for i, name := range c.Compress {
		if !slices.Contains(compressCodings, name) {
			return fmt.Errorf("--compress %q: give %s or some of them, the best first", name, strings.Join(compressCodings, ","))
		}
		if slices.Contains(c.Compress[:i], name) {
			return fmt.Errorf("--compress names %s twice", name)
		}
	}
	changed := !slices.Equal(c.CompressTypes, compressTypes) || c.CompressMinBytes != compressMinBytes
	if len(c.Compress) == 0 && changed {
		return errors.New("--compress-types and --compress-min-bytes are of no use without --compress: add --compress zstd,br,gzip")
	}
	if len(c.CompressTypes) == 0 {
		return errors.New("--compress-types is empty: give such as text/*,+json, or leave it out")
	}
	if c.CompressMinBytes > compressMinBytesMost {
		return fmt.Errorf("--compress-min-bytes %s: give at most %s", formatSize(c.CompressMinBytes), formatSize(compressMinBytesMost))
	}
	return nil
}

// compressMinBytesMost is above any sensible value: what is larger is a slip.
const compressMinBytesMost = gb
