package config

import (
	"slices"
	"strings"
	"testing"
)

func TestCompress(t *testing.T) {
	c, err := parse("--dev", "--compress", "br, gzip", "--compress", "zstd", "--compress-types", "text/html,+json", "--compress-min-bytes", "2k")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Compress, []string{"br", "gzip", "zstd"}) || !slices.Equal(c.CompressTypes, []string{"text/html", "+json"}) || c.CompressMinBytes != 2048 {
		t.Errorf("%q, %q, %d", c.Compress, c.CompressTypes, c.CompressMinBytes)
	}
	if c, err = parse("--dev"); err != nil || len(c.Compress) != 0 || !slices.Contains(c.CompressTypes, "text/*") {
		t.Errorf("by default %q, %q, %v", c.Compress, c.CompressTypes, err)
	}
}

func TestCompressRefusals(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"--compress deflate", `--compress "deflate"`},
		{"--compress gzip,gzip", "twice"},
		{"--compress-types text/html", "add --compress"},
		{"--compress-min-bytes 1", "add --compress"},
		{"--compress gzip --compress-types ,", "--compress-types is empty"},
		{"--compress gzip --compress-min-bytes 2g", "give at most 1g"},
		{"--compress gzip --max-compressed 0", "--max-compressed 0"},
		{"--compress gzip --compress-min-bytes much", "give a size"},
	} {
		_, err := parse(append([]string{"--dev"}, strings.Fields(c.args)...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to say %q", c.args, err, c.want)
		}
	}
}
