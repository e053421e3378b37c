// Programs of CENT's RISC-V cores: the scalars of RMSNorm and softmax, the largest score, rearrangement for RoPE.

#include "cent.h"

// Parameters that the host sets. FP32 numbers are bits.
volatile word inverse_length = 0x3f800000;   // of RMSNorm: 1 / elements of the vector
volatile word epsilon = 0x3727c5ac;          // of RMSNorm: 1e-5
#if ELEMENTS == 16
volatile word slots_per_vector = 1;          // of largest
#endif

// 1 / sqrt(s / n + epsilon) in all elements of a slot, from a sum of squares s in element 0.
void rmsnorm(word to, word from, word opsize, word core, word cores) {
  for (; core < opsize; core += cores) {
    READ(from + SLOT * core, 0);
    word factor = inverse_length, term = epsilon;   // while the sum is on its way
    word mean = multiply_add(take_fp32(), factor, term);
    fill(to + SLOT * core, to_bf16(reciprocal_square_root(mean)));
  }
}

// 1 / s in all elements of a slot, from a sum s in element 0.
void softmax(word to, word from, word opsize, word core, word cores) {
  for (; core < opsize; core += cores) {
    READ(from + SLOT * core, 0);
    fill(to + SLOT * core, to_bf16(reciprocal(take_fp32())));
  }
}

// The largest element of a vector of opsize slots, negated, in all elements of a slot; on core 0 alone.
void largest_of_all(word to, word from, word opsize, word core, word cores) {
  word most = 0xff800000;
  if (core) return;
  for (word end = from + SLOT * opsize; from != end; from += 2) {
    READ(from, 0);
    most = maximum(most, take_fp32());
  }
  fill(to, (most >> 16) ^ 0x8000);
}

// The first opsize elements of a slot, then zeros; on core 0 alone.
void tail(word to, word from, word opsize, word core, word cores) {
  if (core) return;
  for (word n = 0; n < SLOT; n += 2) {
    if (n < 2 * opsize) {
      READ(from + n, 0);
      MOVE(to + n, 0);
    } else {
      *(volatile unsigned short *)(to + n) = 0;
    }
  }
}

// The first opsize elements of a slot, then copies of element 0; on core 0 alone.
void repeat(word to, word from, word opsize, word core, word cores) {
  if (core) return;
  for (word n = 0; n < SLOT; n += 2) {
    READ(n < 2 * opsize ? from + n : from, 0);
    MOVE(to + n, 0);
  }
}

#if ELEMENTS == 16
// The largest element of each vector of slots_per_vector slots, negated, in all elements of a slot: addends that make the
// largest element 0.
void largest(word to, word from, word opsize, word core, word cores) {
  word slots = slots_per_vector;
  for (; core < opsize; core += cores) {
    word at = from + SLOT * slots * core, end = at + SLOT * slots, most = 0xff800000;
    for (; at != end; at += SLOT) {
      READ(at, 0); READ(at, 1); READ(at, 2); READ(at, 3); READ(at, 4); READ(at, 5); READ(at, 6); READ(at, 7);
#pragma clang loop unroll(full)
      for (int n = 0; n < 8; n++) most = maximum(most, take_fp32());
      READ(at, 8); READ(at, 9); READ(at, 10); READ(at, 11); READ(at, 12); READ(at, 13); READ(at, 14); READ(at, 15);
#pragma clang loop unroll(full)
      for (int n = 0; n < 8; n++) most = maximum(most, take_fp32());
    }
    fill(to + SLOT * core, (most >> 16) ^ 0x8000);
  }
}

// Pairs change places: [a, b, c, d, ...] becomes [b, a, d, c, ...]. RoPE is x * [cos, cos, ...] plus this * [-sin, sin, ...].
void rope_swap(word to, word from, word opsize, word core, word cores) {
  to += SLOT * core;
  from += SLOT * core;
  for (; core < opsize; core += cores, to += SLOT * cores, from += SLOT * cores) {
    READ(from, 1); READ(from, 0); READ(from, 3); READ(from, 2); READ(from, 5); READ(from, 4); READ(from, 7); READ(from, 6);
    MOVE(to, 0); MOVE(to, 1); MOVE(to, 2); MOVE(to, 3); MOVE(to, 4); MOVE(to, 5); MOVE(to, 6); MOVE(to, 7);
    READ(from, 9); READ(from, 8); READ(from, 11); READ(from, 10); READ(from, 13); READ(from, 12); READ(from, 15);
    READ(from, 14);
    MOVE(to, 8); MOVE(to, 9); MOVE(to, 10); MOVE(to, 11); MOVE(to, 12); MOVE(to, 13); MOVE(to, 14); MOVE(to, 15);
  }
}

// Complex numbers become real parts and, opsize / 2 slots behind them, imaginary parts: [a, b, c, d] becomes [a, c], [b, d].
// opsize is even.
void rope_split(word to, word from, word opsize, word core, word cores) {
  word half = SLOT / 2 * opsize;
  to += SLOT / 2 * core;
  from += SLOT * core;
  for (; core < opsize; core += cores, to += SLOT / 2 * cores, from += SLOT * cores) {
    word imaginary = to + half;
    READ(from, 0); READ(from, 1); READ(from, 2); READ(from, 3); READ(from, 4); READ(from, 5); READ(from, 6); READ(from, 7);
    MOVE(to, 0); MOVE(imaginary, 0); MOVE(to, 1); MOVE(imaginary, 1);
    MOVE(to, 2); MOVE(imaginary, 2); MOVE(to, 3); MOVE(imaginary, 3);
    READ(from, 8); READ(from, 9); READ(from, 10); READ(from, 11); READ(from, 12); READ(from, 13); READ(from, 14);
    READ(from, 15);
    MOVE(to, 4); MOVE(imaginary, 4); MOVE(to, 5); MOVE(imaginary, 5);
    MOVE(to, 6); MOVE(imaginary, 6); MOVE(to, 7); MOVE(imaginary, 7);
  }
}

// The inverse of rope_split.
void rope_join(word to, word from, word opsize, word core, word cores) {
  word half = SLOT / 2 * opsize;
  from += SLOT / 2 * core;
  to += SLOT * core;
  for (; core < opsize; core += cores, from += SLOT / 2 * cores, to += SLOT * cores) {
    word imaginary = from + half;
    READ(from, 0); READ(imaginary, 0); READ(from, 1); READ(imaginary, 1);
    READ(from, 2); READ(imaginary, 2); READ(from, 3); READ(imaginary, 3);
    MOVE(to, 0); MOVE(to, 1); MOVE(to, 2); MOVE(to, 3); MOVE(to, 4); MOVE(to, 5); MOVE(to, 6); MOVE(to, 7);
    READ(from, 4); READ(imaginary, 4); READ(from, 5); READ(imaginary, 5);
    READ(from, 6); READ(imaginary, 6); READ(from, 7); READ(imaginary, 7);
    MOVE(to, 8); MOVE(to, 9); MOVE(to, 10); MOVE(to, 11); MOVE(to, 12); MOVE(to, 13); MOVE(to, 14); MOVE(to, 15);
  }
}
#endif
