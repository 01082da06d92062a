import { mix } from './colour.mjs'
import { renderPng } from './png.mjs'
import { noiseFrom, randomFrom } from './random.mjs'

/** A sun or moon over layered water, in flat bands like a screen print. */
export function shore(size, seed, palette, hour) {
  const random = randomFrom(seed)
  const noise = noiseFrom(seed)
  const height = Math.sin(((hour - 6) / 12) * Math.PI)
  const horizon = size * random.between(0.52, 0.6)
  const sun = {
    x: size * random.between(0.3, 0.7),
    y: horizon - size * (0.1 + 0.28 * Math.abs(height)),
    radius: size * random.between(0.085, 0.12),
  }
  const glow = Array.from({ length: 7 }, (_, i) => mix(palette.haze, palette.sky, i / 6))
  const waves = Array.from({ length: 7 }, (_, i) => ({
    top: horizon + (size - horizon) * (i / 7) ** 1.35,
    swell: 2 + i * 3.2,
    length: size * (0.16 + 0.07 * i),
    phase: random.between(0, 7),
    colour: i < 4 ? mix(palette.far, palette.near, i / 4) : mix(palette.near, palette.deep, (i - 3) / 3),
  }))
  const hill = mix(palette.far, palette.sky, 0.35)
  const cape = mix(palette.far, palette.deep, 0.35)
  const side = random.next() < 0.5 ? -1 : 1
  const crest = ({ top, swell, length, phase }, x) =>
    top + swell * (Math.sin((x / length) * 2 + phase) * 0.6 + noise(x / length + phase, phase) * 1.4 - 0.7)

  return renderPng(size, (x, y) => {
    for (let i = waves.length - 1; i >= 0; i--) {
      if (i > 0 ? y > crest(waves[i], x) : y > horizon) return glitter(x, y, i) ?? waves[i].colour
    }
    const reach = (x - size / 2) * side
    if (y > horizon - (reach - size * 0.02) * 0.34 - noise(x / 60, 9) * size * 0.07 && reach > 0) return cape
    if (y > horizon - size * (0.02 + 0.13 * noise(x / 150, 3) * noise(x / 48, 5))) return hill
    const distance = Math.hypot(x - sun.x, y - sun.y)
    if (distance < sun.radius) return palette.light
    return glow[Math.min(6, Math.floor((distance - sun.radius) / (size * 0.075)))]
  })

  /** The light on the water: bars under the sun that widen towards the viewer. */
  function glitter(x, y, layer) {
    const depth = (y - horizon) / (size - horizon)
    const row = Math.floor(depth ** 0.7 * 15)
    const within = (depth ** 0.7 * 15) % 1
    const width = size * (0.03 + 0.1 * noise(row * 3.7, 21)) * (1 + depth)
    const middle = sun.x + (noise(row * 1.9, 33) - 0.5) * size * 0.12 * depth
    const edge = Math.abs(x - middle) / width
    if (edge > 1 || layer > 5 || within > 0.62 * Math.sqrt(1 - edge * edge)) return undefined
    return mix(palette.light, waves[layer].colour, Math.round(depth * 4) / 6)
  }
}
