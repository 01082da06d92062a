/** Repeatable numbers in [0, 1): the images must come out the same on every machine. */
export function randomFrom(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return {
    next,
    between: (low, high) => low + next() * (high - low),
    pick: (list) => list[Math.floor(next() * list.length)],
    index: (length) => Math.floor(next() * length),
  }
}

/** Smooth noise in [0, 1) over the plane: random values on a grid, blended. */
export function noiseFrom(seed) {
  const known = new Map()
  const at = (x, y) => {
    const corner = Math.imul(x, 374761393) ^ Math.imul(y, 668265263)
    return known.get(corner) ?? known.set(corner, randomFrom(seed ^ corner).next()).get(corner)
  }
  const ease = (t) => t * t * t * (t * (t * 6 - 15) + 10)
  return (x, y) => {
    const [ix, iy] = [Math.floor(x), Math.floor(y)]
    const [u, v] = [ease(x - ix), ease(y - iy)]
    const top = at(ix, iy) * (1 - u) + at(ix + 1, iy) * u
    const bottom = at(ix, iy + 1) * (1 - u) + at(ix + 1, iy + 1) * u
    return top * (1 - v) + bottom * v
  }
}
