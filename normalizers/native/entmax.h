/* The maps of the alpha-entmax family on tiles: scores in, weights up to a factor out. */

#pragma once
#include "elementary.h"
#include "tiles.h"

#define MAX_STEPS 60

/* A threshold as a sum of two floats. One float is too coarse where many scores lie close above: each of them would be off
   by its rounding, all in the same direction. */
typedef struct {
  vfloat value, rest;
} threshold_t;
static inline vfloat above(vfloat z, threshold_t t) { return (z - t.value) - t.rest; }
static inline threshold_t moved(threshold_t t, vfloat by) { /* the value's rounding joins the rest (Knuth) */
  vfloat step = t.rest + by, value = t.value + step, taken = value - t.value;
  return (threshold_t){value, (t.value - (value - taken)) + (step - taken)};
}

/* w = [z - tau]+ : Newton's method on its sum, from tau = -1 upwards, which ends once the support is found; the last step is
   carried out on the weights. */
static inline void sparsemax_tile(vfloat *z, int64_t n, vfloat parameter, vfloat *scratch) {
  (void)parameter, (void)scratch;
  threshold_t tau = {all(-1.0f), {0}};
  vfloat move = {0};
  for (int step = 0; step < MAX_STEPS; step++) {
    total_t total = {0};
    vint count = {0};
    for (int64_t i = 0; i < n;) {
      vfloat part = {0};
      for (int64_t end = i + BLOCK < n ? i + BLOCK : n; i < end; i++) {
        vfloat w = above(z[i], tau);
        vint inside = w > 0.0f;
        part += keep(inside, w);
        count -= inside;
      }
      add(&total, part);
    }
    vfloat excess = value_of(total) - 1.0f;
    count |= (count == 0) & 1; /* a row without a kept slot */
    move = excess / __builtin_convertvector(count, vfloat);
    vint up = excess > 2e-7f;
    if (!any(up)) break;
    tau = moved(tau, keep(up, move));
  }
  for (int64_t i = 0; i < n; i++) {
    vfloat w = above(z[i], tau);
    z[i] = keep((w > 0.0f) & (w > move), w - move);
  }
}

/* The threshold of u^2, u = [z/2 - tau]+ : Newton's method on the 2-norm of u, which is convex in tau, from tau = -1 upwards,
   until one more step on the sum, `move`, is so small that what it leaves, its square for each score, is below `error`. */
static inline threshold_t entmax15_threshold(const vfloat *z, int64_t n, float error, vfloat *move) {
  threshold_t tau = {all(-1.0f), {0}};
  for (int step = 0;; step++) {
    total_t total = {0}, squares = {0};
    vint count = {0};
    for (int64_t i = 0; i < n;) {
      vfloat part = {0}, square_part = {0};
      for (int64_t end = i + BLOCK < n ? i + BLOCK : n; i < end; i++) {
        vfloat u = above(0.5f * z[i], tau);
        vint inside = u > 0.0f;
        u = keep(inside, u);
        part += u;
        square_part += u * u;
        count -= inside;
      }
      add(&total, part);
      add(&squares, square_part);
    }
    vint some = value_of(total) > 0.0f;
    vfloat sum = pick(some, value_of(total), all(1.0f)), norm = sqrt_v(value_of(squares));
    *move = keep(some, 0.5f * (value_of(squares) - 1.0f) / sum);
    vint up = (*move > 0.0f) & (__builtin_convertvector(count, vfloat) * *move * *move > error);
    if (!any(up) || step == MAX_STEPS) return tau;
    tau = moved(tau, keep(up, (norm - 1.0f) * norm / sum));
  }
}

static inline void entmax15_tile(vfloat *z, int64_t n, vfloat parameter, vfloat *scratch) {
  (void)parameter, (void)scratch;
  vfloat move;
  threshold_t tau = entmax15_threshold(z, n, 1e-7f, &move);
  for (int64_t i = 0; i < n; i++) {
    vfloat u = above(0.5f * z[i], tau);
    u = keep((u > 0.0f) & (u > move), u - move);
    z[i] = u * u;
  }
}

