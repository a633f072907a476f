package bpfvm

// interp_atomic.go: read-modify-write (RFC 9669, 5.3). They are atomic between
// workers, which matters for values of shared maps.

import (
	"sync/atomic"

	"edge/bpfvm/isa"
)

func (m *machine) atomicInsn(in isa.Insn, addr, off uint64) bool {
	if addr%uint64(in.Width()) != 0 {
		m.failed, m.addr = exitAlign, addr
		return false
	}
	src := &m.regs[in.Src()]
	if in.Width() == 4 {
		old := m.atomic32(in.Imm, word32(m.mem, off), uint32(*src))
		m.fetched(in.Imm, src, uint64(old))
		return true
	}
	old := m.atomic64(in.Imm, word64(m.mem, off), *src)
	m.fetched(in.Imm, src, old)
	return true
}

// fetched puts the old value where the operation wants it.
func (m *machine) fetched(op int32, src *uint64, old uint64) {
	switch {
	case op == isa.AtomicCmpxchg:
		m.regs[isa.R0] = old
	case op&isa.AtomicFetch != 0:
		*src = old
	}
}

func (m *machine) atomic64(op int32, p *uint64, v uint64) (old uint64) {
	switch op &^ isa.AtomicFetch {
	case isa.AtomicAdd:
		return atomic.AddUint64(p, v) - v
	case isa.AtomicOr:
		return atomic.OrUint64(p, v)
	case isa.AtomicAnd:
		return atomic.AndUint64(p, v)
	case isa.AtomicXchg &^ isa.AtomicFetch:
		return atomic.SwapUint64(p, v)
	}
	for {
		old = atomic.LoadUint64(p)
		next := old ^ v // isa.AtomicXor
		if op == isa.AtomicCmpxchg {
			next = v
			if old != m.regs[isa.R0] {
				return old
			}
		}
		if atomic.CompareAndSwapUint64(p, old, next) {
			return old
		}
	}
}

func (m *machine) atomic32(op int32, p *uint32, v uint32) (old uint32) {
	switch op &^ isa.AtomicFetch {
	case isa.AtomicAdd:
		return atomic.AddUint32(p, v) - v
	case isa.AtomicOr:
		return atomic.OrUint32(p, v)
	case isa.AtomicAnd:
		return atomic.AndUint32(p, v)
	case isa.AtomicXchg &^ isa.AtomicFetch:
		return atomic.SwapUint32(p, v)
	}
	for {
		old = atomic.LoadUint32(p)
		next := old ^ v // isa.AtomicXor
		if op == isa.AtomicCmpxchg {
			next = v
			if old != uint32(m.regs[isa.R0]) {
				return old
			}
		}
		if atomic.CompareAndSwapUint32(p, old, next) {
			return old
		}
	}
}
