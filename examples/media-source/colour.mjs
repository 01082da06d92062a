/**
 * Palettes of the day, six colours each: sky, haze, far, near, deep, light. Between two of them an hour's palette is
 * blended.
 */
const DAY = [
  { hour: 0, name: 'midnight', colours: ['#0b1026', '#1a2350', '#2b3f7c', '#16244d', '#070b1c', '#e9e3c4'] },
  { hour: 4, name: 'small hours', colours: ['#141634', '#33306b', '#5c4b8f', '#2a2859', '#0c0d24', '#f0c9c9'] },
  { hour: 6, name: 'first light', colours: ['#f2a48c', '#f7c9a3', '#8d6a9f', '#544680', '#2a2455', '#fff0cf'] },
  { hour: 9, name: 'morning', colours: ['#9fd3d9', '#d9ece0', '#4fa3ad', '#217a8c', '#0f4a5f', '#fff6d6'] },
  { hour: 13, name: 'noon', colours: ['#f4e6c3', '#fbf3de', '#3fb0a8', '#e8683f', '#12506b', '#f6b63c'] },
  { hour: 17, name: 'afternoon', colours: ['#f6cf8b', '#fbe6bd', '#d97b4a', '#2f7f86', '#23475c', '#fff3d1'] },
  { hour: 19, name: 'dusk', colours: ['#e8624a', '#f6a25c', '#a83e5b', '#5d2c5e', '#2b1842', '#ffe2a0'] },
  { hour: 21, name: 'nightfall', colours: ['#3a2a63', '#6d3f7d', '#b2567c', '#2a2356', '#150f33', '#ffcf9a'] },
  { hour: 24, name: 'midnight', colours: ['#0b1026', '#1a2350', '#2b3f7c', '#16244d', '#070b1c', '#e9e3c4'] },
]

/** The palette of an hour, as `{ name, sky, haze, far, near, deep, light }` in #rrggbb. */
export function paletteOf(hour) {
  const after = DAY.findIndex((key) => key.hour > hour)
  const [from, to] = [DAY[after - 1], DAY[after]]
  const share = (hour - from.hour) / (to.hour - from.hour)
  const [sky, haze, far, near, deep, light] = from.colours.map((colour, i) => mix(colour, to.colours[i], share))
  return { name: share < 0.5 ? from.name : to.name, sky, haze, far, near, deep, light }
}

export function toRgb(hex) {
  const value = Number.parseInt(hex.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

/** Blends in squared space, which keeps the middle of two colours from going grey and dark. */
export function mix(a, b, share) {
  const [from, to] = [toRgb(a), toRgb(b)]
  const channels = from.map((value, i) => Math.round(Math.sqrt(value * value * (1 - share) + to[i] * to[i] * share)))
  return `#${channels.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}
