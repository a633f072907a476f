package asm

// operand.go: registers, numbers and memory operands.

import (
	"fmt"
	"strconv"
	"strings"

	"edge/bpfvm/isa"
)

func register(s string) (uint8, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(s, "%"), "r"), 10, 8)
	if err != nil || n >= isa.Registers || !strings.Contains(s, "r") {
		return 0, fmt.Errorf("bad register %q", s)
	}
	return uint8(n), nil
}

func isRegister(s string) bool {
	_, err := register(s)
	return err == nil
}

// number32 reads a decimal of the signed or a hexadecimal of the unsigned range:
// 0xffffffff is -1, 4294967295 is an error.
func number32(s string) (int32, error) {
	if v, err := strconv.ParseInt(s, 0, 32); err == nil {
		return int32(v), nil
	}
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") {
		if v, err := strconv.ParseUint(s, 0, 32); err == nil {
			return int32(uint32(v)), nil
		}
		// The suite writes negative 32-bit constants sign-extended to 64 bits too.
		if v, err := strconv.ParseUint(s, 0, 64); err == nil && int64(v) == int64(int32(v)) {
			return int32(v), nil
		}
	}
	return 0, fmt.Errorf("bad 32-bit number %q", s)
}

func number64(s string) (uint64, error) {
	if v, err := strconv.ParseInt(s, 0, 64); err == nil {
		return uint64(v), nil
	}
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("bad 64-bit number %q", s)
	}
	return v, nil
}

// memory reads [%rN], [%rN+off] or [%rN-off].
func memory(s string) (reg uint8, off int16, err error) {
	inner, ok := strings.CutPrefix(s, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !ok || !closed {
		return 0, 0, fmt.Errorf("bad memory operand %q", s)
	}
	inner = strings.ReplaceAll(inner, " ", "")
	at := strings.IndexAny(inner, "+-")
	if at < 0 {
		reg, err = register(inner)
		return reg, 0, err
	}
	if reg, err = register(inner[:at]); err != nil {
		return 0, 0, err
	}
	v, err := strconv.ParseInt(inner[at:], 0, 16)
	if err != nil {
		return 0, 0, fmt.Errorf("bad offset in %q", s)
	}
	return reg, int16(v), nil
}
