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

/** The lines of a file with their places. Only LF ends one: readline also splits at U+2028, which a title may hold. */
export async function* readLines(file: FileHandle): AsyncGenerator<Line> {
  let carried: Buffer[] = []
  let offset = 0
  let position = 0
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK)
    const { bytesRead } = await file.read(chunk, 0, CHUNK, position)
    if (bytesRead === 0) break
    position += bytesRead
    const filled = chunk.subarray(0, bytesRead)
    let from = 0
    for (let end = filled.indexOf(NEWLINE); end >= 0; end = filled.indexOf(NEWLINE, from)) {
      const piece = filled.subarray(from, end)
      const line = carried.length === 0 ? piece : Buffer.concat([...carried, piece])
      carried = []
      yield { line, span: { offset, length: line.length }, ended: true }
      offset += line.length + 1
      from = end + 1
    }
    if (from < bytesRead) carried.push(filled.subarray(from))
  }
  const rest = Buffer.concat(carried)
  if (rest.length > 0) yield { line: rest, span: { offset, length: rest.length }, ended: false }
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
