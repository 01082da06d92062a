import { mix } from './colour.mjs'
import { noiseFrom, randomFrom } from './random.mjs'

const STEP = 6
const APART = 9.5

/** Ribbons that follow a field of directions and never touch, in an SVG. */
export function currents(size, seed, palette) {
  const random = randomFrom(seed)
  const noise = noiseFrom(seed)
  const scale = random.between(0.0032, 0.0048)
  const tilt = random.between(0, Math.PI * 2)
  const angleAt = (x, y) => tilt + noise(x * scale + 5, y * scale + 5) * Math.PI * 2.6
  const taken = occupancy(size)
  const inks = [palette.light, palette.haze, palette.far, palette.near, mix(palette.far, palette.light, 0.5)]
  const ribbons = []
  for (let attempt = 0; attempt < 1100; attempt++) {
    const start = { x: random.between(-10, size + 10), y: random.between(-10, size + 10) }
    const width = random.pick([2.2, 3.4, 5, 7])
    if (taken.near(start, APART)) continue
    const line = [...trace(start, -1).reverse(), start, ...trace(start, 1)]
    if (line.length < 7) continue
    for (const point of line) taken.add(point)
    const band = noise(start.x * scale * 0.8 + 40, start.y * scale * 0.8) * 1.5 - 0.25 + random.between(-0.08, 0.08)
    ribbons.push({ line, width, ink: inks[Math.min(inks.length - 1, Math.max(0, Math.floor(band * inks.length)))] })
  }
  const ground = `<linearGradient id="g" x2=".3" y2="1"><stop stop-color="${mix(palette.deep, palette.near, 0.3)}"/><stop offset="1" stop-color="${palette.deep}"/></linearGradient>`
  const paths = ribbons.map(
    ({ line, width, ink }) => `<path d="${smooth(line)}" stroke="${ink}" stroke-width="${width}"/>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" width="${size}" height="${size}"><defs>${ground}</defs><path fill="url(#g)" d="M0 0h${size}v${size}H0z"/><g fill="none" stroke-linecap="round">${paths.join('\n')}</g></svg>\n`

  function trace(start, direction) {
    const points = []
    let { x, y } = start
    for (let i = 0; i < 46; i++) {
      const angle = angleAt(x, y)
      x += Math.cos(angle) * STEP * direction
      y += Math.sin(angle) * STEP * direction
      if (x < -14 || y < -14 || x > size + 14 || y > size + 14 || taken.near({ x, y }, APART)) break
      points.push({ x, y })
    }
    return points
  }
}

/** Which points are taken, in buckets, so that asking for neighbors stays cheap. */
function occupancy() {
  const buckets = new Map()
  const key = (x, y) => `${Math.floor(x / APART)},${Math.floor(y / APART)}`
  return {
    add(point) {
      const at = key(point.x, point.y)
      buckets.set(at, [...(buckets.get(at) ?? []), point])
    },
    near({ x, y }, distance) {
      for (let dx = -1; dx <= 1; dx++) {
        for (let dy = -1; dy <= 1; dy++) {
          const found = buckets.get(key(x + dx * APART, y + dy * APART)) ?? []
          if (found.some((other) => (other.x - x) ** 2 + (other.y - y) ** 2 < distance ** 2)) return true
        }
      }
      return false
    },
  }
}

/** A path through every second point, with curves between their middles. */
function smooth(line) {
  const points = line.filter((_, i) => i % 2 === 0 || i === line.length - 1)
  const round = ({ x, y }) => `${Math.round(x)} ${Math.round(y)}`
  const middle = (a, b) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 })
  const curves = points.slice(1, -1).map((point, i) => {
    const last = i === points.length - 3
    return `Q${round(point)} ${round(last ? points[i + 2] : middle(point, points[i + 2]))}`
  })
  return `M${round(points[0])}${curves.join('')}`
}