/* (1 + a (z - lambda))^(1/a), a = alpha - 1 in (0, 1]: Newton's method on the norm of order 1/a; see ../newton.py.

   A pass costs a logarithm and an exponential per score, so few are made: the threshold of alpha = 1.5 is the first
   guess, and the last step, once small, is carried out on the weights by their Taylor expansion of third order; where the
   result does not add up to 1, another pass follows. */
static inline void entmax_tile(vfloat *z, int64_t n, vfloat parameter, vfloat *scratch) {
  vfloat a = parameter - 1.0f, power = 1.0f / a, *weight = scratch, *slope = scratch + n, *u = scratch + 2 * n, rest;
  vint candidates = {0};
  for (int64_t i = 0; i < n; i++) candidates -= z[i] > all(-INFINITY);
  candidates |= (candidates == 0) & 1;
  vfloat log_n = log_v(__builtin_convertvector(candidates, vfloat)), highest = log_n * expm1_ratio(-a * log_n);
  vfloat guess = entmax15_threshold(z, n, 1e-7f, &rest).value;
  guess = 2.0f * (guess + rest + 1.0f);
  threshold_t lambda = {pick(guess < highest, guess, highest), {0}};
  /* The expansion is poor for weights that the step would bring near 0; these are below (a step)^(1/a), here 3e-7. */
  vfloat small = exp_v(-15.0f * a) / a;
  small = pick(small < 3e-3f, small, all(3e-3f));
  for (int step = 0;; step++) {
    total_t total = {0}, slopes = {0};
    threshold_t edge = moved(lambda, -power); /* where weights begin: 1 + a (z - lambda) = a (z - edge), exact near 0 */
    for (int64_t i = 0; i < n;) {
      vfloat part = {0}, slope_part = {0};
      for (int64_t end = i + BLOCK < n ? i + BLOCK : n; i < end; i++) {
        vfloat t = a * above(z[i], lambda), low = a * above(z[i], edge);
        vint near = t < -0.5f, inside = ~near | (low > 0.0f);
        u[i] = keep(inside, pick(near, low, 1.0f + t));
        vfloat base = pick(inside, u[i], all(1.0f));
        weight[i] = keep(inside, exp_v(power * log_from(base, pick(near, base - 1.0f, t))));
        slope[i] = weight[i] / base;
        part += weight[i];
        slope_part += slope[i];
      }
      add(&total, part);
      add(&slopes, slope_part);
    }
    vfloat log_sum = log_v(value_of(total));
    vfloat move = log_sum * expm1_ratio(a * log_sum) * exp_v((1.0f - a) * log_sum) / value_of(slopes);
    move = keep(value_of(total) > 0.0f, move); /* nothing moves a row without a kept slot */
    vint unfinished = (move > small) | (move < -small);
    if (step == MAX_STEPS || !any(unfinished)) {
      total_t after = {0};
      vint entering = {0}; /* scores without weight that a step down lets in: it cannot be carried out on the weights */
      for (int64_t i = 0; i < n;) {
        vfloat part = {0};
        for (int64_t end = i + BLOCK < n ? i + BLOCK : n; i < end; i++) {
          vint inside = u[i] > a * move;
          entering |= ~(u[i] > 0.0f) & (above(z[i], edge) > move);
          vfloat share = move / pick(inside, u[i], all(1.0f)); /* of the way down to 0, times 1/a */
          vfloat bent = 1.0f - 0.5f * (1.0f - a) * share * (1.0f - (1.0f - 2.0f * a) / 3.0f * share);
          vfloat w = keep(inside, weight[i] - move * slope[i] * bent);
          weight[i] = keep(w > 0.0f, w);
          part += weight[i];
        }
        add(&after, part);
      }
      vfloat error = value_of(after) - 1.0f;
      unfinished = (value_of(after) > 0.0f) & (entering | (error > 5e-7f) | (error < -5e-7f));
      if (step == MAX_STEPS || !any(unfinished)) {
        memcpy(z, weight, (size_t)n * sizeof(vfloat));
        return;
      }
    }
    lambda = moved(lambda, keep(unfinished, move));
  }
}

