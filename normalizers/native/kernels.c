/* Row kernels of the attention normalizers: float32, rows contiguous, one call for all rows.

   A slot that is not kept holds -inf; a row without a kept slot gives zeros, a row with a NaN gives NaN. The maps of
   entmax.h work on tiles, a row to a vector lane; top-k and all backward products work row by row.

   A lane that has settled stays as it is while others go on, so a row's result depends neither on the rows beside it nor
   on the number of threads. */

#include "bisection.h"
#include "entmax.h"
#include "topk.h"

/* How wide the kernels were compiled. */
int lanes(void) { return LANES; }

/* The functions that return an int ask for memory: it says whether that was too short, and the results not valid. */

/* ---- forward ---- */

int sparsemax_forward(const float *x, float *p, int64_t rows, int64_t n, int threads) {
  return run(sparsemax_tile, sparsemax_reach, x, NULL, p, rows, n, threads);
}
int entmax15_forward(const float *x, float *p, int64_t rows, int64_t n, int threads) {
  return run(entmax15_tile, entmax15_reach, x, NULL, p, rows, n, threads);
}
int entmax_forward(const float *x, const float *alpha, float *p, int64_t rows, int64_t n, int threads) {
  return run(entmax_any_tile, entmax_reach, x, alpha, p, rows, n, threads);
}

int topk_forward(const float *x, float *p, int64_t rows, int64_t n, int threads, int64_t k, double ratio) {
  int failed = 0;
#pragma omp parallel num_threads(threads) if (threads > 1 && rows * n >= PARALLEL_FROM) reduction(| : failed)
  {
    float *z = (float *)new_vectors((n + LANES) / LANES);
    failed = !z;
#pragma omp for schedule(static)
    for (int64_t r = 0; r < rows; r++) {
      if (!failed) topk_row(x + r * n, p + r * n, z, n, k, ratio);
    }
    free(z);
  }
  return failed;
}

/* `p` holds the exact weights. */
void bisected_forward(const float *x, const float *alpha, float *p, int64_t rows, int64_t n, int threads, int steps) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && rows * n >= PARALLEL_FROM)
  for (int64_t r = 0; r < rows; r++) bisected_row(x + r * n, alpha[r] - 1.0f, steps, p + r * n, n);
}

void bisected_backward(const float *x, const float *p, const float *g, const float *largest, const float *alpha, float *dx,
                       float *dalpha, int64_t rows, int64_t n, int threads, int steps) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && rows * n >= PARALLEL_FROM)
  for (int64_t r = 0; r < rows; r++) {
    dalpha[r] = bisected_back(x + r * n, p + r * n, g + r * n, largest[r], alpha[r] - 1.0f, steps, dx + r * n, n);
  }
}

/* ---- backward, from the weights alone (see ../implicit.py) ---- */

/* dx = s (g - sum(s g) / sum(s)) with s = p^(2 - alpha) on the support and 0 off it */

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
BACKWARD(entmax15_backward, P[i] > 0.0f ? sqrtf(P[i]) : 0.0f)
BACKWARD(sparsemax_backward, P[i] > 0.0f ? 1.0f : 0.0f)

/* The same for any alpha, and dalpha = -sum(v (g - mean)) with v = p L^2 phi((alpha - 1) L), L = log p. Sparse rows are
   mostly zeros, which need no logarithm: the others are packed together in `weight` and `grad`, which have room for n and one
   vector more, as has `v`. */
static float entmax_row(const float *p, const float *g, float a, float *dx, int64_t n, float *weight, float *grad,
                        float *v) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i += LANES) {
    vfloat w = load_some(p + i, n - i, 0.0f);
    unsigned inside = bits(w > 0.0f);
    store(weight + count, compress(w, inside));
    store(grad + count, compress(load_some(g + i, n - i, 0.0f), inside));
    count += __builtin_popcount(inside);
  }
  store(weight + count, (vfloat){0});
  store(grad + count, (vfloat){0});
  float inverse = 1.0f / (a * a);
  total_t sum = {0}, weighted = {0}, derivative = {0};
  for (int64_t i = 0; i < count; i += LANES) {
    vfloat w = load(weight + i), d = load(grad + i);
    vint inside = w > 0.0f;
    vfloat log = log_v(pick(inside, w, all(1.0f))), t = a * log, s = keep(inside, exp_v(log - t));
    vfloat series = 0.5f - t * (1.0f / 6 - t * (1.0f / 24 - t * (1.0f / 120 - t * (1.0f / 720 - t * (1.0f / 5040)))));
    store(v + i, pick(t > -0.5f, w * log * log * series, (s - w + w * t) * inverse));
    add(&sum, s);
    add(&weighted, s * d);
    store(weight + i, s);
  }
  float s = sum_of(value_of(sum)), mean = s > 0.0f ? sum_of(value_of(weighted)) / s : 0.0f;
  for (int64_t i = 0; i < count; i += LANES) {
    vfloat deviation = load(grad + i) - mean;
    store(grad + i, load(weight + i) * deviation);
    add(&derivative, load(v + i) * deviation);
  }
  for (int64_t i = 0; i < n; i += LANES) {
    unsigned inside = bits(load_some(p + i, n - i, 0.0f) > 0.0f);
    store_some(dx + i, expand(load(grad), inside), n - i);
    grad += __builtin_popcount(inside);
  }
  return -sum_of(value_of(derivative));
}

int entmax_backward(const float *p, const float *g, const float *alpha, float *dx, float *dalpha, int64_t rows,
                    int64_t n, int threads) {
  int failed = 0;
#pragma omp parallel num_threads(threads) if (threads > 1 && rows * n >= PARALLEL_FROM) reduction(| : failed)
  {
    int64_t room = n / LANES + 2;
    float *weight = (float *)new_vectors(room), *grad = (float *)new_vectors(room), *v = (float *)new_vectors(room);
    failed = !weight || !grad || !v;
#pragma omp for schedule(static)
    for (int64_t r = 0; r < rows; r++) {
      if (failed) continue;
      dalpha[r] = entmax_row(p + r * n, g + r * n, alpha[r] - 1.0f, dx + r * n, n, weight, grad, v);
    }
    free(weight);
    free(grad);
    free(v);
  }
  return failed;
}
