/* The maps of the alpha-entmax family on tiles: scores in, weights up to a factor out. */

#pragma once
#include "elementary.h"
#include "tiles.h"

#define MAX_STEPS 60

/* [z - tau]+ : Newton's method on its sum, from tau = -1 upwards; it ends exactly once the support is found. */
static inline void sparsemax_tile(vfloat *z, int64_t n, vfloat parameter, vfloat *scratch) {
  (void)parameter, (void)scratch;
  vfloat tau = all(-1.0f);
  for (int step = 0; step < MAX_STEPS; step++) {
    vfloat sum = {0};
    vint count = {0};
    for (int64_t i = 0; i < n;) {
      vfloat part = {0};
      for (int64_t end = i + BLOCK < n ? i + BLOCK : n; i < end; i++) {
        vint inside = z[i] > tau;
        part += keep(inside, z[i]);
        count -= inside;
      }
      sum += part;
    }
    vfloat next = (sum - 1.0f) / __builtin_convertvector(count, vfloat);
    vint up = next > tau;
    tau = pick(up, next, tau);
    if (!any(up)) break;
  }
  for (int64_t i = 0; i < n; i++) z[i] = keep(z[i] > tau, z[i] - tau);
}

/* The threshold of [z/2 - tau]+^2 : Newton's method on its 2-norm, which is convex in tau, from tau = -1 upwards. */
static inline vfloat entmax15_threshold(const vfloat *z, int64_t n) {
  vfloat tau = all(-1.0f);
  vint done = {0};
  for (int step = 0; step < MAX_STEPS; step++) {
    vfloat sum = {0}, squares = {0};
    for (int64_t i = 0; i < n;) {
      vfloat sum_part = {0}, squares_part = {0};
      for (int64_t end = i + BLOCK < n ? i + BLOCK : n; i < end; i++) {
        vfloat u = 0.5f * z[i] - tau;
        u = keep(u > 0.0f, u);
        sum_part += u;
        squares_part += u * u;
      }
      sum += sum_part;
      squares += squares_part;
    }
    vfloat norm = sqrt_v(squares);
    vfloat up = (norm - 1.0f) * norm / sum;
    tau = tau + keep(~done & (up > 0.0f), up);
    done |= ~(up > 1e-4f); /* the error left is about the square of the last step */
    if (!any(~done)) break;
  }
  return tau;
}

static inline void entmax15_tile(vfloat *z, int64_t n, vfloat parameter, vfloat *scratch) {
  (void)parameter, (void)scratch;
  vfloat tau = entmax15_threshold(z, n);
  for (int64_t i = 0; i < n; i++) {
    vfloat u = 0.5f * z[i] - tau;
    u = keep(u > 0.0f, u);
    z[i] = u * u;
  }
}

/* (1 + a (z - lambda))^(1/a), a = alpha - 1 in (0, 1]: Newton's method on the norm of order 1/a; see ../entmax.py.

   A pass costs a logarithm and an exponential per score, so few are made: the threshold of alpha = 1.5 is the first
   guess, and the last step, once small, is carried out on the weights by their Taylor expansion of second order. */
static inline void entmax_tile(vfloat *z, int64_t n, vfloat parameter, vfloat *scratch) {
  vfloat a = parameter - 1.0f, power = 1.0f / a, *weight = scratch, *slope = scratch + n, *u = scratch + 2 * n;
  vint candidates = {0};
  for (int64_t i = 0; i < n; i++) candidates -= z[i] > all(-INFINITY);
  candidates |= (candidates == 0) & 1; /* a row without any */
  vfloat log_n = log_v(__builtin_convertvector(candidates, vfloat)), highest = log_n * expm1_ratio(-a * log_n);
  vfloat lambda = 2.0f * (entmax15_threshold(z, n) + 1.0f);
  lambda = pick(lambda < highest, lambda, highest);
  /* The expansion is poor for weights that the step would bring near 0; these are below (a step)^(1/a), here 3e-7. */
  vfloat small = exp_v(-15.0f * a) / a;
  small = pick(small < 3e-3f, small, all(3e-3f));
  for (int step = 0; step < MAX_STEPS; step++) {
    vfloat sum = {0}, slopes = {0};
    vfloat sum_part = {0}, slope_part = {0};
    for (int64_t i = 0; i < n; i++) {
      vfloat t = a * (z[i] - lambda);
      vint inside = t > -1.0f;
      t = keep(inside, t);
      u[i] = pick(inside, 1.0f + t, all(0.0f));
      weight[i] = keep(inside, exp_v(power * log1p_v(t)));
      slope[i] = weight[i] / (1.0f + t);
      sum_part += weight[i];
      slope_part += slope[i];
      if (i % BLOCK == BLOCK - 1 || i == n - 1) {
        sum += sum_part, slopes += slope_part;
        sum_part = slope_part = (vfloat){0};
      }
    }
    vfloat log_sum = log_v(sum);
    vfloat move = log_sum * expm1_ratio(a * log_sum) * exp_v((1.0f - a) * log_sum) / slopes;
    move = pick(move == move, move, all(0.0f)); /* a row without a kept slot */
    /* A step down lets in scores that have no weight yet, so only a step up can be carried out on the weights. */
    vint unfinished = (move > small) | (move < -1e-6f);
    if (step == MAX_STEPS - 1 || !any(unfinished)) {
      for (int64_t i = 0; i < n; i++) {
        vint inside = u[i] > a * move;
        vfloat curvature = keep(inside, (1.0f - a) * slope[i] / u[i]);
        z[i] = keep(inside, weight[i] - move * (slope[i] - 0.5f * move * curvature));
        z[i] = keep(z[i] > 0.0f, z[i]);
      }
      return;
    }
    lambda = lambda + keep(unfinished, move);
  }
}

/* How far below the maximum a score can lie and still get weight: 1 / (alpha - 1). */
static inline vfloat sparsemax_reach(vfloat parameter) { return (void)parameter, all(1.0f); }
static inline vfloat entmax15_reach(vfloat parameter) { return (void)parameter, all(2.0f); }
static inline vfloat entmax_reach(vfloat alpha) { return 1.0f / (alpha - 1.0f); }
