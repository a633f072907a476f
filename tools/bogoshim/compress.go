package main

import (
	"crypto/rand"
	"errors"

	"edge/tlsstack"
	"edge/tlsstack/wire"
)

// toys are the runner's own compression algorithms, in the order the runner
// prefers.
var toys = []tlsstack.Compressor{
	{Algorithm: 0xff02, Compress: func(m []byte) ([]byte, error) {
		return append([]byte{1, 2, 3, 4}, m...), nil
	}},
	{Algorithm: 0xff01, Compress: func(m []byte) ([]byte, error) {
		if len(m) < 2 || m[0] != 0 || m[1] != 0 {
			return nil, errors.New("message does not begin with two zeros")
		}
		return m[2:], nil
	}},
	{Algorithm: 0xff03, Compress: func(m []byte) ([]byte, error) {
		out := make([]byte, 1, 1+len(m))
		_, err := rand.Read(out)
		return append(out, m...), err
	}},
}

// compressors are the ones a test installs.
func compressors(o *options) []tlsstack.Compressor {
	if o.compressAll {
		return toys
	}
	for i := range toys {
		if toys[i].Algorithm == wire.CompressionAlgorithm(o.compressOne) {
			return toys[i : i+1]
		}
	}
	return nil
}
