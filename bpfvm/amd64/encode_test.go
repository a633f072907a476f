package amd64

import (
	"fmt"
	"testing"
)

// encodings: constructor, text in Intel's syntax, bytes. The bytes were checked by
// disassembling them (llvm-mc --disassemble --x86-asm-syntax=intel).
var encodings = []struct {
	emit func(*Assembler)
	text string
	hex  string
}{
	{func(a *Assembler) { a.Mov(8, RAX, RBX) }, "mov rax, rbx", "4889d8"},
	{func(a *Assembler) { a.Mov(4, R8, RBP) }, "mov r8d, ebp", "4189e8"},
	{func(a *Assembler) { a.Mov(8, R15, R12) }, "mov r15, r12", "4d89e7"},
	{func(a *Assembler) { a.MovImm32(R10, 0xfffffffe) }, "mov r10d, 4294967294", "41bafeffffff"},
	{func(a *Assembler) { a.MovImm64(RDI, 0) }, "xor edi, edi", "31ff"},
	{func(a *Assembler) { a.MovImm64(R9, 0x80000000) }, "mov r9d, 2147483648", "41b900000080"},
	{func(a *Assembler) { a.MovImm64(R9, ^uint64(0)) }, "mov r9, -1", "49c7c1ffffffff"},
	{func(a *Assembler) { a.MovImm64(R13, 0x1122334455667788) }, "movabs r13, 1234605616436508552", "49bd8877665544332211"},
	{func(a *Assembler) { a.Movzx(1, RAX, RSI) }, "movzx eax, sil", "400fb6c6"},
	{func(a *Assembler) { a.Movzx(1, R9, RBX) }, "movzx r9d, bl", "440fb6cb"},
	{func(a *Assembler) { a.Movzx(2, R14, RBP) }, "movzx r14d, bp", "440fb7f5"},
	{func(a *Assembler) { a.Movsx(8, 1, RBX, RDI) }, "movsx rbx, dil", "480fbedf"},
	{func(a *Assembler) { a.Movsx(4, 1, RBX, RBX) }, "movsx ebx, bl", "0fbedb"},
	{func(a *Assembler) { a.Movsx(4, 2, R8, R9) }, "movsx r8d, r9w", "450fbfc1"},
	{func(a *Assembler) { a.Movsx(8, 2, R8, RAX) }, "movsx r8, ax", "4c0fbfc0"},
	{func(a *Assembler) { a.Movsx(8, 4, RBP, R15) }, "movsxd rbp, r15d", "4963ef"},
	{func(a *Assembler) { a.Load(1, RSI, Mem{R12, RCX, 0}) }, "movzx esi, byte ptr [r12 + rcx]", "410fb6340c"},
	{func(a *Assembler) { a.Load(2, R10, Mem{R12, RCX, 64}) }, "movzx r10d, word ptr [r12 + rcx + 64]", "450fb7540c40"},
	{func(a *Assembler) { a.Load(4, RAX, Mem{R12, RBP, -65544}) }, "mov eax, dword ptr [r12 + rbp - 65544]", "418b842cf8fffeff"},
	{func(a *Assembler) { a.Load(8, R13, Mem{R12, NoIndex, -8}) }, "mov r13, qword ptr [r12 - 8]", "4d8b6c24f8"},
	{func(a *Assembler) { a.Load(8, RAX, Mem{R13, NoIndex, 0}) }, "mov rax, qword ptr [r13]", "498b4500"},
	{func(a *Assembler) { a.Load(8, RAX, Mem{RBP, RCX, 0}) }, "mov rax, qword ptr [rbp + rcx]", "488b440d00"},
	{func(a *Assembler) { a.Load(8, RAX, Mem{RDI, NoIndex, 0}) }, "mov rax, qword ptr [rdi]", "488b07"},
	{func(a *Assembler) { a.Load(8, RAX, Mem{R12, NoIndex, 0}) }, "mov rax, qword ptr [r12]", "498b0424"},
	{func(a *Assembler) { a.LoadSigned(1, RDI, Mem{R12, RCX, 0}) }, "movsx rdi, byte ptr [r12 + rcx]", "490fbe3c0c"},
	{func(a *Assembler) { a.LoadSigned(2, R15, Mem{R12, RCX, 0}) }, "movsx r15, word ptr [r12 + rcx]", "4d0fbf3c0c"},
	{func(a *Assembler) { a.LoadSigned(4, RBX, Mem{R12, RCX, 0}) }, "movsxd rbx, dword ptr [r12 + rcx]", "49631c0c"},
	{func(a *Assembler) { a.Store(1, Mem{R12, RCX, 128}, RDI) }, "mov byte ptr [r12 + rcx + 128], dil", "4188bc0c80000000"},
	{func(a *Assembler) { a.Store(1, Mem{RAX, NoIndex, 0}, RSI) }, "mov byte ptr [rax], sil", "408830"},
	{func(a *Assembler) { a.Store(1, Mem{RAX, NoIndex, 0}, RBX) }, "mov byte ptr [rax], bl", "8818"},
	{func(a *Assembler) { a.Store(2, Mem{R12, RCX, 0}, R8) }, "mov word ptr [r12 + rcx], r8w", "664589040c"},
	{func(a *Assembler) { a.Store(4, Mem{R12, RCX, 0}, RBP) }, "mov dword ptr [r12 + rcx], ebp", "41892c0c"},
	{func(a *Assembler) { a.Store(8, Mem{R12, RBP, -127}, R11) }, "mov qword ptr [r12 + rbp - 127], r11", "4d895c2c81"},
	{func(a *Assembler) { a.StoreImm(1, Mem{R12, RCX, 0}, -1) }, "mov byte ptr [r12 + rcx], -1", "41c6040cff"},
	{func(a *Assembler) { a.StoreImm(2, Mem{R12, RCX, 0}, 4660) }, "mov word ptr [r12 + rcx], 4660", "6641c7040c3412"},
	{func(a *Assembler) { a.StoreImm(4, Mem{R12, NoIndex, -76}, 7) }, "mov dword ptr [r12 - 76], 7", "41c74424b407000000"},
	{func(a *Assembler) { a.StoreImm(8, Mem{R12, RCX, 0}, -2) }, "mov qword ptr [r12 + rcx], -2", "49c7040cfeffffff"},
	{func(a *Assembler) { a.Alu(ADD, 8, RAX, R15) }, "add rax, r15", "4c01f8"},
	{func(a *Assembler) { a.Alu(OR, 4, R14, RDI) }, "or r14d, edi", "4109fe"},
	{func(a *Assembler) { a.Alu(AND, 8, R8, R9) }, "and r8, r9", "4d21c8"},
	{func(a *Assembler) { a.Alu(SUB, 4, RBX, RBX) }, "sub ebx, ebx", "29db"},
	{func(a *Assembler) { a.Alu(XOR, 8, R10, RSI) }, "xor r10, rsi", "4931f2"},
	{func(a *Assembler) { a.Alu(CMP, 8, RBP, RAX) }, "cmp rbp, rax", "4839c5"},
	{func(a *Assembler) { a.AluImm(ADD, 8, RBP, 512) }, "add rbp, 512", "4881c500020000"},
	{func(a *Assembler) { a.AluImm(SUB, 8, R11, 3) }, "sub r11, 3", "4983eb03"},
	{func(a *Assembler) { a.AluImm(AND, 4, RCX, 1048575) }, "and ecx, 1048575", "81e1ffff0f00"},
	{func(a *Assembler) { a.AluImm(CMP, 4, R13, -1) }, "cmp r13d, -1", "4183fdff"},
	{func(a *Assembler) { a.AluLoad(CMP, 8, RCX, Mem{R12, NoIndex, -64}) }, "cmp rcx, qword ptr [r12 - 64]", "493b4c24c0"},
	{func(a *Assembler) { a.AluLoad(XOR, 4, RDX, Mem{R12, NoIndex, -112}) }, "xor edx, dword ptr [r12 - 112]", "4133542490"},
	{func(a *Assembler) { a.Test(8, RDI, RDI) }, "test rdi, rdi", "4885ff"},
	{func(a *Assembler) { a.Test(4, R8, RAX) }, "test r8d, eax", "4185c0"},
	{func(a *Assembler) { a.TestImm(8, R9, -4) }, "test r9, -4", "49f7c1fcffffff"},
	{func(a *Assembler) { a.TestImm(4, RCX, 7) }, "test ecx, 7", "f7c107000000"},
	{func(a *Assembler) { a.Imul(8, R8, RDI) }, "imul r8, rdi", "4c0fafc7"},
	{func(a *Assembler) { a.Imul(4, RAX, R15) }, "imul eax, r15d", "410fafc7"},
	{func(a *Assembler) { a.ImulImm(8, R9, 100) }, "imul r9, r9, 100", "4d6bc964"},
	{func(a *Assembler) { a.ImulImm(4, RSI, 16777619) }, "imul esi, esi, 16777619", "69f693010001"},
	{func(a *Assembler) { a.Neg(8, R15) }, "neg r15", "49f7df"},
	{func(a *Assembler) { a.Neg(4, RAX) }, "neg eax", "f7d8"},
	{func(a *Assembler) { a.Div(8, RCX) }, "div rcx", "48f7f1"},
	{func(a *Assembler) { a.Idiv(4, RCX) }, "idiv ecx", "f7f9"},
	{func(a *Assembler) { a.SignToRDX(8) }, "cqo", "4899"},
	{func(a *Assembler) { a.SignToRDX(4) }, "cdq", "99"},
	{func(a *Assembler) { a.ShiftImm(SHL, 8, R8, 63) }, "shl r8, 63", "49c1e03f"},
	{func(a *Assembler) { a.ShiftImm(SHR, 4, RBP, 5) }, "shr ebp, 5", "c1ed05"},
	{func(a *Assembler) { a.ShiftImm(ROL, 2, R10, 8) }, "rol r10w, 8", "6641c1c208"},
	{func(a *Assembler) { a.ShiftImm(ROL, 2, RBX, 8) }, "rol bx, 8", "66c1c308"},
	{func(a *Assembler) { a.ShiftCL(SAR, 8, RSI) }, "sar rsi, cl", "48d3fe"},
	{func(a *Assembler) { a.ShiftCL(SAR, 4, R13) }, "sar r13d, cl", "41d3fd"},
	{func(a *Assembler) { a.Bswap(4, RDI) }, "bswap edi", "0fcf"},
	{func(a *Assembler) { a.Bswap(8, R14) }, "bswap r14", "490fce"},
	{func(a *Assembler) { a.Xchg(RAX, R9) }, "xchg rax, r9", "4c87c8"},
	{func(a *Assembler) { a.XchgMem(4, Mem{R12, RCX, 0}, R8) }, "xchg dword ptr [r12 + rcx], r8d", "4587040c"},
	{func(a *Assembler) { a.XchgMem(8, Mem{R12, RCX, 0}, RAX) }, "xchg qword ptr [r12 + rcx], rax", "4987040c"},
	{func(a *Assembler) { a.LockAlu(ADD, 8, Mem{R12, RCX, 64}, R15) }, "lock add qword ptr [r12 + rcx + 64], r15", "f04d017c0c40"},
	{func(a *Assembler) { a.LockAlu(AND, 4, Mem{R12, RCX, 64}, RBX) }, "lock and dword ptr [r12 + rcx + 64], ebx", "f041215c0c40"},
	{func(a *Assembler) { a.LockXadd(8, Mem{R12, RBP, -65600}, RDI) }, "lock xadd qword ptr [r12 + rbp - 65600], rdi", "f0490fc1bc2cc0fffeff"},
	{func(a *Assembler) { a.LockXadd(4, Mem{R12, RCX, 0}, R10) }, "lock xadd dword ptr [r12 + rcx], r10d", "f0450fc1140c"},
	{func(a *Assembler) { a.LockCmpxchg(8, Mem{R12, RCX, 0}, RDX) }, "lock cmpxchg qword ptr [r12 + rcx], rdx", "f0490fb1140c"},
	{func(a *Assembler) { a.LockCmpxchg(4, Mem{R12, RCX, 0}, R14) }, "lock cmpxchg dword ptr [r12 + rcx], r14d", "f0450fb1340c"},
	{func(a *Assembler) { a.Lea(RCX, Mem{R13, NoIndex, -65528}) }, "lea rcx, [r13 - 65528]", "498d8d0800ffff"},
	{func(a *Assembler) { a.Lea(RCX, Mem{RBX, NoIndex, 8}) }, "lea rcx, [rbx + 8]", "488d4b08"},
	{func(a *Assembler) { a.JmpMem(Mem{R12, RCX, -432}) }, "jmp qword ptr [r12 + rcx - 432]", "41ffa40c50feffff"},
	{func(a *Assembler) { a.Ret() }, "ret", "c3"},
}

