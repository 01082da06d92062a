import { constants, type FileHandle, open } from 'node:fs/promises'
import { bytesReader, readBlockHead, readHeader } from '@ipld/car/decoder'
import type { CID } from 'multiformats/cid'
import { GdnError, messageOf, systemCode } from '../core/errors.ts'
import { isRecord, parseJson } from '../core/json.ts'
import { cidText, MAX_BLOCK_BYTES, matchesCid, parseCid } from '../ipfs/cid.ts'
import { isDirectory, readNode, streamNode } from '../ipfs/nodes.ts'
import { INDEX_FORMAT, INDEX_VERSION, type IndexHeader, type IndexToken } from './index-lines.ts'
import { createBlockFinder } from './intact-blocks.ts'

export interface ArchivedBlock {
  /** The CID in version 1. */
  cid: CID
  bytes: Uint8Array
}

/** The intact blocks of an archive. */
export interface ArchivedBlocks {
  path: string
  blockCount: number
  /** The size of the archive file in bytes. */
  fileBytes: number
  has(cid: string): boolean
  /** Returns the bytes of a block, or null if the archive doesn't contain it. */
  get(cid: string): Promise<Uint8Array | null>
  cids(): Iterable<string>
  /** Yields the blocks in the order of the archive file. */
  all(): AsyncGenerator<ArchivedBlock>
  close(): Promise<void>
}

/** An archive whose blocks were all checked against their CIDs. */
export interface OpenArchive extends ArchivedBlocks {
  header: IndexHeader
  /** Yields the tokens of the index. */
  tokens(): AsyncGenerator<IndexToken>
}

interface BlockRange {
  offset: number
  length: number
}

/** Size of the header that gdn writes, after which the index begins. */
const HEADER_BYTES = 59
/** Maximum size of the header, which contains one CID. */
const MAX_HEADER_BYTES = 1024
const MAX_HEAD_BYTES = 128
/** Maximum length of a line of the index. */
const MAX_LINE_BYTES = 4 * 2 ** 20
const NEWLINE = 10

export interface OpenArchiveOptions {
  signal: AbortSignal
  onBlock?: (bytesRead: number, all: number) => void
}

/**
 * Opens an archive, and checks each block against its CID.
 *
 * @throws GdnError `invalid_input` with the position in the file; `file_error` if the file can't be read
 */
export async function openArchive(path: string, options: OpenArchiveOptions): Promise<OpenArchive> {
  const file = await openFile(path)
  try {
    const { root, start } = await readRoot(path, file)
    const refuse = (error: GdnError) => {
      throw error
    }
    return await addIndex(await readBlocks(path, file, start, { ...options, onDamage: refuse }), root)
  } catch (error) {
    await file.close()
    throw error instanceof GdnError && error.code === 'invalid_input' ? error.with({ hint: DAMAGED_HINT }) : error
  }
}

/**
 * Opens a damaged archive with its intact blocks.
 *
 * @param onDamage called for each damaged part of the file
 * @returns the intact blocks. The index is null if part of it is damaged. The index is found even if the header is
 * damaged
 * @throws GdnError `invalid_input` if the file has no intact block
 */
export async function openDamagedArchive(
  path: string,
  options: OpenArchiveOptions & { onDamage: (error: GdnError) => void },
): Promise<ArchivedBlocks & { index: OpenArchive | null }> {
  const file = await openFile(path)
  const note = (error: unknown) => {
    if (!(error instanceof GdnError) || error.code !== 'invalid_input') throw error
    options.onDamage(error)
    return null
  }
  try {
    const head = await readRoot(path, file).catch(note)
    const blocks = await readBlocks(path, file, head?.start ?? 0, options)
    if (blocks.blockCount === 0) throw invalidArchiveError(path, 0, 'the file has no intact blocks')
    const index = head === null ? null : await addWholeIndex(blocks, head.root).catch(note)
    return { ...blocks, index: index ?? (await findFirstIndex(blocks, file)) }
  } catch (error) {
    await file.close()
    throw error
  }
}

type ReadOptions = OpenArchiveOptions & { onDamage: (error: GdnError) => void }

