import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { endianness } from 'node:os'
import type { RowCollector } from './kept-rows.ts'
import { KEY_WORDS } from './key-table.ts'
import type { Ledger } from './ledger.ts'

const FORMAT = 'gdn plan 1'
const HASH_BYTES = 32
const ALIGN = 8
const LENGTH_DIGITS = 15
const WORDS_PIECE = 1 << 16

/** A local file as it was when its row was checked. */
export interface FileIdentity {
  path: string
  size: number
  mtimeMs: number
}

/** What an index says beside its columns. */
interface Head {
  format: string
  endianness: string
  /** Of the manifest and of all that shaped its rows; null where it can't be told whether it is the same again. */
  fingerprint: string | null
  localFiles: FileIdentity[]
  /** The first line of the spool and its length: which one this index is of. */
  spool: { header: string; size: number }
  rows: number
  groups: number
  /** Lines with local files. */
  files: number[]
  /** Lengths of the columns that needn't have one of each row. */
  columns: { content: number; group: number; groupReceiver: number }
}

/** All that is kept of a plan, so that the manifest needn't be read again: numbers of a million rows, not the rows. */
export interface PlanIndex extends Pick<Head, 'fingerprint' | 'localFiles' | 'spool' | 'rows' | 'groups' | 'files'> {
  /** As `Ledger.copyKey` gives them. */
  words: Uint32Array
  line: Uint32Array
  length: Uint32Array
  /** Null where each row is a group. */
  group: Uint32Array | null
  groupReceiver: Uint32Array | null
  content: Float64Array
}

/** Writes the index of rows that were just kept, and brings it to the disk. */
export async function writeIndex(
  path: string,
  kept: RowCollector,
  ledger: Ledger,
  about: Pick<Head, 'fingerprint' | 'localFiles' | 'spool'>,
): Promise<void> {
  const rows = kept.row.length
  const { groupReceiver } = kept
  const group = kept.group.column
  const head: Head = {
    format: FORMAT,
    endianness: endianness(),
    ...about,
    rows,
    groups: kept.groupCount,
    files: kept.files,
    columns: { content: kept.content.length, group: group?.length ?? 0, groupReceiver: groupReceiver?.length ?? 0 },
  }
  const file = await open(path, 'w', 0o600)
  try {
    const hash = createHash('sha256')
    const write = async (bytes: Uint8Array) => {
      hash.update(bytes)
      await file.appendFile(bytes)
    }
    await write(headBytes(head))
    for (const piece of kept.content.pieces()) await write(asBytes(piece))
    for (const piece of keys(kept, ledger)) await write(asBytes(piece))
    for (const piece of lines(kept, ledger)) await write(asBytes(piece))
    for (const column of [kept.spans.lengths, group, groupReceiver]) {
      for (const piece of column?.pieces() ?? []) await write(asBytes(piece))
    }
    await file.appendFile(hash.digest())
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Its length and the head, up to where a word of eight bytes may begin: columns are used where they lie. */
function headBytes(head: Head): Buffer {
  const text = JSON.stringify(head)
  const bytes = Buffer.byteLength(text)
  const padding = (ALIGN - ((LENGTH_DIGITS + 1 + bytes) % ALIGN)) % ALIGN
  return Buffer.from(`${String(bytes + padding).padStart(LENGTH_DIGITS)}\n${text}${' '.repeat(padding)}`)
}

const asBytes = ({ buffer, byteOffset, byteLength }: Uint32Array | Float64Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

function* keys({ row }: RowCollector, ledger: Ledger): Generator<Uint32Array> {
  const words = new Uint32Array(WORDS_PIECE * KEY_WORDS)
  for (let from = 0; from < row.length; from += WORDS_PIECE) {
    const count = Math.min(WORDS_PIECE, row.length - from)
    if (row.column === null) ledger.rows.copyRange(from, count, words)
    else
      for (let index = 0; index < count; index++) ledger.rows.copyWords(row.get(from + index), words, index * KEY_WORDS)
    yield words.subarray(0, count * KEY_WORDS)
  }
}

function* lines({ row }: RowCollector, ledger: Ledger): Generator<Uint32Array> {
  const numbers = new Uint32Array(WORDS_PIECE)
  for (let from = 0; from < row.length; from += WORDS_PIECE) {
    const count = Math.min(WORDS_PIECE, row.length - from)
    for (let index = 0; index < count; index++) numbers[index] = ledger.rows.line(row.get(from + index))
    yield numbers.subarray(0, count)
  }
}

/**
 * The index at a path, if there is one that is whole and of this format. Anything else is none: what it says can be
 * found out from the rows, only not as fast.
 */
export async function readIndex(path: string): Promise<PlanIndex | null> {
  const file = await open(path, 'r').catch(() => null)
  if (file === null) return null
  try {
    const { size } = await file.stat()
    const bytes = Buffer.from(new ArrayBuffer(size))
    if (!(await readAll(file, bytes)) || size < HASH_BYTES) return null
    const whole = bytes.subarray(0, size - HASH_BYTES)
    const digest = createHash('sha256').update(whole).digest()
    return digest.equals(bytes.subarray(size - HASH_BYTES)) ? parse(whole) : null
  } catch {
    return null
  } finally {
    await file.close()
  }
}

async function readAll(file: FileHandle, bytes: Uint8Array): Promise<boolean> {
  for (let read = 0; read < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, read, bytes.length - read, read)
    if (bytesRead === 0) return false
    read += bytesRead
  }
  return true
}

function parse(bytes: Buffer): PlanIndex | null {
  const start = LENGTH_DIGITS + 1
  const end = start + Number(bytes.toString('latin1', 0, LENGTH_DIGITS))
  const head = JSON.parse(bytes.toString('utf8', start, end)) as Head
  if (head.format !== FORMAT || head.endianness !== endianness()) return null
  let at = bytes.byteOffset + end
  const words32 = (count: number): Uint32Array => {
    const column = new Uint32Array(bytes.buffer, at, count)
    at += column.byteLength
    return column
  }
  const { columns, fingerprint, localFiles, spool, rows, groups, files } = head
  const content = new Float64Array(bytes.buffer, at, columns.content)
  at += content.byteLength
  const words = words32(rows * KEY_WORDS)
  const line = words32(rows)
  const length = words32(rows)
  const group = columns.group === 0 ? null : words32(columns.group)
  const groupReceiver = columns.groupReceiver === 0 ? null : words32(columns.groupReceiver)
  if (at !== bytes.byteOffset + bytes.length) return null
  return { fingerprint, localFiles, spool, rows, groups, files, words, line, length, group, groupReceiver, content }
}
