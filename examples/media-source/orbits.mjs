import { mix } from './colour.mjs'
import { randomFrom } from './random.mjs'

/** Arcs of different length and weight around one point, with small bodies on them, in an SVG. */
export function orbits(size, seed, palette) {
  const random = randomFrom(seed)
  const centre = { x: size * random.between(0.3, 0.7), y: size * random.between(0.32, 0.68) }
  const inks = [palette.light, palette.haze, palette.far, palette.near, mix(palette.far, palette.haze, 0.5)]
  const shapes = []
  const core = size * random.between(0.06, 0.1)
  let radius = core + size * 0.045
  while (radius < size * 0.92) {
    const width = random.pick([1.5, 3, 6, 6, 11, 18])
    radius += width / 2
    const start = random.between(0, 360)
    const sweep = random.between(50, 300)
    shapes.push(arc(centre, radius, start, start + sweep, random.pick(inks), width))
    if (width > 5 && random.next() < 0.7) {
      const rest = random.between(30, Math.max(330 - sweep, 40))
      shapes.push(arc(centre, radius, start + sweep + 14, start + sweep + 14 + rest * 0.6, random.pick(inks), width))
    }
    if (width < 4 && random.next() < 0.75) {
      const body = at(centre, radius, start + sweep * random.next())
      shapes.push(`<circle cx="${body.x}" cy="${body.y}" r="${round(random.between(4, 10))}" fill="${palette.light}"/>`)
    }
    radius += width / 2 + random.pick([4, 5, 7, 10])
  }
  const ground = `<radialGradient id="g" gradientUnits="userSpaceOnUse" cx="${round(centre.x)}" cy="${round(centre.y)}" r="${size * 0.8}"><stop stop-color="${mix(palette.deep, palette.near, 0.55)}"/><stop offset="1" stop-color="${palette.deep}"/></radialGradient>`
  const sun = `<circle cx="${round(centre.x)}" cy="${round(centre.y)}" r="${round(core)}" fill="${palette.light}"/>`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" width="${size}" height="${size}"><defs>${ground}</defs><path fill="url(#g)" d="M0 0h${size}v${size}H0z"/><g fill="none" stroke-linecap="round">${shapes.filter((s) => s.startsWith('<path')).join('\n')}</g>${shapes.filter((s) => s.startsWith('<circle')).join('\n')}${sun}</svg>\n`
}

function arc(centre, radius, from, to, ink, width) {
  const [a, b] = [at(centre, radius, from), at(centre, radius, to)]
  const large = to - from > 180 ? 1 : 0
  return `<path d="M${a.x} ${a.y}A${round(radius)} ${round(radius)} 0 ${large} 1 ${b.x} ${b.y}" stroke="${ink}" stroke-width="${width}"/>`
}

function at(centre, radius, degrees) {
  const angle = (degrees / 180) * Math.PI
  return { x: round(centre.x + Math.cos(angle) * radius), y: round(centre.y + Math.sin(angle) * radius) }
}

function round(value) {
  return Math.round(value * 10) / 10
}
