import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { endianness } from 'node:os'
import type { Column } from './columns.ts'
import type { RowCollector } from './kept-rows.ts'
import { KEY_WORDS } from './key-table.ts'
import type { Ledger } from './ledger.ts'

const FORMAT = 'gdn plan 1'
const HASH_BYTES = 32
const MAX_HEAD = 16 << 20
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
  /** Bytes of each column, as they follow. */
  columns: { words: number; line: number; length: number; group: number; groupReceiver: number; content: number }
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
  const bytesOf = (column: Column<Uint32Array> | Column<Float64Array> | null, width: number) =>
    (column?.length ?? 0) * width
  const head: Head = {
    format: FORMAT,
    endianness: endianness(),
    ...about,
    rows,
    groups: kept.groupCount,
    files: kept.files,
    columns: {
      words: rows * KEY_WORDS * 4,
      line: rows * 4,
      length: rows * 4,
      group: bytesOf(group, 4),
      groupReceiver: bytesOf(groupReceiver, 4),
      content: bytesOf(kept.content, 8),
    },
  }
  const file = await open(path, 'w', 0o600)
  try {
    const hash = createHash('sha256')
    const write = async (bytes: Uint8Array) => {
      hash.update(bytes)
      await file.appendFile(bytes)
    }
    const text = Buffer.from(JSON.stringify(head))
    await write(Buffer.from(`${text.length}\n`))
    await write(text)
    for (const piece of keys(kept, ledger)) await write(asBytes(piece))
    for (const piece of lines(kept, ledger)) await write(asBytes(piece))
    for (const column of [kept.spans.lengths, group, groupReceiver, kept.content]) {
      for (const piece of column?.pieces() ?? []) await write(asBytes(piece))
    }
    await file.appendFile(hash.digest())
    await file.sync()
  } finally {
    await file.close()
  }
}

const asBytes = ({ buffer, byteOffset, byteLength }: Uint32Array | Float64Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

function* keys({ row }: RowCollector, ledger: Ledger): Generator<Uint32Array> {
  const words = new Uint32Array(WORDS_PIECE * KEY_WORDS)
  for (let from = 0; from < row.length; from += WORDS_PIECE) {
    const count = Math.min(WORDS_PIECE, row.length - from)
    for (let index = 0; index < count; index++) ledger.copyKey(row.get(from + index), words, index * KEY_WORDS)
    yield words.subarray(0, count * KEY_WORDS)
  }
}

function* lines({ row }: RowCollector, ledger: Ledger): Generator<Uint32Array> {
  const numbers = new Uint32Array(WORDS_PIECE)
  for (let from = 0; from < row.length; from += WORDS_PIECE) {
    const count = Math.min(WORDS_PIECE, row.length - from)
    for (let index = 0; index < count; index++) numbers[index] = ledger.line(row.get(from + index))
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
    const bytes = new Uint8Array(new ArrayBuffer(size))
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

function parse(bytes: Uint8Array): PlanIndex | null {
  const start = bytes.indexOf(10) + 1
  const length = Number(Buffer.from(bytes.subarray(0, Math.max(0, start - 1))).toString('latin1'))
  if (start === 0 || !(length <= MAX_HEAD)) return null
  const head = JSON.parse(Buffer.from(bytes.subarray(start, start + length)).toString('utf8')) as Head
  if (head.format !== FORMAT || head.endianness !== endianness()) return null
  let at = start + length
  // A copy each: words must begin where words may.
  const take = (count: number) => {
    const piece = bytes.slice(at, at + count)
    at += count
    return piece.buffer
  }
  const { columns, rows } = head
  const words = new Uint32Array(take(columns.words))
  const line = new Uint32Array(take(columns.line))
  const lengths = new Uint32Array(take(columns.length))
  const group = columns.group === 0 ? null : new Uint32Array(take(columns.group))
  const groupReceiver = columns.groupReceiver === 0 ? null : new Uint32Array(take(columns.groupReceiver))
  const content = new Float64Array(take(columns.content))
  const { fingerprint, localFiles, spool, groups, files } = head
  if (at !== bytes.length || line.length !== rows || lengths.length !== rows) return null
  return {
    fingerprint,
    localFiles,
    spool,
    rows,
    groups,
    files,
    words,
    line,
    length: lengths,
    group,
    groupReceiver,
    content,
  }
}
