const NUMBER_FORMAT = new Intl.NumberFormat('en-US')
const RELATIVE_TIME_FORMAT = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })
const DATE_TIME_FORMAT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

export const groupDigits = (value: number) => NUMBER_FORMAT.format(value)

/** Formats a number and its noun, such as `1 NFT` or `2,000 NFTs`. */
export const count = (value: number, one: string, many = `${one}s`) =>
  `${groupDigits(value)} ${value === 1 ? one : many}`

/** Groups the decimal digits of a number, regardless of its length. Returns other text unchanged. */
export const digits = (text: string) => (/^\d+$/.test(text) ? NUMBER_FORMAT.format(BigInt(text)) : text)

/** Formats a size in decimal units, as file managers do, such as `12.4 MB`. */
export function bytes(size: number): string {
  if (size < 1000) return count(size, 'byte')
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = size / 1000
  let unit = 0
  // Compare the rounded value, so that 999.6 kB becomes 1.0 MB.
  while (unit < units.length - 1 && Math.round(value) >= 1000) {
    value /= 1000
    unit++
  }
  return `${value.toFixed(value < 9.95 ? 1 : 0)} ${units[unit]}`
}

const UNIT_STEPS: readonly (readonly [seconds: number, unit: Intl.RelativeTimeFormatUnit])[] = [
  [60, 'second'],
  [60, 'minute'],
  [24, 'hour'],
  [30, 'day'],
  [12, 'month'],
  [Number.POSITIVE_INFINITY, 'year'],
]

/** Formats a time relative to now, such as `3 min. ago` or `in 2 hr.`. Returns text that isn't a time unchanged. */
export function ago(iso: string, now: number): string {
  const then = Date.parse(iso)
  if (Number.isNaN(then)) return iso
  let value = (then - now) / 1000
  if (Math.abs(value) < 5) return 'just now'
  for (const [size, unit] of UNIT_STEPS) {
    if (Math.abs(Math.round(value)) < size) return RELATIVE_TIME_FORMAT.format(Math.round(value), unit)
    value /= size
  }
  return iso
}

/** Formats a time in the reader's time zone. Returns text that isn't a time unchanged. */
export function moment(iso: string): string {
  const then = Date.parse(iso)
  return Number.isNaN(then) ? iso : DATE_TIME_FORMAT.format(then)
}

/** Shortens a long ID or address to its first and last characters. */
export function shortenMiddle(text: string, head = 6, tail = 4): string {
  const letters = [...text]
  if (letters.length <= head + tail + 3) return text
  return `${letters.slice(0, head).join('')}…${letters.slice(-tail).join('')}`
}

/** Returns a title; null if none of it is visible. Some titles consist only of spaces and direction marks. */
export function visibleTitle(title: string): string | null {
  return /[^\p{C}\p{Z}\p{M}\u115f\u1160\u2800\u3164\uffa0]/u.test(title) ? title : null
}

/** Formats a blockchain name, such as `Polygon Mumbai` for `polygon-mumbai`. */
export const blockchainName = (name: string) =>
  name
    .split('-')
    .map((part) => (part === 'bnb' ? 'BNB' : part.charAt(0).toUpperCase() + part.slice(1)))
    .join(' ')

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/avif': 'avif',
  // An SVG is also a web page, but users expect an image. With this extension, it opens in an image viewer.
  'image/svg+xml': 'svg',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'video/quicktime': 'mov',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/ogg': 'ogg',
  'audio/mp4': 'm4a',
  'model/gltf-binary': 'glb',
  'model/gltf+json': 'gltf',
  'application/pdf': 'pdf',
  'application/json': 'json',
}

/**
 * Returns the file name for a download. Only types that are safe to open get their extension. For example, an .html
 * file would run from the disk without our content security policy.
 */
export function fileName(cid: string, contentType: string | null): string {
  const type = (contentType ?? '').split(';', 1)[0] ?? ''
  const extension = Object.hasOwn(EXTENSIONS, type) ? EXTENSIONS[type] : 'bin'
  return `${cid}.${extension}`
}

/** Returns an http(s) URL; null for any other text, because only http(s) URLs may become links. */
export function webAddress(text: string | null): string | null {
  if (text === null) return null
  try {
    const { protocol, href } = new URL(text)
    return protocol === 'https:' || protocol === 'http:' ? href : null
  } catch {
    return null
  }
}
