/* Elementary functions of vectors, accurate to about one unit in the last place. */

#pragma once
#include "vectors.h"

/* log(y), y > 0, where `m` is y - 1 to full accuracy, used for y near 1. Polynomial: Cephes logf (S. Moshier). */
static inline vfloat log_from(vfloat y, vfloat m) {
  vint exponent = ((vint)y - 0x3f3504f3) >> 23;
  m = pick(exponent == 0, m, (vfloat)((vint)y - (exponent << 23)) - 1.0f);
  vfloat q = 7.0376836292e-2f * m - 1.1514610310e-1f;
  q = q * m + 1.1676998740e-1f;
  q = q * m - 1.2420140846e-1f;
  q = q * m + 1.4249322787e-1f;
  q = q * m - 1.6668057665e-1f;
  q = q * m + 2.0000714765e-1f;
  q = q * m - 2.4999993993e-1f;
  q = q * m + 3.3333331174e-1f;
  vfloat square = m * m;
  vfloat e = __builtin_convertvector(exponent, vfloat);
  return e * 0.693359375f + (m + (q * m * square - 0.5f * square + e * -2.12194440e-4f));
}
static inline vfloat log_v(vfloat y) { return log_from(y, y - 1.0f); }

/* exp(x); below -87 it gives 0 within float's normal range, above 88 it saturates. Polynomial: Cephes expf. */
static inline vfloat exp_v(vfloat x) {
  vint underflow = x < -87.0f;
  x = pick(x < -87.0f, all(-87.0f), pick(x > 88.0f, all(88.0f), x));
  vfloat scaled = x * 1.44269504088896341f;
  vint whole = __builtin_convertvector(scaled + pick(scaled < 0.0f, all(-0.5f), all(0.5f)), vint);
  vfloat e = __builtin_convertvector(whole, vfloat);
  vfloat r = x - e * 0.693359375f - e * -2.12194440e-4f;
  vfloat q = 1.9875691500e-4f * r + 1.3981999507e-3f;
  q = q * r + 8.3334519073e-3f;
  q = q * r + 4.1665795894e-2f;
  q = q * r + 1.6666665459e-1f;
  q = q * r + 5.0000001201e-1f;
  vfloat value = (q * r * r + r + 1.0f) * (vfloat)((whole + 127) << 23);
  return keep(~underflow, value);
}

/* (exp(t) - 1) / t, 1 at t = 0 */
static inline vfloat expm1_ratio(vfloat t) {
  vfloat series = 1.0f + t * (0.5f + t * (1.0f / 6 + t * (1.0f / 24 + t * (1.0f / 120 + t * (1.0f / 720)))));
  vint small = (t < 0.25f) & (t > -0.25f);
  return pick(small, series, (exp_v(t) - 1.0f) / pick(small, all(1.0f), t));
}

static inline vfloat sqrt_v(vfloat x) {
  for (int lane = 0; lane < LANES; lane++) x[lane] = sqrtf(x[lane]);
  return x;
}
