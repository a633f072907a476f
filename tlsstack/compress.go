package tlsstack

import (
	"bytes"
	"compress/zlib"
	"sync"

	"edge/tlsstack/wire"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Certificate compression (RFC 8879). A form is made once for each credential,
// when the first client asks for it, and kept: a store of many certificates does
// not pay for those that nobody visits.

// Compressor is one compression algorithm.
type Compressor struct {
	Algorithm wire.CompressionAlgorithm
	Compress  func(message []byte) ([]byte, error)
}

// Compressors are the algorithms of RFC 8879, best first: what they make of a
// usual chain differs by a few per cent, zlib is what clients without the others
// have.
var Compressors = []Compressor{
	{wire.CompressBrotli, compressBrotli},
	{wire.CompressZstd, compressZstd},
	{wire.CompressZlib, compressZlib},
}

// brotliQuality keeps the one compression under a millisecond; the best quality
// takes ten times as long for two per cent.
const brotliQuality = 5

func compressBrotli(message []byte) ([]byte, error) {
	var b bytes.Buffer
	w := brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: brotliQuality, LGWin: 16})
	if _, err := w.Write(message); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

func compressZstd(message []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(64<<10))
	if err != nil {
		return nil, err
	}
	return w.EncodeAll(message, nil), w.Close()
}

func compressZlib(message []byte) ([]byte, error) {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(message); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

// compressedForms are the forms of one credential made so far.
type compressedForms struct {
	mu    sync.Mutex
	forms map[formKey]*compressedForm
}

// formKey names a form: the algorithm, and what the message holds beside the
// chain.
type formKey struct {
	algorithm   wire.CompressionAlgorithm
	staple, sct bool
}

// compressedForm is the result; message is nil when compressing failed.
type compressedForm struct {
	once    sync.Once
	message []byte // whole CompressedCertificate message
}

// form returns the entry of a key, made if it is not there.
func (c *Credential) form(key formKey) *compressedForm {
	all := c.compressed.Load()
	if all == nil {
		c.compressed.CompareAndSwap(nil, &compressedForms{forms: map[formKey]*compressedForm{}})
		all = c.compressed.Load()
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	f := all.forms[key]
	if f == nil {
		f = new(compressedForm)
		all.forms[key] = f
	}
	return f
}

// compressedMessage returns the CompressedCertificate of message with algorithm
// z, nil when compressing failed.
func (c *Credential) compressedMessage(z *Compressor, key formKey, message []byte) []byte {
	f := c.form(key)
	f.once.Do(func() {
		body := message[wire.HeaderBytes:]
		data, err := z.Compress(body)
		if err != nil || len(data) == 0 {
			return
		}
		m := wire.CompressedCertificate{Algorithm: z.Algorithm, UncompressedLength: len(body), Data: data}
		f.message = m.Append(nil)
	})
	return f.message
}

// appendCertificate appends the Certificate message, compressed if the client
// and the configuration have an algorithm in common (RFC 8879, 4).
func (c *Conn) appendCertificate(dst []byte) []byte {
	cred, hello := c.hs.params.credential, &c.hs.hello
	m := wire.Certificate{Chain: cred.Chain}
	if hello.OCSPStapling {
		m.Staple = cred.Staple
	}
	if hello.Has(wire.ExtSCT) {
		m.SCTList = cred.SCTList
	}
	at := len(dst)
	dst = m.Append(dst)
	z := c.compressor()
	if z == nil {
		return dst
	}
	key := formKey{z.Algorithm, m.Staple != nil, m.SCTList != nil}
	if small := cred.compressedMessage(z, key, dst[at:]); small != nil {
		return append(dst[:at], small...)
	}
	return dst
}

// compressor returns our first algorithm that the client offers.
func (c *Conn) compressor() *Compressor {
	offered := c.hs.hello.CertificateCompression
	for i := range c.cfg.Compressors {
		if offered.Contains(uint16(c.cfg.Compressors[i].Algorithm)) {
			return &c.cfg.Compressors[i]
		}
	}
	return nil
}
