/* What ../bisection.py does to a row, given its exact weights: the weights that bisection would leave, and their derivatives.

   Kept slots are those above -inf. With y = a (x - top), a = alpha - 1, the threshold lies in the bracket
   [min y - 1, -n^-a], of whose lower end it takes the `share`. */

#pragma once
#include "elementary.h"

typedef struct {
  float top, bottom, low, high, threshold, share;
  int64_t count;
} bracket_t;

static inline float log_of(float x) { return log_v(all(x))[0]; }
static inline float exp_of(float x) { return exp_v(all(x))[0]; }

/* `largest` is the largest exact weight, which tells the exact threshold: -largest^a. */
static inline bracket_t bracket_of(const float *x, int64_t n, float largest, float a, int steps) {
  vfloat top = all(-INFINITY), bottom = all(INFINITY);
  vint count = {0};
  for (int64_t i = 0; i < n; i += LANES) {
    vfloat z = load_some(x + i, n - i, -INFINITY);
    vint inside = z > all(-INFINITY);
    top = larger(z, top);
    bottom = -larger(-pick(inside, z, all(INFINITY)), -bottom);
    count -= inside;
  }
  bracket_t b = {.top = max_of(top), .bottom = -max_of(-bottom), .count = count_of(count)};
  double cells = ldexp(1.0, steps); /* one row's few numbers may be exact ones: a cell off moves every weight of the row */
  b.low = a * b.bottom - a * b.top - 1.0f;
  b.high = -exp_of(-a * log_of((float)(b.count > 0 ? b.count : 1)));
  b.share = 0.0f; /* one kept slot alone leaves a bracket of width 0 */
  if (b.high > b.low && largest > 0.0f) {
    double cell = floor((-pow(largest, a) - b.low) / ((double)b.high - b.low) * cells);
    cell = cell < 0.0 ? 0.0 : cell > cells - 1.0 ? cells - 1.0 : cell;
    b.share = (float)(1.0 - (cell + 1.0) / cells);
  }
  b.threshold = b.share * b.low + (1.0f - b.share) * b.high;
  return b;
}

/* p, the exact weights, become those of bisection: [y - threshold]+^(1/a), divided by their sum. */
static inline void bisected_row(const float *x, float a, int steps, float *p, int64_t n) {
  vfloat largest = all(0.0f), power = all(1.0f / a);
  vint nan = {0};
  for (int64_t i = 0; i < n; i += LANES) {
    vfloat w = load_some(p + i, n - i, 0.0f);
    nan |= ~(w == w);
    largest = larger(w, largest);
  }
  if (any(nan)) return; /* a row of NaN stays one */
  bracket_t b = bracket_of(x, n, max_of(largest), a, steps);
  if (b.count == 0) return; /* and zeros stay zeros */
  total_t total = {0};
  for (int64_t i = 0; i < n; i += LANES) {
    vfloat u = a * (load_some(x + i, n - i, -INFINITY) - b.top) - b.threshold;
    vint inside = u > 0.0f;
    vfloat w = keep(inside, exp_v(power * log_v(pick(inside, u, all(1.0f)))));
    store_some(p + i, w, n - i);
    add(&total, w);
  }
  float sum = sum_of(value_of(total)), factor = sum > 0.0f ? 1.0f / sum : 0.0f;
  for (int64_t i = 0; i < n; i++) p[i] *= factor;
}

/* dx, and dalpha as the result, from the gradient `g` of the weights `p` that bisected_row made of `x`; `largest` is the
   largest of the exact weights. What falls on the ends of the bracket goes to the slots that set them, in equal parts. */
static inline float bisected_back(const float *x, const float *p, const float *g, float largest, float a, int steps, float *dx,
                                  int64_t n) {
  bracket_t b = bracket_of(x, n, largest, a, steps);
  if (b.count == 0) {
    memset(dx, 0, (size_t)n * sizeof(float));
    return 0.0f;
  }
  total_t mean = {0}, du_total = {0}, log_total = {0}, z_total = {0};
  for (int64_t i = 0; i < n; i += LANES) add(&mean, load_some(p + i, n - i, 0.0f) * load_some(g + i, n - i, 0.0f));
  float gp = sum_of(value_of(mean)), inverse = 1.0f / a;
  vint tops = {0}, bottoms = {0};
  for (int64_t i = 0; i < n; i += LANES) {
    vfloat raw = load_some(x + i, n - i, -INFINITY), z = raw - b.top, u = a * z - b.threshold;
    vint inside = u > 0.0f;
    vfloat safe = pick(inside, u, all(1.0f)), w = keep(inside, load_some(p + i, n - i, 0.0f));
    vfloat dw = (load_some(g + i, n - i, 0.0f) - gp) * w * inverse, du = dw / safe;
    store_some(dx + i, du, n - i);
    tops -= raw == all(b.top);
    bottoms -= raw == all(b.bottom);
    add(&du_total, du);
    add(&log_total, dw * log_v(safe));
    add(&z_total, keep(inside, du * z));
  }
  float sum = sum_of(value_of(du_total)), ends = -sum, at_low = b.share * ends, at_high = (1.0f - b.share) * ends;
  float derivative = -inverse * sum_of(value_of(log_total)) + sum_of(value_of(z_total)) + at_low * (b.bottom - b.top);
  if (b.count > 1) derivative -= at_high * b.high * log_of((float)b.count);
  int32_t top_count = count_of(tops), bottom_count = count_of(bottoms);
  float top_share = (sum + at_low) / (float)(top_count > 0 ? top_count : 1), bottom_share = at_low / (float)(bottom_count > 0 ? bottom_count : 1);
  for (int64_t i = 0; i < n; i++) {
    float d = dx[i] - (x[i] == b.top ? top_share : 0.0f) + (x[i] == b.bottom ? bottom_share : 0.0f);
    dx[i] = x[i] > -INFINITY ? a * d : 0.0f;
  }
  return derivative;
}