func TestEncodings(t *testing.T) {
	for _, e := range encodings {
		var a Assembler
		e.emit(&a)
		got := fmt.Sprintf("%x", a.Finish())
		if got != e.hex {
			t.Errorf("%s: got %s, want %s", e.text, got, e.hex)
		}
	}
}

// TestLabels checks distances both ways, short and long.
func TestLabels(t *testing.T) {
	var a Assembler
	start, end := a.NewLabel(), a.NewLabel()
	a.Bind(start)
	a.Jcc(NotEqual, end) // 0f 85, 32 bits, to 0x16
	a.LeaLabel(RDX, end) // 48 8d 15
	a.Jmp(start)         // eb, to 0
	a.Jcc(Below, start)  // 72, to 0
	a.Jmp(end)           // e9 00000000
	a.Bind(end)
	if got, want := fmt.Sprintf("% x", a.Finish()), "0f 85 10 00 00 00 48 8d 15 09 00 00 00 eb f1 72 ef e9 00 00 00 00"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	var far Assembler
	back := far.NewLabel()
	far.Bind(back)
	for range 126 {
		far.Ret()
	}
	far.Jmp(back) // just reaches
	far.Jmp(back) // does not
	code := far.Finish()
	if got, want := fmt.Sprintf("% x", code[126:]), "eb 80 e9 7b ff ff ff"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUnboundLabel(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a label that is used but not bound was accepted")
		}
	}()
	var a Assembler
	a.Jmp(a.NewLabel())
	a.Finish()
}
