import { mix } from './colour.mjs'
import { renderLayer } from './png.mjs'
import { noiseFrom, randomFrom } from './random.mjs'

const HORIZON = 0.63
const LAMP = { x: 0.66, y: 0.3 }

/** The images of examples/art by path: lighthouses by the sea, in flat bands like a screen print. */
export function artLayers(size) {
  const images = {}
  const add = (path, colourAt) => {
    images[path] = renderLayer(size, (x, y) => colourAt(x / size, y / size))
  }
  for (const [name, top, bottom] of SKIES) add(`layers/1_Sky/${name}.png`, sky(top, bottom))
  for (const [name, orb] of Object.entries(ORBS)) add(`layers/2_Orb/${name}.png`, orb)
  for (const [name, sea] of Object.entries(SEAS)) add(`layers/3_Sea/${name}.png`, sea)
  for (const [name, isle] of Object.entries(ISLES)) add(`layers/4_Isle/${name}.png`, isle)
  for (const [name, stripe] of Object.entries(TOWERS)) add(`layers/5_Tower/${name}.png`, tower(stripe))
  for (const [name, colour] of Object.entries(BEAMS)) add(`layers/6_Beam/${name}.png`, beam(colour))
  for (const [name, boat] of Object.entries(BOATS)) add(`layers/7_Boat/${name}.png`, boat)
  add('special/Aurora.png', aurora())
  return images
}

const SKIES = [
  ['Dawn', '#8d6a9f', '#f9d0b0'],
  ['Noon', '#6fbfcd', '#e3f1e4'],
  ['Dusk', '#4a2f6b', '#f0805a'],
  ['Midnight', '#0b1026', '#3a4f8c'],
]

/** Eight bands that become narrower towards the horizon. */
const sky = (top, bottom) => (_, y) => mix(top, bottom, Math.min(7, Math.floor((y / HORIZON) ** 1.25 * 8)) / 7)

const disc = (x, y, colour, radius) => (px, py) => (Math.hypot(px - x, py - y) < radius ? colour : null)
const over =
  (...shapes) =>
  (x, y) => {
    for (const shape of shapes) {
      const colour = shape(x, y)
      if (colour !== null) return colour
    }
    return null
  }

const ORBS = {
  'High Sun': over(
    disc(0.29, 0.2, '#fff6d6', 0.075),
    disc(0.29, 0.2, '#fff6d63c', 0.115),
    disc(0.29, 0.2, '#fff6d620', 0.155),
  ),
  'Low Sun': over(
    disc(0.31, 0.56, '#ffd27a', 0.12),
    disc(0.31, 0.56, '#ffd27a3c', 0.17),
    disc(0.31, 0.56, '#ffd27a20', 0.22),
  ),
  Moon: over(
    disc(0.27, 0.215, '#cfc9ad', 0.014),
    disc(0.315, 0.18, '#cfc9ad', 0.02),
    disc(0.29, 0.2, '#efe9cf', 0.075),
  ),
  Crescent: (x, y) =>
    disc(0.325, 0.185, '#000000', 0.068)(x, y) === null ? disc(0.29, 0.2, '#efe9cf', 0.075)(x, y) : null,
}

const wave = (bands) => (x, y) => {
  if (y < HORIZON) return null
  let colour = bands[0].colour
  for (const { top, swell, length, phase, colour: own } of bands.slice(1)) {
    if (y > top + swell * Math.sin(x / length + phase)) colour = own
  }
  return colour
}

const water = (colours, swell, length) =>
  wave(
    colours.map((colour, i) => ({
      ...{ colour, length: length * (0.6 + 0.2 * i), phase: i * 1.9, swell: swell * (0.4 + 0.35 * i) },
      top: HORIZON + (1 - HORIZON) * (i / colours.length) ** 1.25,
    })),
  )

const SEAS = {
  Calm: water(['#3fa0a8d9', '#2f8c9ad9', '#227588e0', '#185f75e6', '#104b60f0'], 0.006, 0.12),
  Swell: water(['#2f86a0d9', '#256f90d9', '#1b5a7ee0', '#13476ae6', '#0d3655f0'], 0.018, 0.09),
  Glass: water(['#8fc9c3b8', '#6fb3b3c0', '#529ca3c8', '#3a8592d0', '#286f80e0'], 0.002, 0.2),
  Gale: water(['#56707ee6', '#465f70e6', '#384f62ec', '#2b4054f2', '#203247f7'], 0.03, 0.055),
}

const ground = (height, colours) => {
  const noise = noiseFrom(77)
  return (x, y) => {
    const reach = 1 - Math.abs(x - 0.69) / 0.3
    if (reach <= 0 || y > 0.745 + 0.012 * Math.sin(x * 40) * reach) return null
    const crest = 0.745 - height(x, noise) * Math.min(1, reach * 2.2)
    if (y < crest) return null
    return colours[Math.min(colours.length - 1, Math.floor(((y - crest) / 0.16) * colours.length))]
  }
}

const ISLES = {
  Rock: ground((x, noise) => 0.06 + 0.07 * noise(x * 11, 3), ['#6d6a73', '#57545f', '#43414d', '#33323d']),
  Dune: ground((x) => 0.075 + 0.022 * Math.sin(x * 13), ['#dcc08c', '#c8a671', '#ae8b5b', '#8f7049']),
  Meadow: ground((x) => 0.085 + 0.012 * Math.sin(x * 21 + 1), ['#7da35a', '#5f8a4c', '#6a5443', '#523f33']),
}

