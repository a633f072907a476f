package gateway

import (
	"encoding/hex"
	"fmt"
	"os"
)

// keyLog is the file of --key-log, in the form of the NSS key log that Wireshark
// and others read. Lines are written off the workers' threads, and dropped where
// the disk cannot follow. The nil keyLog writes nothing.
type keyLog struct {
	file *os.File
	to   *logFile
}

const (
	// keyLogMode: what is in it opens every connection.
	keyLogMode = 0o600
	// keyLogLinesMax is how many lines wait for the disk, of some 200 bytes each:
	// those of 1,600 handshakes.
	keyLogLinesMax = 8192
)

// openKeyLog opens the file and says what that means; nil without a path. The
// environment (SSLKEYLOGFILE) has no say: only the flag does.
func openKeyLog(path string, report func(string, ...any)) (*keyLog, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, keyLogMode)
	if err != nil {
		return nil, fmt.Errorf("--key-log: %w", err)
	}
	if err := restrictKeyLog(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("--key-log: %w", err)
	}
	report("--key-log %s: WARNING: the secrets of every connection are written there, and whoever has them reads all traffic; "+
		"delete the file and leave the flag out when you are done", path)
	return &keyLog{file, startLogFile("key log", "", file, keyLogLinesMax, report)}, nil
}

// restrictKeyLog takes a file that was there already from all users but its owner.
// A pipe or a terminal is left as it is.
func restrictKeyLog(file *os.File) error {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return file.Chmod(keyLogMode)
}

// writer is what tlsstack.Config.KeyLog wants, nil for none. It may be called from
// any worker, and blocks none.
func (k *keyLog) writer() func(label string, clientRandom, secret []byte) {
	if k == nil {
		return nil
	}
	return func(label string, clientRandom, secret []byte) {
		b := make([]byte, 0, len(label)+2*len(clientRandom)+2*len(secret)+3)
		b = append(append(b, label...), ' ')
		b = append(hex.AppendEncode(b, clientRandom), ' ')
		k.to.put(append(hex.AppendEncode(b, secret), '\n'), 1)
	}
}

// close writes what waits. No worker may run any more.
func (k *keyLog) close() {
	if k == nil {
		return
	}
	if k.to.end() {
		k.to.tellLost()
		k.file.Close()
	}
}
