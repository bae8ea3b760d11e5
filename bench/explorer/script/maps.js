// The normalizers once more, for rows that a reader makes: short rows, double precision, written to be read.
// A test holds each of them to the library within 1e-6.
const maps = (() => {
  const STEPS = 80; // bisections, which leave a bracket below the last digit of a double
  const EDGE = 1e-14; // what rounding leaves of a score that stands exactly at its threshold: nothing

  const sum = (row) => row.reduce((total, value) => total + value, 0);
  const scaled = (row) => row.map((value) => value / sum(row));

  function bisect(low, high, isBelow, steps = STEPS) {
    for (let step = 0; step < steps; step++) {
      const middle = (low + high) / 2;
      if (isBelow(middle)) low = middle;
      else high = middle;
    }
    return high;
  }

  // Applies a map to the kept slots of a row: the others get 0, a row without any stays 0 throughout.
  function masked(map) {
    return (row, options = {}, mask = row.map(() => true)) => {
      const places = row.map((_, place) => place).filter((place) => mask[place]);
      const weights = row.map(() => 0);
      if (places.length === 0) return weights;
      const kept = map(places.map((place) => row[place]), options, places);
      places.forEach((place, index) => (weights[place] = kept[index]));
      return weights;
    };
  }

  function softmax(row) {
    const top = Math.max(...row);
    return scaled(row.map((score) => Math.exp(score - top)));
  }

  // Softmax over the first keys in the order of `rank`, ties by place.
  function selected(row, { k, ratio }, rank) {
    const size = k === undefined ? Math.max(1, Math.ceil(ratio * row.length - 1e-9)) : Math.min(k, row.length);
    const order = row.map((_, place) => place).sort((a, b) => rank(row[a], row[b]) || a - b);
    const chosen = order.slice(0, size).sort((a, b) => a - b);
    const weights = row.map(() => 0);
    softmax(chosen.map((place) => row[place])).forEach((weight, index) => (weights[chosen[index]] = weight));
    return weights;
  }

  const topk = (row, options) => selected(row, options, (a, b) => b - a);
  const bottomk = (row, options) => selected(row, options, (a, b) => a - b);
  const scalable = (row, { s }) => softmax(row.map((score) => s * Math.log(row.length) * score));

  // p = [(α-1)(z - max) - τ]₊^(1/(α-1)); the sum falls from 1 or more at τ = -1 to 1 or less at τ = 0.
  function entmax(row, { alpha }) {
    if (alpha === 1) return softmax(row);
    const top = Math.max(...row);
    const above = (z, tau) => (alpha - 1) * (z - top) - tau;
    const power = (tau) => row.map((z) => (above(z, tau) > EDGE ? above(z, tau) ** (1 / (alpha - 1)) : 0));
    return scaled(power(bisect(-1, 0, (tau) => sum(power(tau)) > 1)));
  }

  // Where the water stands: the score at which a weight becomes 0. α = 1 has none.
  function waterline(row, alpha) {
    const peak = Math.max(...entmax(row, { alpha }));
    return alpha === 1 ? -Infinity : Math.max(...row) - peak ** (alpha - 1) / (alpha - 1);
  }

  // ∂p/∂α: T((h + s z) / (α-1)) with h = -p log p, s = p^(2-α) on the support and T(v) = v - s Σv / Σs.
  function alphaDerivative(row, alpha) {
    const top = Math.max(...row);
    const p = entmax(row, { alpha });
    const logs = p.map((weight) => (weight > 0 ? Math.log(weight) : 0));
    if (alpha === 1) {
      const mean = sum(p.map((weight, i) => weight * logs[i] ** 2));
      return p.map((weight, i) => -0.5 * weight * (logs[i] ** 2 - mean));
    }
    const s = p.map((weight) => (weight > 0 ? weight ** (2 - alpha) : 0));
    const v = p.map((weight, i) => (-weight * logs[i] + s[i] * (row[i] - top)) / (alpha - 1));
    return v.map((value, i) => value - (s[i] * sum(v)) / sum(s));
  }

  // argmin ½‖x - z‖² + λ Σ|x_{j+1} - x_j|, by its dual: one u in [-λ, λ] per pair of neighbours, each in turn at its best.
  function fused(row, lam) {
    const u = Array(row.length + 1).fill(0); // u[j] stands between j-1 and j; the ends stay 0
    for (let round = 0, change = 1; round < 20000 && change > 1e-13; round++) {
      change = 0;
      for (let j = 1; j < row.length; j++) {
        const best = Math.min(Math.max((row[j - 1] - row[j] + u[j - 1] + u[j + 1]) / 2, -lam), lam);
        change = Math.max(change, Math.abs(best - u[j]));
        u[j] = best;
      }
    }
    return row.map((z, j) => z + u[j] - u[j + 1]);
  }

  const sparsemax = (row) => entmax(row, { alpha: 2 });
  const fusedmax = (row, { lam }) => sparsemax(fused(row, lam));

  // p = clip(z - τ, 0, u). Bounds of less than 1 in all allow no weights: ask before.
  function constrained(row, { upper }, places) {
    const bounds = places.map((place) => (Array.isArray(upper) ? upper[place] : upper));
    const clip = (tau) => row.map((z, i) => (z - tau > EDGE ? Math.min(z - tau, bounds[i]) : 0));
    return clip(bisect(Math.min(...row) - 1, Math.max(...row), (tau) => sum(clip(tau)) > 1));
  }

  // Softmax beside a sink of score s, whose share goes to nobody; s = 0 is softmax-1.
  const sink = (row, { s }) => softmax([...row, s]).slice(0, -1);

  // From the last key back, each takes its share of what is left of a stick.
  function stick(row) {
    let left = 1;
    return row.reduceRight((weights, score) => {
      const weight = left / (1 + Math.exp(-score));
      left /= 1 + Math.exp(score);
      return [weight, ...weights];
    }, []);
  }

  const sigmoid = (row) => row.map((score) => 1 / (1 + Math.exp(Math.log(row.length) - score)));

  function softpick(row) {
    const lifted = row.map((score) => Math.expm1(score));
    const total = sum(lifted.map(Math.abs)) + 1e-12;
    return lifted.map((value) => Math.max(value, 0) / total);
  }

  const support = (weights) => weights.filter((weight) => weight > 0).length;

  return {
    ...Object.fromEntries(
      Object.entries({
        ...{ softmax, topk, bottomk, scalable, entmax, sparsemax, fusedmax, constrained, sink, stick, sigmoid, softpick },
      }).map(([name, map]) => [name, masked(map)]),
    ),
    ...{ bisect, waterline, alphaDerivative, fused, support, sum },
  };
})();
