// The way into native code. Registers are those of jit_amd64.go; the state lies
// below the anchor (context.go). Native code returns with its registers stored.

#include "go_asm.h"
#include "textflag.h"

#define FIELD(offset) (offset - state__size)(R12)
#define REG(n) FIELD(state_regs + 8*n)

// func enterNative(anchor uintptr)
//
// The goroutine's stack while native code runs, and before and after:
//
//	  argument: anchor
//	  return address into Go                  SP before and after
//	  BP of the caller
//	  one unused word                         the frame of 8 bytes
//	  return address into this function       SP in native code, which only returns
//
// The frame is there so that the assembler saves and restores BP, which is r10 in
// native code. R14 and X15 are Go's; the wrapper that Go code calls this through
// sets them up again.
TEXT ·enterNative(SB), NOSPLIT, $8-8
	MOVQ anchor+0(FP), R12
	MOVQ REG(0), AX
	MOVQ REG(1), DI
	MOVQ REG(2), SI
	MOVQ REG(3), R8
	MOVQ REG(4), R9
	MOVQ REG(5), R10
	MOVQ REG(6), BX
	MOVQ REG(7), R13
	MOVQ REG(8), R14
	MOVQ REG(9), R15
	MOVQ REG(10), BP
	MOVQ FIELD(state_budget), R11
	MOVQ FIELD(state_resume), CX
	CALL CX
	RET