/** Reads the intact blocks that begin at or after a position. */
async function readBlocks(
  path: string,
  file: FileHandle,
  start: number,
  { signal, onBlock, onDamage }: ReadOptions,
): Promise<ArchivedBlocks> {
  const { size } = await file.stat()
  const places = new Map<string, BlockRange>()
  const readIntactBlock = async (offset: number): Promise<{ cid: CID; place: BlockRange } | GdnError> => {
    signal.throwIfAborted()
    const section = await readSection(path, file, offset, size)
    if (section instanceof GdnError) return section
    const { cid, place } = section
    const bytes = await readBytes(file, place.offset, place.length)
    return matchesCid(cid, bytes) ? section : invalidArchiveError(path, offset, `block ${cid} does not match its CID`)
  }
  const next = createBlockFinder(file, size, async (offset) => !((await readIntactBlock(offset)) instanceof GdnError))
  for (let offset = start; offset < size; ) {
    const section = await readIntactBlock(offset)
    if (section instanceof GdnError) {
      onDamage(section)
      // The length of a damaged block may also be damaged, so search from the next byte.
      const nextOffset = await next(offset + 1)
      if (nextOffset === null) break
      offset = nextOffset
    } else {
      places.set(cidText(section.cid), section.place)
      offset = section.place.offset + section.place.length
    }
    onBlock?.(offset, size)
  }
  return createArchive(path, file, places, size)
}

async function addIndex(blocks: ArchivedBlocks, root: CID): Promise<OpenArchive> {
  const header = await readIndexHeader(blocks.path, blocks, root)
  return { ...blocks, header, tokens: () => readIndexTokens(blocks.path, blocks, root) }
}

/** @throws GdnError `invalid_input` if a part of the index is missing */
async function addWholeIndex(blocks: ArchivedBlocks, root: CID): Promise<OpenArchive> {
  const archive = await addIndex(blocks, root)
  for await (const _token of archive.tokens());
  return archive
}

/**
 * Returns the archive if its index begins in the block after the header. This is a fallback if the header doesn't lead
 * to the index.
 */
async function findFirstIndex(blocks: ArchivedBlocks, file: FileHandle): Promise<OpenArchive | null> {
  const section = await readSection(blocks.path, file, HEADER_BYTES, blocks.fileBytes)
  if (section instanceof GdnError) return null
  return await addWholeIndex(blocks, section.cid).catch((error: unknown) => {
    if (error instanceof GdnError && error.code === 'invalid_input') return null
    throw error
  })
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    // Without O_NONBLOCK, opening a pipe that has no writer would block indefinitely.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    if ((await file.stat()).isFile()) return file
    await file.close()
    throw new GdnError('file_error', 'the path is not a regular file', { place: { file: path } })
  } catch (error) {
    if (error instanceof GdnError) throw error
    const problem = systemCode(error) === 'ENOENT' ? 'the file does not exist' : messageOf(error)
    throw new GdnError('file_error', problem, { place: { file: path }, hint: 'Check the path of the archive.' })
  }
}

const invalidArchiveError = (file: string, offset: number, problem: string) =>
  new GdnError('invalid_input', `${problem} (byte ${offset})`, {
    place: { file },
    hint: 'The file is damaged, or is not an archive. Use another copy, or archive the collection again to another file.',
  })

const DAMAGED_HINT =
  'The file is damaged, or is not an archive. Use another copy, or archive the collection again to another file. `gdn collection restore --intact` restores the intact blocks of a damaged archive.'

const noIndexError = (path: string) =>
  invalidArchiveError(path, 0, 'the root of the file is not the index of an archive')

async function readBytes(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset)
  return buffer.subarray(0, bytesRead)
}

/** Returns the root, and the position of the first block. */
async function readRoot(path: string, file: FileHandle): Promise<{ root: CID; start: number }> {
  const reader = bytesReader(await readBytes(file, 0, MAX_HEADER_BYTES))
  try {
    const { roots } = await readHeader(reader, 1)
    const [only] = roots
    const root = only === undefined || roots.length > 1 ? null : parseCid(only.toString())
    if (root !== null) return { root, start: Number(reader.pos) }
  } catch {
    throw invalidArchiveError(path, 0, 'the file is not a CARv1 file')
  }
  throw invalidArchiveError(path, 0, 'the file must have exactly one root')
}

/** Returns the CID and the place of the block at a position, or an error if there is none. */
async function readSection(path: string, file: FileHandle, offset: number, size: number) {
  const reader = bytesReader(await readBytes(file, offset, MAX_HEAD_BYTES))
  const head = await readBlockHead(reader).catch(() => null)
  const cid = head === null ? null : parseCid(head.cid.toString())
  if (head === null || cid === null)
    return invalidArchiveError(path, offset, 'a block has a CID of an unsupported type')
  const place = { offset: offset + Number(reader.pos), length: head.blockLength }
  if (place.length > MAX_BLOCK_BYTES) return invalidArchiveError(path, offset, `block ${cid} is larger than 2 MiB`)
  if (place.length < 0 || place.offset + place.length > size)
    return invalidArchiveError(path, offset, 'the file ends in the middle of a block')
  return { cid, place }
}

