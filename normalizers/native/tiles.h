/* Tiles: the slots of LANES rows that can get weight, a row to a lane, so that no step needs a sum across lanes. */

#pragma once
#include "vectors.h"

#define BLOCK 8 /* terms that are added up in one go before they join a total */
#define PARALLEL_FROM 32768 /* elements below which threads cost more than they give */

typedef struct {
  vfloat *score;        /* score[i][lane]: the i-th candidate of the lane's row, less the row's maximum; -inf past the last */
  float *packed;        /* the same row by row, `stride` floats to each */
  uint16_t *chosen;     /* chosen[lane * blocks + b]: which slots of block b of the row are candidates */
  int64_t stride, blocks;
  int64_t count[LANES]; /* candidates of each lane */
  int64_t longest;      /* the largest count */
  int64_t bad[LANES];   /* rows that hold a NaN or +inf */
} tile_t;

/* Room for `count` vectors; NULL where memory has none. */
static inline vfloat *new_vectors(int64_t count) { return aligned_alloc(sizeof(vfloat), (size_t)count * sizeof(vfloat)); }

static inline tile_t new_tile(int64_t n) {
  int64_t blocks = (n + LANES - 1) / LANES, stride = (blocks + 1) * LANES;
  return (tile_t){.score = new_vectors(n + 1),
                  .packed = (float *)new_vectors(stride),
                  .chosen = malloc((size_t)blocks * LANES * sizeof(uint16_t)),
                  .stride = stride,
                  .blocks = blocks};
}

static inline void free_tile(tile_t *tile) {
  free(tile->score);
  free(tile->packed);
  free(tile->chosen);
}

/* The largest of row[0..n), and whether it holds a NaN or +inf. */
static inline float top_of(const float *row, int64_t n, int64_t *bad) {
  vfloat top = all(-INFINITY);
  vint wrong = {0};
  for (int64_t i = 0; i < n; i += LANES) {
    vfloat x = load_some(row + i, n - i, -INFINITY);
    top = larger(x, top);
    wrong |= ~(x < INFINITY);
  }
  *bad = any(wrong);
  return max_of(top);
}

/* Fills the tile with the scores of each row that are less than `reach` below its maximum: no other can get weight. */
static inline void fill_tile(tile_t *tile, const float *x, vfloat reach, int64_t rows, int64_t n) {
  tile->longest = 0;
  for (int lane = 0; lane < LANES; lane++) {
    int64_t count = 0;
    tile->bad[lane] = 0;
    if (lane < rows) {
      const float *row = x + lane * n;
      float *packed = tile->packed + lane * tile->stride, top = top_of(row, n, &tile->bad[lane]), floor = -reach[lane];
      for (int64_t b = 0; b < tile->blocks; b++) {
        vfloat z = load_some(row + b * LANES, n - b * LANES, -INFINITY) - top;
        unsigned chosen = bits(z > floor);
        store(packed + count, compress(z, chosen)); /* the lanes past the chosen ones are overwritten by what follows */
        tile->chosen[lane * tile->blocks + b] = (uint16_t)chosen;
        count += __builtin_popcount(chosen);
      }
    }
    tile->count[lane] = count;
    if (count > tile->longest) tile->longest = count;
  }
  for (int lane = 0; lane < LANES; lane++) {
    for (int64_t i = tile->count[lane]; i < tile->longest; i += LANES) store(tile->packed + lane * tile->stride + i, all(-INFINITY));
  }
  for (int64_t i = 0; i < tile->longest; i++) {
    vfloat score = {0};
    for (int lane = 0; lane < LANES; lane++) score[lane] = tile->packed[lane * tile->stride + i];
    tile->score[i] = score;
  }
}

/* Writes the weights to their places, each row divided by its sum: zeros for a row without weight, NaN for a bad one. */
static inline void empty_tile(const tile_t *tile, float *p, int64_t rows, int64_t n) {
  total_t total = {0};
  for (int64_t i = 0; i < tile->longest;) {
    vfloat part = {0};
    for (int64_t end = i + BLOCK < tile->longest ? i + BLOCK : tile->longest; i < end; i++) part += tile->score[i];
    add(&total, part);
  }
  vint some = value_of(total) > 0.0f;
  vfloat factor = keep(some, 1.0f / pick(some, value_of(total), all(1.0f)));
  for (int64_t i = 0; i < tile->longest; i++) {
    vfloat weight = tile->score[i] * factor;
    for (int lane = 0; lane < LANES; lane++) tile->packed[lane * tile->stride + i] = weight[lane];
  }
  for (int lane = 0; lane < rows && lane < LANES; lane++) {
    const float *packed = tile->packed + lane * tile->stride;
    vint bad = (vint){0} - (int32_t)tile->bad[lane];
    for (int64_t b = 0; b < tile->blocks; b++) {
      unsigned chosen = tile->chosen[lane * tile->blocks + b];
      store_some(p + lane * n + b * LANES, pick(bad, all(NAN), expand(load(packed), chosen)), n - b * LANES);
      packed += __builtin_popcount(chosen);
    }
  }
}

/* Turns the scores z[0..n) of a tile into weights, up to a factor per row. `parameter` holds what each row brings along;
   `scratch` has room for 4 n. */
typedef void (*tile_map)(vfloat *z, int64_t n, vfloat parameter, vfloat *scratch);
typedef vfloat (*tile_reach)(vfloat parameter);

/* Returns whether memory was too short, as all functions do that ask for some; the weights are not valid then. */
static inline __attribute__((always_inline)) int run(tile_map map, tile_reach reach, const float *x,
                                                     const float *parameters, float *p, int64_t rows, int64_t n,
                                                     int threads) {
  int failed = 0;
#pragma omp parallel num_threads(threads) if (threads > 1 && rows * n >= PARALLEL_FROM) reduction(| : failed)
  {
    tile_t tile = new_tile(n);
    vfloat *scratch = new_vectors(4 * n + 1);
    failed = !tile.score || !tile.packed || !tile.chosen || !scratch;
#pragma omp for schedule(static)
    for (int64_t r = 0; r < rows; r += LANES) {
      if (failed) continue;
      int64_t left = rows - r < LANES ? rows - r : LANES;
      vfloat parameter = parameters ? load_some(parameters + r, left, parameters[r]) : (vfloat){0};
      fill_tile(&tile, x + r * n, reach(parameter), left, n);
      map(tile.score, tile.longest, parameter, scratch);
      empty_tile(&tile, p + r * n, left, n);
    }
    free_tile(&tile);
    free(scratch);
  }
  return failed;
}
