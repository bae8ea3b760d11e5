/* Row kernels of the attention normalizers: float32, rows contiguous, one call for all rows.

   Forward: the slots of LANES rows that can get weight are gathered into a tile, so that each vector lane owns a row and
   no step needs a sum across lanes. A slot that is not kept holds -inf; a row without a kept slot gives zeros, a row with a
   NaN gives NaN.
   Backward: row by row, from the weights alone (see ../implicit.py for the formulas).

   A lane that has settled stays as it is while others go on, so a row's result depends neither on the rows beside it nor
   on the number of threads. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
#define MAX_STEPS 60
#define BLOCK 256 /* terms of a partial sum: sums of sums keep the digits that one long float32 sum would lose */
#define PARALLEL_FROM 32768 /* elements below which threads cost more than they give */

typedef float vfloat __attribute__((vector_size(4 * LANES)));
typedef int32_t vint __attribute__((vector_size(4 * LANES)));

static inline vfloat all(float x) { return x - (vfloat){0}; }
static inline vfloat pick(vint where, vfloat yes, vfloat no) { return (vfloat)(((vint)yes & where) | ((vint)no & ~where)); }
static inline vfloat keep(vint where, vfloat yes) { return (vfloat)((vint)yes & where); }
static inline int any(vint lanes) {
  int32_t found = 0;
  for (int lane = 0; lane < LANES; lane++) found |= lanes[lane];
  return found != 0;
}

/* How wide the kernels were compiled. */
int lanes(void) { return LANES; }

/* ---- elementary functions, accurate to about one unit in the last place ---- */

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
static inline vfloat log1p_v(vfloat x) { return log_from(x + 1.0f, x); }

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

/* ---- tiles: the slots of LANES rows that can get weight, a row to a lane ---- */

typedef struct {
  vfloat *score;        /* score[i][lane]: the i-th candidate of the lane's row, less the row's maximum; -inf past the last */
  int32_t *place;       /* place[i * LANES + lane]: the slot it came from */
  int64_t count[LANES]; /* candidates of each lane */
  int64_t longest;      /* the largest count */
  int64_t bad[LANES];   /* rows that hold a NaN or +inf */
} tile_t;

/* Fills the tile with the scores of each row that are less than `reach` below its maximum: no other can get weight. */
static inline void load(tile_t *tile, const float *x, vfloat reach, int64_t rows, int64_t n) {
  tile->longest = 0;
  for (int lane = 0; lane < LANES; lane++) {
    float *score = (float *)tile->score + lane, top = -INFINITY, floor = -reach[lane];
    int32_t *place = tile->place + lane;
    const float *row = x + lane * n;
    int64_t count = 0, bad = 0;
    if (lane < rows) {
#pragma omp simd reduction(max : top) reduction(| : bad)
      for (int64_t i = 0; i < n; i++) {
        top = row[i] > top ? row[i] : top;
        bad |= !(row[i] < INFINITY);
      }
      for (int64_t i = 0; i < n; i++) {
        float z = row[i] - top;
        score[count * LANES] = z; /* written in any case, kept only where the count moves on */
        place[count * LANES] = (int32_t)i;
        count += z > floor;
      }
    }
    tile->count[lane] = count;
    tile->bad[lane] = bad;
    if (count > tile->longest) tile->longest = count;
  }
  for (int lane = 0; lane < LANES; lane++) {
    float *score = (float *)tile->score + lane;
    for (int64_t i = tile->count[lane]; i < tile->longest; i++) score[i * LANES] = -INFINITY;
  }
}

/* Writes the weights to their places, each row divided by its sum: zeros for a row without weight, NaN for a bad one. */
static inline void store(const tile_t *tile, float *p, int64_t rows, int64_t n) {
  vfloat total = {0};
  for (int64_t i = 0; i < tile->longest;) {
    vfloat part = {0};
    for (int64_t end = i + BLOCK < tile->longest ? i + BLOCK : tile->longest; i < end; i++) part += tile->score[i];
    total += part;
  }
  for (int lane = 0; lane < rows && lane < LANES; lane++) {
    const float *weight = (const float *)tile->score + lane;
    const int32_t *place = tile->place + lane;
    float *row = p + lane * n, factor = total[lane] > 0.0f ? 1.0f / total[lane] : 0.0f;
    for (int64_t i = 0; i < n; i++) row[i] = tile->bad[lane] ? NAN : 0.0f;
    for (int64_t i = 0; i < tile->count[lane] && !tile->bad[lane]; i++) row[place[i * LANES]] = weight[i * LANES] * factor;
  }
}

