import type { FileHandle } from 'node:fs/promises'

const CHUNK = 1 << 20
const NEWLINE = 10

/** Where a line stands in its file, without its line end. */
export interface Span {
  offset: number
  length: number
}

export interface Line {
  line: Buffer
  span: Span
  /** False for what follows the last line end, if anything does. */
  ended: boolean
}

/**
 * The lines of a file with their places. Only LF ends one: readline also splits at U+2028, which a title may hold.
 * A line's bytes are there until the next one is asked for: two buffers take turns, one read into while the lines of
 * the other are looked at.
 */
export async function* readLines(file: FileHandle): AsyncGenerator<Line> {
  let [filled, next] = [Buffer.allocUnsafeSlow(CHUNK), Buffer.allocUnsafeSlow(CHUNK)]
  let carried: Buffer[] = []
  let offset = 0
  let position = 0
  let reading = file.read(filled, 0, CHUNK, position)
  try {
    for (;;) {
      const { bytesRead } = await reading
      if (bytesRead === 0) break
      position += bytesRead
      reading = file.read(next, 0, CHUNK, position)
      // Whoever awaits it is told.
      reading.catch(() => {})
      let from = 0
      for (let end = endIn(filled, from, bytesRead); end >= 0; end = endIn(filled, from, bytesRead)) {
        const piece = filled.subarray(from, end)
        const line = carried.length === 0 ? piece : Buffer.concat([...carried, piece])
        carried = []
        yield { line, span: { offset, length: line.length }, ended: true }
        offset += line.length + 1
        from = end + 1
      }
      if (from < bytesRead) carried.push(Buffer.from(filled.subarray(from, bytesRead)))
      ;[filled, next] = [next, filled]
    }
  } finally {
    // The file may be closed after this, and the buffer is being written to.
    await reading.catch(() => {})
  }
  const rest = Buffer.concat(carried)
  if (rest.length > 0) yield { line: rest, span: { offset, length: rest.length }, ended: false }
}

/** The next line end among the bytes that were read; what follows them is of an earlier reading. */
function endIn(bytes: Buffer, from: number, to: number): number {
  const end = bytes.indexOf(NEWLINE, from)
  return end < to ? end : -1
}

/** Fills a buffer with the bytes of a span; null where the file is shorter. */
export async function readSpan(file: FileHandle, span: Span): Promise<Buffer | null> {
  const bytes = Buffer.allocUnsafe(span.length)
  let read = 0
  while (read < span.length) {
    const { bytesRead } = await file.read(bytes, read, span.length - read, span.offset + read)
    if (bytesRead === 0) return null
    read += bytesRead
  }
  return bytes
}
