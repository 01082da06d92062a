import { isAscii, isUtf8 } from 'node:buffer'
import { ManifestError } from './manifest-error.ts'

const LF = 10
const CR = 13

/**
 * Decodes UTF-8, with or without a BOM, in chunks. Rejects other text at the first invalid byte, because a replacement
 * character would stay in the metadata permanently.
 */
export async function* decodeText(bytes: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<string> {
  let offset = 0
  const lines = new LineCounter()
  let carry: Buffer = Buffer.alloc(0)
  let isStart = true

  for await (const chunk of withLast(bytes)) {
    let data = carry.length === 0 ? toBuffer(chunk.bytes) : Buffer.concat([carry, chunk.bytes])
    if (isStart) {
      if (data.length < 4 && !chunk.isLast) {
        carry = data
        continue
      }
      refuseZip(data, file)
      refuseUtf16(data, file)
      if (data[0] === 0xef && data[1] === 0xbb && data[2] === 0xbf) {
        data = data.subarray(3)
        offset = 3
      }
      isStart = false
    }
    const wholeLength = chunk.isLast ? data.length : completeLength(data)
    const whole = data.subarray(0, wholeLength)
    const bad = firstInvalidByte(whole)
    if (bad !== null) {
      const good = whole.subarray(0, bad.index)
      // The valid text before the invalid byte may have other problems.
      if (good.length > 0) yield good.toString('utf8')
      const place = { file, line: lines.add(good) }
      throw new ManifestError({ place, message: `${bad.what} (byte ${offset + bad.index + 1})`, hint: bad.hint })
    }
    if (whole.length > 0) yield whole.toString(isAscii(whole) ? 'latin1' : 'utf8')
    lines.add(whole)
    offset += wholeLength
    carry = Buffer.from(data.subarray(wholeLength))
  }
}

async function* withLast(bytes: AsyncIterable<Uint8Array>): AsyncIterable<{ bytes: Uint8Array; isLast: boolean }> {
  for await (const chunk of bytes) yield { bytes: chunk, isLast: false }
  yield { bytes: new Uint8Array(), isLast: true }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

const SAVE_AS_UTF8 = 'Save the file as UTF-8 (in Excel: "CSV UTF-8").'

function refuseZip(data: Buffer, file: string): void {
  if (!data.subarray(0, ZIP.length).equals(ZIP)) return
  throw new ManifestError({
    place: { file, line: 1 },
    message: 'is a workbook (or another ZIP file), but a manifest must be text',
    hint: 'Save the file as CSV with UTF-8 (in Excel: "CSV UTF-8").',
  })
}

const ZIP = Buffer.from('PK\u0003\u0004')

function refuseUtf16(data: Buffer, file: string): void {
  const marked = (data[0] === 0xff && data[1] === 0xfe) || (data[0] === 0xfe && data[1] === 0xff)
  // ASCII text in UTF-16 has a NUL in every second byte.
  const unmarked = data.length >= 4 && (data[0] === 0) !== (data[1] === 0) && (data[2] === 0) === (data[0] === 0)
  if (!marked && !(unmarked && (data[3] === 0) === (data[1] === 0))) return
  throw new ManifestError({
    place: { file, line: 1 },
    message: 'is UTF-16 text, but a manifest must be UTF-8',
    hint: SAVE_AS_UTF8,
  })
}

/**
 * Returns the number of bytes that form complete characters. The next chunk completes the remaining bytes, at most
 * three.
 */
function completeLength(data: Buffer): number {
  for (let back = 1; back <= Math.min(3, data.length); back++) {
    const byte = data[data.length - back] ?? 0
    if (byte < 0x80) break
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
      return length > back ? data.length - back : data.length
    }
  }
  return data.length
}

function firstInvalidByte(data: Buffer): { index: number; what: string; hint: string } | null {
  const nul = data.indexOf(0)
  const text = nul === -1 ? data : data.subarray(0, nul)
  if (!isUtf8(text)) {
    const index = firstInvalid(text)
    const byte = (text[index] ?? 0).toString(16).toUpperCase()
    return { index, what: `is not UTF-8: invalid byte 0x${byte}`, hint: SAVE_AS_UTF8 }
  }
  return nul === -1 ? null : { index: nul, what: 'has a NUL character', hint: 'Use a text file.' }
}

/** Returns the index of the first byte that isn't part of a valid character. */
function firstInvalid(data: Buffer): number {
  let at = 0
  while (at < data.length) {
    const length = [1, 2, 3, 4].find((size) => at + size <= data.length && isUtf8(data.subarray(at, at + size)))
    if (length === undefined) break
    at += length
  }
  return at
}

/**
 * Counts the lines of a text in chunks. Each LF ends a line, and so does each CR that isn't followed by an LF. The LF
 * after a CR may be in the next chunk.
 */
class LineCounter {
  #endedLines = 0
  #endsInCr = false

  /** Counts the lines of a chunk. Returns the line on which the next chunk begins. */
  add(piece: Buffer): number {
    if (piece.length === 0) return this.line
    if (this.#endsInCr && piece[0] !== LF) this.#endedLines++
    for (let at = piece.indexOf(LF); at !== -1; at = piece.indexOf(LF, at + 1)) this.#endedLines++
    for (let at = piece.indexOf(CR); at !== -1; at = piece.indexOf(CR, at + 1)) {
      if (at + 1 < piece.length && piece[at + 1] !== LF) this.#endedLines++
    }
    this.#endsInCr = piece[piece.length - 1] === CR
    return this.line
  }

  get line(): number {
    return this.#endedLines + (this.#endsInCr ? 1 : 0) + 1
  }
}

/**
 * Replaces each line ending with LF. Use it only for lists whose cells contain no line breaks. Users may append lines
 * with LF to a file with CRLF, and a CSV file with both would be parsed incorrectly.
 */
export async function* withOneLineEnding(text: AsyncIterable<string>): AsyncGenerator<string> {
  let isAfterCr = false
  for await (const piece of text) {
    const rest = isAfterCr && piece.startsWith('\n') ? piece.slice(1) : piece
    if (piece !== '') isAfterCr = piece.endsWith('\r')
    yield rest.replace(/\r\n?/g, '\n')
  }
}