/* Turns the scores z[0..n) of a tile into weights, up to a factor per row. `parameter` holds the 32 bits that each row
   brings along, as each map reads them; `scratch` has room for 3 n. */
typedef void (*tile_map)(vfloat *z, int64_t n, vint parameter, vfloat *scratch);
typedef vfloat (*tile_reach)(vint parameter);

static inline __attribute__((always_inline)) void run(tile_map map, tile_reach reach, const float *x,
                                                      const int32_t *parameters, float *p, int64_t rows, int64_t n,
                                                      int threads) {
#pragma omp parallel num_threads(threads) if (threads > 1 && rows * n >= PARALLEL_FROM)
  {
    tile_t tile = {.score = aligned_alloc(sizeof(vfloat), (n + 1) * sizeof(vfloat)),
                   .place = aligned_alloc(sizeof(vfloat), (n + 1) * sizeof(vint))};
    vfloat *scratch = aligned_alloc(sizeof(vfloat), (3 * n + 1) * sizeof(vfloat));
#pragma omp for schedule(static)
    for (int64_t r = 0; r < rows; r += LANES) {
      int64_t left = rows - r < LANES ? rows - r : LANES;
      vint parameter = {0};
      for (int lane = 0; parameters && lane < LANES; lane++) {
        parameter[lane] = parameters[r + (lane < left ? lane : left - 1)];
      }
      load(&tile, x + r * n, reach(parameter), left, n);
      map(tile.score, tile.longest, parameter, scratch);
      store(&tile, p + r * n, left, n);
    }
    free(tile.score);
    free(tile.place);
    free(scratch);
  }
}

/* ---- forward ---- */

/* [z - tau]+ : Newton's method on its sum, from tau = -1 upwards; it ends exactly once the support is found. */
static inline void sparsemax_tile(vfloat *z, int64_t n, vint parameter, vfloat *scratch) {
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
    vfloat sum = {0}, squares = {0}, norm;
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
    for (int lane = 0; lane < LANES; lane++) norm[lane] = sqrtf(squares[lane]);
    vfloat up = (norm - 1.0f) * norm / sum;
    tau = tau + keep(~done & (up > 0.0f), up);
    done |= ~(up > 1e-4f); /* the error left is about the square of the last step */
    if (!any(~done)) break;
  }
  return tau;
}

