import { waitForFastKeccak } from '../api/address.ts'
import { type Blockchain, isEvm } from '../api/blockchains.ts'
import { sha256Hex } from '../core/sha256-hex.ts'
import { decodeText } from './decode.ts'
import { Fingerprint } from './fingerprint.ts'
import { HashTable } from './hash-table.ts'
import { ListCounts } from './list-counts.ts'
import { ManifestError } from './manifest-error.ts'
import { type ManifestOptions, type ManifestReading, type ManifestSource, readManifest } from './read.ts'
import { readReceiverList, receiverKey } from './receiver-list.ts'
import type { ManifestIssue, ManifestItem, ManifestRow } from './row.ts'
import { openManifestSource } from './source.ts'

/** Checks which receivers of a list are contracts. */
export interface ReceiverCheck {
  /**
   * Returns the keys of the receivers to omit.
   *
   * @throws GdnError if the receivers must be checked and the check fails
   */
  findExcluded(receivers: readonly string[]): Promise<ReadonlySet<string>>
  /** Returns notes for the user about the receivers. Called after the last receiver. */
  notes(): Promise<readonly string[]>
  close(): Promise<void>
}

export interface ReceiverList {
  source: ManifestSource
  /** Whether several lines may have the same receiver. If so, their counts are added. */
  merge: boolean
  /** Notes about the source for the user. Complete once the source has been read. */
  notes?: readonly string[]
  check?: ReceiverCheck | undefined
  /** Whether `check` omits receivers. */
  skipsContracts: boolean
}

type ListRowOptions = ManifestOptions & { blockchain: Blockchain }

const BLOCK = 256

/** Placeholder for the missing receiver in the row that is minted to all receivers. No wallet has these addresses. */
const PLACEHOLDER = `0x${Buffer.from('gdn-list-placeholder').toString('hex')}`
const SOLANA_PLACEHOLDER = '1nc1nerator11111111111111111111111111111111'

/**
 * Reads a manifest with one row, and a list of receivers. Yields the row once for each NFT of each receiver. The ID of
 * each yielded row is the receiver's address or ENS name, followed by a number, such as `0xabc…#2`.
 *
 * @param path a JSON manifest with one row that has no receiver and no ID
 */
export function readListRows(path: string, list: ReceiverList, options: ListRowOptions): ManifestReading {
  const { source, merge, skipsContracts, check } = list
  const receiver = isEvm(options.blockchain) ? PLACEHOLDER : SOLANA_PLACEHOLDER
  // Pass an ID to `onRow`. The manifest's row needs none, because the receivers identify the yielded rows.
  const onRow: ManifestOptions['onRow'] = (row, from) => options.onRow?.({ ...row, id: row.id ?? '#1' }, from)
  const template = readManifest({ path }, { ...options, receiver, onRow })
  const shaping = { merge, skipsContracts }
  const fingerprint = new Fingerprint(source, { ...options, ...shaping })
  let notes: readonly string[] = []

  async function* blocks(): AsyncGenerator<readonly ManifestItem[], void, undefined> {
    const row = await readTemplate(template, path, receiver)
    if ('issues' in row) return yield row.issues.map((issue) => ({ issue }))
    let isEmpty = true
    try {
      for await (const items of rowsForReceivers(row, list, { options, fingerprint })) {
        isEmpty &&= items.length === 0
        yield items
      }
      notes = [...(list.notes ?? []), ...((await check?.notes()) ?? [])]
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error
      return yield [{ issue: error.issue }]
    } finally {
      await check?.close()
    }
    if (isEmpty) yield [{ issue: noReceiversIssue(list) }]
  }

  return {
    get target() {
      return template.target
    },
    blocks,
    notes: () => notes,
    digest: () => joinHashes(template.digest(), fingerprint.ofRead),
    fingerprint: async () => joinHashes(await template.fingerprint(), await fingerprint.ofFile()),
    async *[Symbol.asyncIterator]() {
      for await (const block of blocks()) yield* block
    },
  }
}

/** Yields a row for each receiver of a list. */
async function* rowsForReceivers(
  row: ManifestRow,
  { source, merge, check }: ReceiverList,
  { options, fingerprint }: { options: ListRowOptions; fingerprint: Fingerprint },
): AsyncGenerator<ManifestItem[], void, undefined> {
  const { blockchain, ensNames } = options
  const open = await openManifestSource(source)
  const text = decodeText(fingerprint.watch(open), open.name)
  const numbers = new HashTable()
  const counts = new ListCounts()
  for await (const entries of readReceiverList(text, open.name, { blockchain, merge, names: options })) {
    const receivers = entries.flatMap((entry) => ('issue' in entry ? [] : entry.receiver))
    const leftOut = (await check?.findExcluded(receivers)) ?? NO_NAMES
    let items: ManifestItem[] = []
    for (const entry of entries) {
      if ('issue' in entry) {
        items.push(entry)
        continue
      }
      const { line, receiver: address, name } = entry
      const count = counts.parseCount(entry)
      if (typeof count !== 'number') {
        items.push(count)
        continue
      }
      if (leftOut.has(receiverKey(address))) continue
      // An ENS name identifies the receiver, because the name's address may change.
      const key = name ?? receiverKey(address)
      for (let n = 1; n <= count; n++) {
        const id = `${key}#${merge ? numbers.increment(key) : n}`
        const listed: ManifestRow = { ...row, line, id, receiver: address }
        if (name !== null) listed.receiverName = name
        items.push({ row: listed })
        if (items.length < BLOCK) continue
        yield items
        items = []
      }
    }
    yield items
    await waitForFastKeccak()
  }
  await ensNames?.close()
}

function noReceiversIssue({ source, skipsContracts }: ReceiverList): ManifestIssue {
  const message = skipsContracts
    ? 'has no receivers except contracts and burn addresses, which are skipped'
    : 'has no receivers'
  const file = 'path' in source ? source.path : (source.name ?? 'stdin')
  return { place: { file }, message, hint: 'Add at least one receiver.' }
}

const NO_NAMES: ReadonlySet<string> = new Set()

const joinHashes = (row: string | null, list: string | null): string | null =>
  row === null || list === null ? null : sha256Hex(`${row} ${list}`)

/** Reads the row that is minted to each receiver. */
async function readTemplate(
  reading: ManifestReading,
  file: string,
  placeholder: string,
): Promise<ManifestRow | { issues: ManifestIssue[] }> {
  if (/\.(?:csv|tsv|txt)$/i.test(file)) {
    const hint = 'With a list of receivers, use a JSON file with one row, such as {"title": "…", "description": "…"}.'
    return { issues: [{ place: { file }, message: 'is not JSON', hint }] }
  }
  const issues: ManifestIssue[] = []
  let only: ManifestRow | null = null
  const add = (line: number, field: string | undefined, message: string, hint: string) =>
    issues.push({ place: { file, line, field }, message, hint })
  for await (const item of reading) {
    if ('issue' in item) {
      issues.push(item.issue)
      continue
    }
    const { row } = item
    if (only !== null) {
      add(
        row.line,
        undefined,
        'is a second row, but only one row is allowed',
        'Use a file with one row. gdn mints the row to each receiver of the list.',
      )
      break
    }
    only = row
    if (row.receiver !== placeholder) {
      add(row.line, 'receiver', "receiver can't be used with a list of receivers", 'Remove the receiver from the row.')
    }
    if (row.id !== null) {
      add(
        row.line,
        'id',
        "id can't be used with a list of receivers",
        'Remove the ID. The address of the receiver identifies the row.',
      )
    }
  }
  return only === null || issues.length > 0 ? { issues } : only
}
