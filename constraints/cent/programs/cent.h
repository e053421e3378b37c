// Operations of a core of the unit cent-riscv, and addresses in the shared buffer.
//
// A program is a function without result:
//   void program(unsigned to, unsigned from, unsigned opsize, unsigned core, unsigned cores)
// to, from: byte addresses of the first slots of destination and source. The cores divide the micro-operations 0 to
// opsize - 1: core c does c, c + cores, c + 2 cores, ... Each micro-operation is one slot further in the shared buffer.

typedef unsigned word;

#ifndef ELEMENTS
#define ELEMENTS 16
#endif
enum { SLOT = 2 * ELEMENTS };     // bytes of a slot

#define OPERATION(kind, function, a, b)                                                             \
  ({                                                                                                \
    word result_;                                                                                   \
    __asm__ volatile(".insn r 0x0b, " #kind ", " #function ", %0, %1, %2"                           \
                     : "=r"(result_) : "r"(a), "r"(b) : "memory");                                  \
    result_;                                                                                        \
  })

#define COMMAND(kind, function, a, b)                                                               \
  __asm__ volatile(".insn r 0x0b, %0, %1, x0, %2, %3" : : "i"(kind), "i"(function), "r"(a), "r"(b) : "memory")

// FP32 numbers are kept in integer registers.
static inline word multiply(word a, word b) { return OPERATION(0, 0, a, b); }
static inline word add(word a, word b) { return OPERATION(0, 1, a, b); }
static inline word reciprocal(word a) { return OPERATION(0, 3, a, 0); }
static inline word reciprocal_square_root(word a) { return OPERATION(0, 4, a, 0); }
static inline word to_bf16(word a) { return OPERATION(0, 5, a, 0); }
static inline word maximum(word a, word b) { return OPERATION(0, 6, a, b); }

// a b + c, rounded once.
static inline word multiply_add(word a, word b, word c) {
  COMMAND(0, 7, c, 0);
  return OPERATION(0, 2, a, b);
}

// At most 8 reads may be under way. Their elements come in the order of the reads.
#define READ(address, element) COMMAND(2, element, address, 0)       // begin to read the element behind an address
#define MOVE(address, element) COMMAND(4, element, address, 0)       // write the next element that was read
static inline word take(void) { return OPERATION(3, 0, 0, 0); }      // the next element that was read
static inline word take_fp32(void) { return OPERATION(3, 1, 0, 0); } // the same as an FP32 number

// All elements of a slot.
static inline void fill(word slot, word element) {
#pragma clang loop unroll(full)
  for (int n = 0; n < ELEMENTS; n++) ((volatile unsigned short *)slot)[n] = (unsigned short)element;
}