/* (a (z - edge))^(1/a), a = alpha - 1 > 1: the sum is steep where a weight begins, so that Newton's method on it is kept to a
   bracket, which is halved wherever a step would leave it. `edge` lies between -1/a and -n^-a / a. */
static inline void steep_tile(vfloat *z, int64_t n, vfloat parameter, vfloat *weight) {
  vfloat a = parameter - 1.0f, power = 1.0f / a;
  vint candidates = {0}, settled = {0};
  for (int64_t i = 0; i < n; i++) candidates -= z[i] > all(-INFINITY);
  candidates |= (candidates == 0) & 1;
  threshold_t low = {-power, {0}}, high = {-power * exp_v(-a * log_v(__builtin_convertvector(candidates, vfloat))), {0}}, edge = low;
  for (int step = 0; step < MAX_STEPS; step++) {
    total_t total = {0}, slopes = {0};
    for (int64_t i = 0; i < n; i++) {
      vfloat u = a * above(z[i], edge);
      vint inside = u > 0.0f;
      vfloat base = pick(inside, u, all(1.0f)), w = keep(inside, exp_v(power * log_v(base)));
      weight[i] = pick(settled, weight[i], w);
      add(&total, w);
      add(&slopes, w / base);
    }
    vfloat excess = value_of(total) - 1.0f;
    settled |= ((excess < 3e-7f) & (excess > -3e-7f)) | ~(value_of(slopes) > 0.0f);
    if (!any(~settled)) break;
    vint enough = excess > 0.0f;
    low = (threshold_t){pick(enough, edge.value, low.value), pick(enough, edge.rest, low.rest)};
    high = (threshold_t){pick(enough, high.value, edge.value), pick(enough, high.rest, edge.rest)};
    threshold_t newton = moved(edge, keep(~settled, excess / value_of(slopes)));
    threshold_t middle = moved(low, 0.5f * ((high.value - low.value) + (high.rest - low.rest)));
    vint usable = ((newton.value - low.value) + (newton.rest - low.rest) > 0.0f) & ((high.value - newton.value) + (high.rest - newton.rest) > 0.0f);
    edge = (threshold_t){pick(usable, newton.value, middle.value), pick(usable, newton.rest, middle.rest)};
  }
  memcpy(z, weight, (size_t)n * sizeof(vfloat));
}

/* Any alpha above 1. A row has the same weights whatever the alphas of the rows beside it. */
static inline void entmax_any_tile(vfloat *z, int64_t n, vfloat parameter, vfloat *scratch) {
  vint steep = parameter > 2.0f;
  vfloat *copy = scratch + 3 * n;
  if (any(steep)) memcpy(copy, z, (size_t)n * sizeof(vfloat));
  if (any(~steep)) entmax_tile(z, n, pick(steep, all(2.0f), parameter), scratch);
  if (!any(steep)) return;
  steep_tile(copy, n, pick(steep, parameter, all(2.5f)), scratch);
  for (int64_t i = 0; i < n; i++) z[i] = pick(steep, copy[i], z[i]);
}

/* How far below the maximum a score can lie and still get weight: 1 / (alpha - 1). */
static inline vfloat sparsemax_reach(vfloat parameter) { return (void)parameter, all(1.0f); }
static inline vfloat entmax15_reach(vfloat parameter) { return (void)parameter, all(2.0f); }
static inline vfloat entmax_reach(vfloat alpha) { return 1.0f / (alpha - 1.0f); }
