import { waitForFastKeccak } from '../api/address.ts'
import { shellWord } from '../core/shell-word.ts'
import { parseColumnName } from './columns.ts'
import { openCsv } from './csv.ts'
import { decodeText } from './decode.ts'
import { Fingerprint } from './fingerprint.ts'
import { HashTable } from './hash-table.ts'
import { jsonLines, openJson } from './json.ts'
import { ManifestError } from './manifest-error.ts'
import type { ManifestOptions } from './options.ts'
import type { ManifestIssue, ManifestItem, ManifestRow } from './row.ts'
import { type Blocks, csvBlocks, jsonBlocks, type ReadContext } from './row-blocks.ts'
import { type ManifestFormat, type ManifestSource, openManifestSource, PLAN_BEGINNING } from './source.ts'
import type { ManifestTarget } from './target.ts'

export type { ManifestFormat, ManifestItem, ManifestOptions, ManifestSource, ManifestTarget }

/** The rows and problems of a manifest, in order. */
export interface ManifestReading extends AsyncIterable<ManifestItem> {
  /** The collection that the flags and rows specify. Complete once the first row has been read. */
  readonly target: ManifestTarget
  /** Yields the same items in blocks, which is faster for many items. */
  blocks(): AsyncIterable<readonly ManifestItem[]>
  /**
   * Returns a hash that changes if the manifest would be read as different items. Null until everything has been read,
   * and for standard input.
   */
  digest(): string | null
  /** Like `digest`, but hashes the current file without reading its rows. Null if unavailable. */
  fingerprint(): Promise<string | null>
  /** Returns notes for the user about what was read. */
  notes?(): readonly string[]
}

export interface ManifestSummary {
  rows: number
  /** The first issues. `issueCount` is the total number of issues. */
  issues: ManifestIssue[]
  issueCount: number
  /** Number of distinct receivers. */
  receivers: number
  /** Number of distinct local files. */
  files: number
  target: ManifestTarget
}

const MAX_REPORTED_ISSUES = 1000
const MAX_HEAD = 64 * 1024

/**
 * Reads a manifest (CSV, JSON, JSONL) row by row, and checks each row against the API contract. Uses bounded memory for
 * any length. Doesn't throw for invalid content: each problem is an issue with its location.
 *
 * @example
 * for await (const item of readManifest({ path: 'drop.csv' }, options)) if ('issue' in item) report(item.issue)
 */
export function readManifest(source: ManifestSource, options: ManifestOptions): ManifestReading {
  const context: ReadContext = {
    options,
    target: { blockchain: options.blockchain, contractAddress: options.contractAddress ?? null },
  }
  const fingerprint = new Fingerprint(source, options)
  const blocks = () => read(source, context, fingerprint)
  return {
    get target() {
      return context.target
    },
    blocks,
    digest: () => fingerprint.ofRead,
    fingerprint: () => fingerprint.ofFile(),
    async *[Symbol.asyncIterator]() {
      for await (const block of blocks()) yield* block
    },
  }
}

/** Reads a whole manifest and collects its problems. Calls `onRow` for each valid row. */
export async function validateManifest(
  source: ManifestSource,
  options: ManifestOptions,
  onRow?: (row: ManifestRow) => void,
): Promise<ManifestSummary> {
  const reading = readManifest(source, options)
  const evmReceivers = new HashTable({ foldHex: true })
  const otherReceivers = new HashTable()
  const files = new HashTable()
  const issues: ManifestIssue[] = []
  let rows = 0
  let issueCount = 0
  for await (const block of reading.blocks()) {
    for (const item of block) {
      if ('issue' in item) {
        issueCount++
        if (issues.length < MAX_REPORTED_ISSUES) issues.push(item.issue)
        continue
      }
      rows++
      onRow?.(item.row)
      const { receiver, localFiles } = item.row
      ;(receiver.startsWith('0x') ? evmReceivers : otherReceivers).getOrAdd(receiver, 0)
      for (const { path } of localFiles) files.getOrAdd(path, 0)
    }
  }
  const receivers = evmReceivers.size + otherReceivers.size
  return { rows, issues, issueCount, receivers, files: files.size, target: reading.target }
}

async function* read(source: ManifestSource, context: ReadContext, fingerprint: Fingerprint): Blocks {
  const file = 'path' in source ? source.path : 'stdin'
  let isEmpty = true
  try {
    for await (const block of readFormat(source, context, fingerprint)) {
      isEmpty &&= block.length === 0
      yield block
      await waitForFastKeccak()
    }
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    isEmpty = false
    yield [{ issue: error.issue }]
  }
  await context.options.ensNames?.close()
  if (isEmpty) yield [{ issue: { place: { file }, message: 'has no rows', hint: 'Add at least one NFT.' } }]
}

async function* readFormat(source: ManifestSource, context: ReadContext, fingerprint: Fingerprint): Blocks {
  const open = await openManifestSource(source)
  const { head, text } = await peek(withNames(decodeText(fingerprint.watch(open), open.name), context.options))
  if (head.trim() === '') {
    throw new ManifestError({ place: { file: open.name }, message: 'is empty', hint: 'Add at least one NFT.' })
  }
  if (head.startsWith(PLAN_BEGINNING)) {
    throw new ManifestError({
      place: { file: open.name },
      message: 'is a saved plan, not a manifest',
      hint: `To apply it, run \`gdn apply ${'path' in source ? shellWord(open.name) : '<file>'}\`.`,
    })
  }
  const format = open.format ?? sniff(head)
  if (format === 'csv') {
    const csv = await openCsv(
      text,
      open.name,
      (name) => 'role' in parseColumnName(name, { ...context.options, unknownColumns: 'error' }),
    )
    yield* csvBlocks(csv, open, context)
  } else {
    const json = format === 'json' ? await openJson(text, open.name) : null
    yield* jsonBlocks(json ?? { request: null, records: jsonLines(text, open.name) }, open, context)
  }
}

/** Calls `openNames` before the first text that may contain a name. In JSON, the `@` may be escaped. */
async function* withNames(text: AsyncIterable<string>, { openNames }: ManifestOptions): AsyncIterable<string> {
  let isOpen = openNames === undefined
  for await (const piece of text) {
    if (!isOpen && /[@\\]/.test(piece)) {
      await openNames?.()
      isOpen = true
    }
    yield piece
  }
}

/**
 * Reads the first line and the beginning of the second line, which are enough to guess the format. The returned text
 * still contains them.
 */
async function peek(text: AsyncIterable<string>): Promise<{ head: string; text: AsyncIterable<string> }> {
  const input = text[Symbol.asyncIterator]()
  let head = ''
  let done = false
  // Without the anchor, the search would restart at each character of a long line.
  while (!done && head.length < MAX_HEAD && !/^\s*\S[^\n]*\n\s*\S/.test(head)) {
    const next = await input.next()
    if (next.done === true) done = true
    else head += next.value
  }
  return {
    head,
    text: (async function* () {
      yield head
      while (!done) {
        const next = await input.next()
        if (next.done === true) return
        yield next.value
      }
    })(),
  }
}

/**
 * Guesses the format without a file name. A list or a single object is JSON, one object per line is JSONL, and anything
 * else is CSV.
 */
function sniff(head: string): ManifestFormat {
  const text = head.trimStart()
  if (text.startsWith('[')) return 'json'
  if (!text.startsWith('{')) return 'csv'
  const [first = '', ...rest] = text.split('\n')
  try {
    JSON.parse(first)
    return rest.some((line) => line.trim() !== '') ? 'jsonl' : 'json'
  } catch {
    return 'json'
  }
}
