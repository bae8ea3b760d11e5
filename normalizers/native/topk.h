/* Top-k softmax of one row. */

#pragma once
#include "elementary.h"
#include "tiles.h"

/* A float as an integer ordered as floats are, and back. */
static inline int32_t key_of(float x) {
  int32_t key;
  memcpy(&key, &x, sizeof key);
  return key ^ ((key >> 31) & INT32_MAX);
}
static inline float of_key(int32_t key) {
  float x;
  key ^= (key >> 31) & INT32_MAX;
  memcpy(&x, &key, sizeof x);
  return x;
}

/* What the search for the k-th largest begins with: the kept scores z[0..padded) are `kept` > k in number, from `low` to
   `high`, with this mean and standard deviation. */
typedef struct {
  int64_t kept;
  float low, high, mean, deviation;
} spread_t;

static inline int64_t count_from(const float *z, float threshold, int64_t padded) {
  vint count = {0};
  for (int64_t i = 0; i < padded; i += LANES) count -= load(z + i) >= threshold;
  return count_of(count);
}

/* A threshold that exactly k of z[0..padded) reach, `exact`, or else, with ties, the largest that more than k reach; -inf
   stands past the row's end.

   The first guess is where a logistic distribution has k above it; between two thresholds of known counts the next is
   interpolated; and what a dozen steps have not found (ties, wild scores), halving the interval among the float32
   numbers does. */
static float kth_largest(const float *z, int64_t padded, int64_t k, spread_t of, int *exact) {
  float low = of.low, high = of_key(key_of(of.high) + 1), share = (float)k / (float)of.kept;
  int64_t at_low = of.kept, at_high = 0;
  float guess = of.mean + 0.55f * of.deviation * logf((1.0f - share) / share);
  for (int step = 0; (int64_t)key_of(high) - key_of(low) > 1; step++) {
    if (!(guess > low && guess < high)) guess = of_key((int32_t)(((int64_t)key_of(low) + key_of(high)) >> 1));
    int64_t count = count_from(z, guess, padded);
    *exact = count == k;
    if (*exact) return guess;
    if (count > k) low = guess, at_low = count;
    if (count < k) high = guess, at_high = count;
    share = ((float)(at_low - k) + 0.5f) / (float)(at_low - at_high);
    share = share < 0.05f ? 0.05f : share > 0.95f ? 0.95f : share;
    guess = step < 12 ? low + (high - low) * share : NAN;
  }
  return low;
}

/* The index up to which slots equal to the threshold are kept, so that k are kept in all: ties go to the lowest. */
static int32_t last_tie(const float *z, float threshold, int64_t n, int64_t padded, int64_t k) {
  vint above = {0};
  for (int64_t i = 0; i < padded; i += LANES) above -= load(z + i) > threshold;
  int64_t ties = k - count_of(above);
  for (int64_t i = 0; i < n; i++) {
    ties -= z[i] == threshold;
    if (ties == 0 && z[i] == threshold) return (int32_t)i;
  }
  return (int32_t)n;
}

/* exp(x) / sum on the k largest of a row. `k` = 0 asks for the share `ratio` of its kept slots. `z` has room for the row
   and its padding. Scores are compared as they are, so that none are equal that were not. */
static void topk_row(const float *x, float *p, float *z, int64_t n, int64_t k, double ratio) {
  int64_t padded = (n + LANES - 1) / LANES * LANES, bad;
  float top = top_of(x, n, &bad);
  vfloat sum = {0}, squares = {0}, low = all(top);
  vint finite = {0};
  for (int64_t i = 0; i < padded; i += LANES) {
    vfloat score = load_some(x + i, n - i, -INFINITY);
    vint inside = score > -INFINITY;
    store(z + i, score);
    finite -= inside;
    low = pick(inside & (score < low), score, low);
    score = keep(inside, score);
    sum += score, squares += score * score;
  }
  int64_t kept = count_of(finite);
  if (k == 0) k = (int64_t)ceil((double)kept * ratio - 1e-9); /* the ratio is read as the decimal it was written as */
  if (k == 0) k = 1;
  if (bad || kept == 0) {
    for (int64_t i = 0; i < n; i++) p[i] = bad ? NAN : 0.0f;
    return;
  }
  float threshold = -INFINITY;
  int32_t last = (int32_t)n;
  if (k < kept) {
    float mean = sum_of(sum) / (float)kept;
    spread_t of = {kept, -max_of(-low), top, mean, sqrtf(sum_of(squares) / (float)kept - mean * mean)};
    int exact = 0;
    threshold = kth_largest(z, padded, k, of, &exact);
    if (!exact) last = last_tie(z, threshold, n, padded, k);
  }
  vint index = {0};
  for (int lane = 0; lane < LANES; lane++) index[lane] = lane;
  total_t total = {0};
  for (int64_t i = 0; i < padded; i += LANES, index += LANES) {
    vfloat score = load(z + i);
    vint inside = (score > threshold) | ((score == threshold) & (index <= last));
    vfloat weight = keep(inside, exp_v(score - top));
    store(z + i, weight);
    add(&total, weight);
  }
  float factor = 1.0f / sum_of(value_of(total));
  for (int64_t i = 0; i < n; i += LANES) store_some(p + i, load(z + i) * factor, n - i);
}
