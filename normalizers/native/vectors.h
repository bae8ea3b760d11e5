/* Vectors of LANES floats: as wide as the processor has them, with the few operations that C has no words for. */

#pragma once
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define LANES 16
#elif defined(__AVX2__) && defined(__BMI2__)
#include <immintrin.h>
#define LANES 8
#else
#define LANES 4
#endif

typedef float vfloat __attribute__((vector_size(4 * LANES)));
typedef int32_t vint __attribute__((vector_size(4 * LANES)));

static inline vfloat all(float x) { return x - (vfloat){0}; }
static inline vfloat pick(vint where, vfloat yes, vfloat no) { return (vfloat)(((vint)yes & where) | ((vint)no & ~where)); }
static inline vfloat keep(vint where, vfloat yes) { return (vfloat)((vint)yes & where); }

static inline float sum_of(vfloat x) {
  float sum = 0;
  for (int lane = 0; lane < LANES; lane++) sum += x[lane];
  return sum;
}
static inline int32_t count_of(vint x) {
  int32_t sum = 0;
  for (int lane = 0; lane < LANES; lane++) sum += x[lane];
  return sum;
}
static inline float max_of(vfloat x) {
  float max = x[0];
  for (int lane = 1; lane < LANES; lane++) max = x[lane] > max ? x[lane] : max;
  return max;
}
static inline vfloat larger(vfloat a, vfloat b) { return pick(a > b, a, b); }

/* A sum that remembers what rounding took from it (Kahan): its error does not grow with the number of terms. */
typedef struct {
  vfloat sum, lost;
} total_t;
static inline void add(total_t *total, vfloat x) {
  vfloat term = x - total->lost, sum = total->sum + term;
  total->lost = (sum - total->sum) - term;
  total->sum = sum;
}
/* Zeros that are added change no bit of this, so that it does not depend on how long other rows are. */
static inline vfloat value_of(total_t total) { return total.sum - total.lost; }

/* bits: a bit for every lane of a comparison that holds.
   compress: the chosen lanes moved to the front, in order.  expand: the front lanes moved to the chosen places, 0 elsewhere.
   load_some, store_some: the first `left` lanes alone; `fill` stands in the others. */
#if LANES == 16
static inline unsigned bits(vint lanes) { return _mm512_cmplt_epi32_mask((__m512i)lanes, _mm512_setzero_si512()); }
static inline vfloat compress(vfloat x, unsigned chosen) { return (vfloat)_mm512_maskz_compress_ps((__mmask16)chosen, (__m512)x); }
static inline vfloat expand(vfloat x, unsigned chosen) { return (vfloat)_mm512_maskz_expand_ps((__mmask16)chosen, (__m512)x); }
static inline __mmask16 first(int64_t left) { return left >= LANES ? 0xffff : (__mmask16)((1u << left) - 1); }
static inline vfloat load_some(const float *from, int64_t left, float fill) {
  return (vfloat)_mm512_mask_loadu_ps((__m512)all(fill), first(left), from);
}
static inline void store_some(float *to, vfloat x, int64_t left) { _mm512_mask_storeu_ps(to, first(left), (__m512)x); }

#elif LANES == 8
static inline unsigned bits(vint lanes) { return (unsigned)_mm256_movemask_ps((__m256)lanes); }
/* One byte per lane, 0xff where chosen; the lane numbers 0..7 are the bytes of ORDER. */
#define ORDER 0x0706050403020100ull
static inline uint64_t bytes(unsigned chosen) { return _pdep_u64(chosen, 0x0101010101010101ull) * 0xff; }
static inline vfloat reordered(vfloat x, uint64_t order) {
  return (vfloat)_mm256_permutevar8x32_ps((__m256)x, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)order)));
}
static inline vfloat compress(vfloat x, unsigned chosen) { return reordered(x, _pext_u64(ORDER, bytes(chosen))); }
static inline vfloat expand(vfloat x, unsigned chosen) {
  uint64_t places = bytes(chosen);
  vint where = (vint)_mm256_cvtepi8_epi32(_mm_cvtsi64_si128((long long)places));
  return keep(where, reordered(x, _pdep_u64(ORDER, places)));
}
static inline vint first(int64_t left) { return (vint){0, 1, 2, 3, 4, 5, 6, 7} < ((vint){0} + (int32_t)(left < LANES ? left : LANES)); }
static inline vfloat load_some(const float *from, int64_t left, float fill) {
  if (left >= LANES) return (vfloat)_mm256_loadu_ps(from);
  return pick(first(left), (vfloat)_mm256_maskload_ps(from, (__m256i)first(left)), all(fill));
}
static inline void store_some(float *to, vfloat x, int64_t left) {
  if (left >= LANES) {
    _mm256_storeu_ps(to, (__m256)x);
  } else {
    _mm256_maskstore_ps(to, (__m256i)first(left), (__m256)x);
  }
}

#else
static inline unsigned bits(vint lanes) {
  unsigned found = 0;
  for (int lane = 0; lane < LANES; lane++) found |= (lanes[lane] & 1u) << lane;
  return found;
}
static inline vfloat compress(vfloat x, unsigned chosen) {
  vfloat front = x;
  int count = 0;
  for (int lane = 0; lane < LANES; lane++) {
    if (chosen >> lane & 1) front[count++] = x[lane];
  }
  return front;
}
static inline vfloat expand(vfloat x, unsigned chosen) {
  vfloat placed = {0};
  int count = 0;
  for (int lane = 0; lane < LANES; lane++) {
    if (chosen >> lane & 1) placed[lane] = x[count++];
  }
  return placed;
}
static inline vfloat load_some(const float *from, int64_t left, float fill) {
  vfloat some = all(fill);
  for (int lane = 0; lane < LANES && lane < left; lane++) some[lane] = from[lane];
  return some;
}
static inline void store_some(float *to, vfloat x, int64_t left) {
  for (int lane = 0; lane < LANES && lane < left; lane++) to[lane] = x[lane];
}
#endif

static inline vfloat load(const float *from) { return load_some(from, LANES, 0.0f); }
static inline void store(float *to, vfloat x) { store_some(to, x, LANES); }
static inline int any(vint lanes) { return bits(lanes) != 0; }
