import { CONTENT_BYTES } from '../key-table.ts'

/** Rows of a request that are all named by their contents, each the first of its content: what rows mostly are. */
export interface PackedRows {
  count: number
  /** `CONTENT_BYTES` of each. */
  hashes: Uint8Array
  lines: Uint32Array
}

const QUOTE = 0x22
const COMMA = 0x2c
const ZERO = 0x30
const CLOSE = 0x5d
const DIGITS = CONTENT_BYTES * 2
/** A line number of so many digits fits a word. */
const MAX_LINE_DIGITS = 9
const BEFORE_KEY = Buffer.from('["row:')
const LEAST = '["row:",1,""]'.length + 2 * DIGITS
const NO_DIGIT = 0xff

const HEX = new Uint8Array(256).fill(NO_DIGIT)
for (const [value, digit] of [...'0123456789abcdef'].entries()) HEX[digit.charCodeAt(0)] = value

/**
 * Reads the rows of an intent by their bytes, a third of the time that they take as JSON.
 *
 * @param at where the first row begins
 * @returns null for rows that are written in any other way, and are to be read as JSON then
 */
export function packedRows(json: Buffer, at: number): PackedRows | null {
  const most = Math.ceil((json.length - at) / LEAST)
  const hashes = new Uint8Array(most * CONTENT_BYTES)
  const lines = new Uint32Array(most)
  let count = 0
  for (;;) {
    for (let byte = 0; byte < BEFORE_KEY.length; byte++) if (json[at + byte] !== BEFORE_KEY[byte]) return null
    const key = at + BEFORE_KEY.length
    if (!readHash(json, key, hashes, count * CONTENT_BYTES)) return null
    at = key + DIGITS
    if (json[at] !== QUOTE || json[at + 1] !== COMMA) return null
    at += 2
    const from = at
    let line = 0
    for (let digit = HEX[json[at] ?? 0] ?? NO_DIGIT; digit <= 9; digit = HEX[json[at] ?? 0] ?? NO_DIGIT) {
      line = line * 10 + digit
      at++
    }
    if (at === from || at - from > MAX_LINE_DIGITS || (json[from] === ZERO && at - from > 1)) return null
    if (json[at] !== COMMA || json[at + 1] !== QUOTE) return null
    at += 2
    for (let digit = 0; digit < DIGITS; digit++) if (json[at + digit] !== json[key + digit]) return null
    at += DIGITS
    if (json[at] !== QUOTE || json[at + 1] !== CLOSE) return null
    at += 2
    lines[count++] = line
    if (json[at] === CLOSE) return { count, hashes, lines }
    if (json[at] !== COMMA) return null
    at++
  }
}

/** Puts the bytes that digits say into a list; false where they aren't all digits, as we write them. */
function readHash(json: Buffer, at: number, hashes: Uint8Array, to: number): boolean {
  let all = 0
  for (let byte = 0; byte < CONTENT_BYTES; byte++) {
    const high = HEX[json[at + byte * 2] ?? 0] ?? NO_DIGIT
    const low = HEX[json[at + byte * 2 + 1] ?? 0] ?? NO_DIGIT
    all |= high | low
    hashes[to + byte] = (high << 4) | low
  }
  return all <= 0xf
}
