import { mix } from './colour.mjs'
import { renderPng } from './png.mjs'
import { randomFrom } from './random.mjs'

/** Shapes of one tile over u, v in [0, 1): true inside. */
const SHAPES = [
  (u, v) => u * u + v * v < 1,
  (u, v) => u * u + v * v < 1 && (1 - u) ** 2 + (1 - v) ** 2 < 1,
  (u, v) => (u - 0.5) ** 2 + v * v < 0.25 || (u - 0.5) ** 2 + (v - 0.5) ** 2 < 0.0001,
  (u, v) => (u - 0.5) ** 2 + (v - 0.5) ** 2 < 0.1764,
  (u, v) => u + v < 1,
]

/** A mosaic of quarter circles, leaves, discs and rings; some tiles stand for four. */
export function tiles(size, seed, palette) {
  const random = randomFrom(seed)
  const count = random.pick([4, 5, 6])
  const inks = [palette.sky, palette.haze, palette.far, palette.near, palette.deep, palette.light]
  const tile = () => {
    const ground = random.index(inks.length)
    const ink = (ground + 1 + random.index(inks.length - 1)) % inks.length
    const third = (ground + 1 + random.index(inks.length - 1)) % inks.length
    const kind = random.next()
    return { ground: inks[ground], ink: inks[ink], third: inks[third], turn: random.index(4), kind }
  }
  const grid = Array.from({ length: count * count }, () => ({
    whole: random.next() < 0.62 ? tile() : undefined,
    parts: [tile(), tile(), tile(), tile()],
  }))
  const margin = size * 0.05
  const paper = mix(palette.deep, '#000000', 0.12)

  return renderPng(size, (x, y) => {
    const [px, py] = [(x - margin) / (size - 2 * margin), (y - margin) / (size - 2 * margin)]
    if (px < 0 || py < 0 || px >= 1 || py >= 1) return paper
    const [column, row] = [Math.floor(px * count), Math.floor(py * count)]
    const [u, v] = [px * count - column, py * count - row]
    const { whole, parts } = grid[row * count + column]
    if (whole !== undefined) return paint(whole, u, v)
    return paint(parts[(v < 0.5 ? 0 : 2) + (u < 0.5 ? 0 : 1)], (u * 2) % 1, (v * 2) % 1)
  })
}

function paint({ ground, ink, third, turn, kind }, u, v) {
  let [a, b] = [u, v]
  for (let i = 0; i < turn; i++) [a, b] = [b, 1 - a]
  if (kind < 0.3) {
    const ring = Math.floor(Math.hypot(a, b) * 4)
    return ring >= 4 ? ground : [ink, third, ink, third][ring]
  }
  const shape = SHAPES[Math.floor(((kind - 0.3) / 0.7) * SHAPES.length)]
  return shape(a, b) ? ink : ground
}