function createArchive(
  path: string,
  file: FileHandle,
  places: ReadonlyMap<string, BlockRange>,
  fileBytes: number,
): ArchivedBlocks {
  const get = async (text: string) => {
    const place = places.get(text)
    return place === undefined ? null : await readBytes(file, place.offset, place.length)
  }
  return {
    path,
    blockCount: places.size,
    fileBytes,
    cids: () => places.keys(),
    has: (cid) => places.has(cid),
    get,
    async *all() {
      for (const [text, { offset, length }] of places) {
        const cid = parseCid(text)
        if (cid !== null) yield { cid, bytes: await readBytes(file, offset, length) }
      }
    },
    close: () => file.close(),
  }
}

async function readIndexHeader(path: string, archive: ArchivedBlocks, root: CID): Promise<IndexHeader> {
  for await (const line of readIndexLines(path, archive, root)) {
    if (isHeader(line)) return line
    if (isRecord(line) && line.format === INDEX_FORMAT && line.version === INDEX_VERSION) {
      throw invalidArchiveError(path, 0, 'the first line of the index does not describe a collection')
    }
    if (isRecord(line) && line.format === INDEX_FORMAT) {
      throw invalidArchiveError(
        path,
        0,
        `the index has version ${JSON.stringify(line.version)?.slice(0, 20)}, but this version of gdn reads version ${INDEX_VERSION}`,
      )
    }
    break
  }
  throw noIndexError(path)
}

async function* readIndexTokens(path: string, archive: ArchivedBlocks, root: CID): AsyncGenerator<IndexToken> {
  let isFirst = true
  for await (const line of readIndexLines(path, archive, root)) {
    if (!isFirst) {
      if (!isToken(line)) throw invalidArchiveError(path, 0, 'a line of the index does not describe a token')
      yield line
    }
    isFirst = false
  }
}

const CONTRACT_PATTERN = /^0x[0-9a-f]{40}$/
/** Matches a token ID. 2²⁵⁶ has 78 digits. */
const TOKEN_ID_PATTERN = /^\d{1,78}$/

const matches = (value: unknown, pattern: RegExp): boolean => typeof value === 'string' && pattern.test(value)
const isOptionalText = (value: unknown): boolean => value === undefined || typeof value === 'string'

/** Returns whether a line is a header. Checks only the fields that gdn uses. */
const isHeader = (line: unknown): line is IndexHeader =>
  isRecord(line) &&
  line.format === INDEX_FORMAT &&
  // Version 1 differs only in lacking the metadata of the collection.
  (line.version === 1 || line.version === INDEX_VERSION) &&
  matches(line.contract, CONTRACT_PATTERN) &&
  typeof line.blockchain === 'string' &&
  Number.isSafeInteger(line.tokens) &&
  typeof line.whole_directory === 'boolean'

function isToken(line: unknown): line is IndexToken {
  if (!isRecord(line) || !Array.isArray(line.files)) return false
  if (line.token_id !== null && !matches(line.token_id, TOKEN_ID_PATTERN)) return false
  if (!isOptionalText(line.error) || (line.uri !== null && typeof line.uri !== 'string')) return false
  return line.files.every(
    (file: unknown) =>
      isRecord(file) &&
      ['field', 'url'].every((name) => typeof file[name] === 'string') &&
      ['cid', 'sha256', 'error', 'verification'].every((name) => isOptionalText(file[name])),
  )
}

/** Yields the parsed lines of the index. */
async function* readIndexLines(path: string, archive: ArchivedBlocks, root: CID): AsyncGenerator<unknown> {
  let parts: Uint8Array[] = []
  let length = 0
  for await (const bytes of readIndexContent(path, archive, root)) {
    let from = 0
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      yield parseJson(Buffer.concat([...parts, bytes.subarray(from, end)]))
      parts = []
      length = 0
      from = end + 1
    }
    parts.push(bytes.subarray(from))
    length += bytes.length - from
    if (length > MAX_LINE_BYTES) throw invalidArchiveError(path, 0, 'a line of the index is too long')
  }
}

/**
 * Yields the content of the index.
 *
 * @throws GdnError `invalid_input` if the index isn't a file that gdn writes
 */
async function* readIndexContent(path: string, archive: ArchivedBlocks, root: CID): AsyncGenerator<Uint8Array> {
  let reads = 0
  const get = async (cid: string) => {
    // No two parts of a valid index are equal, but a small malicious file could repeat its parts endlessly.
    if (++reads > archive.blockCount) throw invalidArchiveError(path, 0, 'the index contains a block more than once')
    const bytes = await archive.get(cid)
    if (bytes === null) throw invalidArchiveError(path, 0, `block ${cid} of the index is missing`)
    return bytes
  }
  try {
    const node = await readNode({ get }, root)
    if (node === null || isDirectory(node)) throw noIndexError(path)
    yield* streamNode({ get }, root, node)
  } catch (error) {
    if (systemCode(error) !== undefined || (error instanceof GdnError && error.code !== 'unexpected')) throw error
    // Report any other error as a missing index, because malformed nodes cause many types of errors.
    throw noIndexError(path)
  }
}