static inline void entmax15_tile(vfloat *z, int64_t n, vint parameter, vfloat *scratch) {
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
static inline void entmax_tile(vfloat *z, int64_t n, vint parameter, vfloat *scratch) {
  vfloat a = (vfloat)parameter - 1.0f, power = 1.0f / a, *weight = scratch, *slope = scratch + n, *u = scratch + 2 * n;
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

/* exp(z) on the k largest, ties to the lowest index. The k-th largest is found bit by bit among integers that are
   ordered as the scores are. */
static inline void topk_tile(vfloat *z, int64_t n, vint k, vfloat *scratch) {
  (void)scratch;
  vint *key = (vint *)z, threshold = (vint){0} + INT32_MIN, settled = {0}, above = {0};
  for (int64_t i = 0; i < n; i++) {
    vint bits = (vint)(z[i] + 0.0f); /* -0 becomes 0 */
    key[i] = bits ^ ((bits >> 31) & INT32_MAX);
  }
  for (int bit = 31; bit >= 0 && any(~settled); bit--) {
    vint higher = bit == 31 ? (vint){0} : threshold | ((vint){0} + (int32_t)(1u << bit)), count = {0};
    for (int64_t i = 0; i < n; i++) count -= key[i] >= higher;
    vint rise = (count >= k) & ~settled;
    threshold = (rise & higher) | (~rise & threshold);
    settled |= count == k;
  }
  for (int64_t i = 0; i < n; i++) above -= key[i] > threshold;
  vint ties = k - above;
  for (int64_t i = 0; i < n; i++) {
    vint tie = (key[i] == threshold) & (ties > 0);
    ties += tie;
    vint inside = (key[i] > threshold) | tie;
    z[i] = keep(inside, exp_v((vfloat)(key[i] ^ ((key[i] >> 31) & INT32_MAX))));
  }
}

/* How far below the maximum a score can lie and still get weight: 1 / (alpha - 1), and anywhere for top-k. */
static inline vfloat sparsemax_reach(vint parameter) { return (void)parameter, all(1.0f); }
static inline vfloat entmax15_reach(vint parameter) { return (void)parameter, all(2.0f); }
static inline vfloat entmax_reach(vint parameter) { return 1.0f / ((vfloat)parameter - 1.0f); }
static inline vfloat topk_reach(vint parameter) { return (void)parameter, all(INFINITY); }

#define FORWARD(NAME, PARAMETER)                                                                             \
  void NAME##_forward(const float *x, const PARAMETER *each, float *p, int64_t rows, int64_t n, int threads) { \
    run(NAME##_tile, NAME##_reach, x, (const int32_t *)each, p, rows, n, threads);                           \
  }

FORWARD(sparsemax, void)
FORWARD(entmax15, void)
FORWARD(entmax, float)
FORWARD(topk, int32_t)

/* ---- backward: dx = s (g - sum(s g) / sum(s)) with s = p^(2 - alpha) on the support ---- */

#define FOR_ROWS                                                                                             \
  _Pragma("omp parallel for schedule(static) num_threads(threads) if (threads > 1 && rows * n >= PARALLEL_FROM)") \
  for (int64_t r = 0; r < rows; r++)

static inline void finish(float *dx, const float *g, float sg, float s, int64_t n) {
  float mean = s > 0.0f ? sg / s : 0.0f;
  for (int64_t i = 0; i < n; i++) dx[i] *= g[i] - mean;
}

#define BACKWARD(NAME, SLOPE)                                                                                \
  void NAME(const float *p, const float *g, float *dx, int64_t rows, int64_t n, int threads) {               \
    FOR_ROWS {                                                                                               \
      const float *P = p + r * n, *G = g + r * n;                                                            \
      float *D = dx + r * n, sum = 0, weighted = 0;                                                          \
      _Pragma("omp simd reduction(+ : sum, weighted)") for (int64_t i = 0; i < n; i++) {                     \
        float s = SLOPE;                                                                                     \
        D[i] = s;                                                                                            \
        sum += s;                                                                                            \
        weighted += s * G[i];                                                                                \
      }                                                                                                      \
      finish(D, G, weighted, sum, n);                                                                        \
    }                                                                                                        \
  }

BACKWARD(softmax_backward, P[i])
BACKWARD(entmax15_backward, sqrtf(P[i]))
BACKWARD(sparsemax_backward, P[i] > 0.0f ? 1.0f : 0.0f)

/* `left` floats from `from`, zeros past them. */
static inline vfloat load_some(const float *from, int64_t left) {
  vfloat some = {0};
  if (left >= LANES) {
    __builtin_memcpy(&some, from, sizeof some);
  } else {
    for (int lane = 0; lane < left; lane++) some[lane] = from[lane];
  }
  return some;
}

static inline void store_some(float *to, vfloat some, int64_t left) {
  if (left >= LANES) {
    __builtin_memcpy(to, &some, sizeof some);
  } else {
    for (int lane = 0; lane < left; lane++) to[lane] = some[lane];
  }
}

/* The same for any alpha, and dalpha = -sum(v (g - mean)) with v = p L^2 phi((alpha - 1) L), L = log p. */
void entmax_backward(const float *p, const float *g, const float *alpha, float *dx, float *dalpha, int64_t rows,
                     int64_t n, int threads) {
  FOR_ROWS {
    const float *P = p + r * n, *G = g + r * n;
    float *D = dx + r * n, a = alpha[r] - 1.0f, inverse = 1.0f / (a * a);
    vfloat sum = {0}, weighted = {0}, v_sum = {0}, v_weighted = {0};
    for (int64_t i = 0; i < n; i += LANES) {
      vfloat weight = load_some(P + i, n - i), slope = {0};
      vint inside = weight > 0.0f;
      if (any(inside)) { /* sparse rows are mostly zeros, which need no logarithm */
        vfloat grad = load_some(G + i, n - i);
        vfloat log = log_v(pick(inside, weight, all(1.0f))), t = a * log;
        slope = keep(inside, exp_v(log - t));
        vfloat series = 0.5f - t * (1.0f / 6 - t * (1.0f / 24 - t * (1.0f / 120 - t * (1.0f / 720 - t * (1.0f / 5040)))));
        vfloat v = pick(t > -0.5f, weight * log * log * series, (slope - weight + weight * t) * inverse);
        v = keep(inside, v);
        sum += slope;
        weighted += slope * grad;
        v_sum += v;
        v_weighted += v * grad;
      }
      store_some(D + i, slope, n - i);
    }
    float s = 0, sg = 0, vs = 0, vg = 0;
    for (int lane = 0; lane < LANES; lane++) {
      s += sum[lane], sg += weighted[lane], vs += v_sum[lane], vg += v_weighted[lane];
    }
    finish(D, G, sg, s, n);
    dalpha[r] = s > 0.0f ? -(vg - sg / s * vs) : 0.0f;
  }
}