/** A tower whose width shrinks upwards, with a gallery, a lamp and a roof. */
const tower = (stripe) => (x, y) => {
  const dx = x - LAMP.x
  const up = (0.69 - y) / (0.69 - 0.345)
  if (Math.abs(dx) < 0.013 && y < 0.225 && y > 0.195) return '#2b2d3a'
  if (y > 0.222 && y < 0.268 && Math.abs(dx) < (y - 0.222) * 1.05) return '#b23a34'
  if (y >= 0.268 && y < 0.328 && Math.abs(dx) < 0.034)
    return Math.abs(Math.abs(dx) - 0.017) < 0.0035 ? '#2b2d3a' : '#ffe9a8'
  if (y >= 0.328 && y < 0.348 && Math.abs(dx) < 0.062) return '#2b2d3a'
  if (up < 0 || up > 1) return null
  const half = 0.078 - 0.032 * up
  if (Math.abs(dx) > half) return null
  const colour = stripe(up, dx / half)
  const isDoor = Math.abs(dx) < 0.018 && up < 0.13
  const isWindow = Math.abs(dx) < 0.009 && (Math.abs(up - 0.42) < 0.03 || Math.abs(up - 0.72) < 0.03)
  if (isDoor || isWindow) return '#2b2d3a'
  return dx / half > 0.35 ? mix(colour, '#2b2d3a', 0.18) : colour
}

const banded = (one, other, count) => (up) => (Math.floor(up * count) % 2 === 0 ? one : other)

const TOWERS = {
  White: () => '#f4efe6',
  'Red Bands': banded('#c8433a', '#f4efe6', 5),
  'Black Bands': banded('#2f3340', '#f4efe6', 7),
  'Blue Spiral': (up, across) => ((((up * 4 + across * 0.35) % 1) + 1) % 1 < 0.5 ? '#2f6f9f' : '#f4efe6'),
  Gold: banded('#e8b84a', '#f3d584', 9),
}

const BEAMS = { 'White Beam': '#fff3c4', 'Amber Beam': '#ffb347' }

/** Three nested wedges of light to the left. */
const beam = (colour) => (x, y) => {
  const reach = LAMP.x - 0.035 - x
  if (reach < 0) return null
  const spread = Math.abs(y - LAMP.y + reach * 0.12) / (0.012 + reach * 0.24)
  if (spread > 1) return null
  return `${colour}${spread < 0.4 ? '8c' : spread < 0.7 ? '5a' : '30'}`
}

const hull = (x, y, width, height, colour) => (px, py) => {
  const down = (py - y) / height
  return down >= 0 && down <= 1 && Math.abs(px - x) < width * (1 - 0.35 * down) ? colour : null
}
const triangle = (x, top, bottom, width, colour) => (px, py) =>
  py > top &&
  py < bottom &&
  (px - x) * Math.sign(width) > 0 &&
  Math.abs(px - x) < Math.abs(width) * ((py - top) / (bottom - top))
    ? colour
    : null
const box = (left, top, right, bottom, colour) => (px, py) =>
  px > left && px < right && py > top && py < bottom ? colour : null

const BOATS = {
  Sail: over(
    hull(0.26, 0.7, 0.075, 0.03, '#7a4a35'),
    triangle(0.262, 0.53, 0.69, 0.07, '#f6f0e2'),
    triangle(0.254, 0.56, 0.69, -0.05, '#e2d6c0'),
    box(0.255, 0.52, 0.261, 0.705, '#4a3328'),
  ),
  Dinghy: over(
    hull(0.25, 0.72, 0.05, 0.026, '#c8433a'),
    box(0.23, 0.7, 0.244, 0.725, '#2b2d3a'),
    disc(0.237, 0.694, '#2b2d3a', 0.011),
  ),
  Ferry: over(
    box(0.2, 0.645, 0.22, 0.68, '#c8433a'),
    box(0.17, 0.675, 0.31, 0.7, '#f4efe6'),
    hull(0.24, 0.698, 0.115, 0.034, '#26415c'),
  ),
  'Ghost Ship': over(
    hull(0.25, 0.7, 0.095, 0.036, '#bfe8e0a0'),
    triangle(0.262, 0.5, 0.69, 0.075, '#d9fff680'),
    triangle(0.252, 0.53, 0.69, -0.062, '#d9fff666'),
    box(0.252, 0.49, 0.26, 0.705, '#bfe8e0b0'),
  ),
}

/** The one-of-one: curtains of light above the white tower at midnight. */
function aurora() {
  const random = randomFrom(13)
  const noise = noiseFrom(13)
  const stars = Array.from({ length: 60 }, () => ({
    x: random.next(),
    y: random.next() * 0.5,
    r: random.between(0.0015, 0.004),
  }))
  const base = sky('#070b1c', '#25406f')
  const parts = over(
    BOATS.Sail,
    tower(TOWERS.White),
    ISLES.Rock,
    water(['#2a6a78', '#215968', '#194858', '#123848', '#0c2938'], 0.006, 0.12),
    (x, y) => (stars.some((star) => Math.hypot(star.x - x, star.y - y) < star.r) ? '#f4f7e6' : null),
  )
  return (x, y) => {
    const shape = parts(x, y)
    if (shape !== null) return shape
    for (const [index, colour] of ['#7ef0b2', '#4fc9c4', '#8f7ae0'].entries()) {
      const middle = 0.22 + index * 0.09 + 0.1 * Math.sin(x * (5 + index) + index) + 0.05 * noise(x * 9, index)
      const depth = (middle - y) / 0.16
      if (depth > 0 && depth < 1) return mix(colour, base(x, y), 0.3 + 0.6 * (Math.floor(depth * 5) / 5))
    }
    return base(x, y)
  }
}
