import { count } from '../../core/count.ts'
import { GdnError } from '../../core/errors.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import type { Drop } from '../../state/drops.ts'
import { type FreshRow, freshRows, type RemovedSentRow, readRemovedSentRows } from '../../state/edited-rows.ts'
import type { MintOperation } from '../../state/row-requests.ts'
import { type RowLocation, readRowPages, readRowsAt } from '../../state/rows.ts'
import { copyCounts, hasIds, listReferencesWithoutId, nftsWithRows, rowsWithIds } from '../../state/unnamed-rows.ts'
import {
  formatEditedRowsHints,
  formatLastRowsHint,
  formatNewRowsHint,
  MAX_PAIRS,
  matchEditedPairs,
  renamedUnknownError,
  selectFirstRows,
} from '../rows/edited-rows.ts'
import { parseStoredRow, type StoredRow } from '../rows/manifest-row.ts'
import {
  isContentKey,
  parseContentHash,
  parseCopyNumber,
  rowKey,
  rowReferenceId,
  toReferenceId,
} from '../rows/row-key.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchClient, BatchOptions } from '../types.ts'
import { type OtherLabel, toOtherLabels } from './other-labels.ts'
import { ReferenceLookup } from './server-names.ts'
import { readRemovedRowTexts } from './texts-of-left.ts'

/** A row that was minted under another key (for example, before the row got its `id`), and the row's NFT. */
export interface Pair {
  row: StoredRow
  nftGdnId: string
  operation: MintOperation
  reference: string
  /** The reference ID with which the row was minted. */
  mintedAs: string
  /** The NFT's label on the server. Null if it has none, or if the state has the NFT. */
  label: string | null
  /** The ID of the row's operation in the state. Null if only the server has the NFT. */
  sent: string | null
  /**
   * Whether the server stores the pair as an alias. `wanted`: it will be stored. `impossible`: the server can't store
   * it.
   */
  alias: 'stored' | 'wanted' | 'impossible'
}

/** An NFT that was minted without an `id` and whose row is not in the manifest. */
interface NftWithoutId {
  /** ID of the NFT. Null if the outcome of its mint is unknown. */
  nftGdnId: string | null
  operation: MintOperation
  /** The NFT's reference ID, which was derived from the content of its row. */
  reference: string
  /** Whether the server has the reference ID. */
  isOnServer: boolean
  /** The NFT's row in the state. Null if only the server has the NFT. */
  sent: RemovedSentRow | null
  label: string | null
}

/** Returns the pairs whose NFTs have a different label from the run's. */
export const findOtherLabels = (pairs: readonly Pair[], ownLabel: string | null | undefined): OtherLabel[] =>
  pairs.flatMap(({ row: { key, row }, mintedAs: reference, ...mint }) =>
    toOtherLabels({ key, line: row.line }, { ...mint, reference }, ownLabel),
  )

/** Returns the pairs that have an operation in the state. The operation is then recorded under the row's new key. */
export const selectRenamedPairs = (pairs: readonly Pair[]): (Pair & { sent: string })[] =>
  pairs.flatMap((pair) => (pair.sent === null ? [] : [{ ...pair, sent: pair.sent }]))

type Options = Pick<BatchOptions, 'contractAddress' | 'blockchain' | 'label' | 'newRows' | 'signal'>
type Client = Pick<BatchClient, 'call' | 'learnCapabilities' | 'supports'>

/**
 * Returns the rows that got an `id` after they were minted without one, each with its NFT.
 *
 * A row without an `id` is identified by its content. With an `id`, the row has a different key and reference ID, so it
 * would be minted again. These are the steps:
 *
 * 1. Collect the NFTs that were minted without an ID and whose rows are no longer in the manifest. The state has the
 *    NFTs of this machine's run. If the server stores aliases, the NFTs of other machines are looked up by the run's
 *    label and, if the run is new, by the content of rows. NFTs whose rows got an ID on any machine are omitted.
 * 2. Collect the rows with an ID that are new to the run.
 * 3. Look up the reference IDs of these rows on the server. If a reference ID is the alias of an NFT from step 1 that
 *    is in the state, the row and the NFT are a pair (`alias: 'stored'`). A row whose reference ID belongs to another
 *    NFT is left to `knownReferences`.
 * 4. Pair the remaining rows with the remaining NFTs by content, and equal rows in their order. NFTs that failed or
 *    were burned come last. Each pair will be stored on the server (`'wanted'`), or only in the state (`'impossible'`).
 * 5. If both rows and NFTs remain, a remaining row may be an edited version of the row of a remaining NFT. Unless new
 *    rows are permitted, gdn refuses the rows.
 *
 * For example, the rows Blue, Red and Green were minted without IDs. Then Blue gets the ID 1, Red gets the ID 2, and
 * Green becomes Dark green with the ID 3. Another machine has stored the pair for Blue, so step 3 finds this pair. Step
 * 4 pairs Red by its content. Green has no row and ID 3 has no NFT, so step 5 refuses the manifest.
 *
 * A new run with a label also refuses new rows without an ID if rows of that label's NFTs are no longer in the
 * manifest. A run that has begun finds these rows in the state.
 *
 * @param client null to query no server
 * @throws GdnError `edited_rows` if rows are new and NFTs without an ID no longer have rows, because the new rows may
 *   be edits. Not thrown if new rows are permitted
 */
export async function findPairs(
  run: StoredRun,
  options: Options,
  client: Client | null,
  rows: RowLocation,
): Promise<Pair[]> {
  const { drop } = run
  const { label = null, signal } = options
  const isNew = drop.setId === null
  // For a run that has begun, `findReplacedOperationIds` finds edited rows without an ID in the state.
  const checksUnnamed = isNew && label !== null
  if (!checksUnnamed && !(await run.read((sql) => hasIds(sql, rows)))) return []
  // Include replaced rows. A replaced row isn't the earlier version of another row, but it may be in the manifest
  // again.
  const vanished = await run.read((sql) => readRemovedWithReferences(sql, drop, rows))
  const inState = vanished.filter(({ key }) => isContentKey(key)).map((row) => nftWithoutIdOf(drop.referenceScope, row))
  if (client?.supports('references') === null) await client.learnCapabilities({ signal })
  const server = client?.supports('references') === true ? new ReferenceLookup(client, options) : null
  const storesAliases = client?.supports('aliases') === true
  const unnamed = server === null ? [...inState] : await excludeAliasedNfts(server, inState)
  if (server !== null && storesAliases)
    unnamed.push(...(await findNftsOnlyOnServer(server, run, rows, { inState, label })))
  if (inState.length + unnamed.length === 0) return []

  const all = await run.read((sql) => freshRows(sql, drop, rows, drop.setId))
  const fresh = all.filter(({ key }) => !isContentKey(key))
  const names = (await server?.findNfts(fresh.map((row) => toReferenceId(drop, row)))) ?? new Map<string, string>()
  const matches = new Map<FreshRow, NftWithoutId>()
  const byNft = new Map(inState.map((nft) => [nft.nftGdnId, nft]))
  for (const row of fresh) {
    const nft = byNft.get(names.get(toReferenceId(drop, row)) ?? '')
    if (nft !== undefined) matches.set(row, nft)
  }
  const nftsWithId = new Set<string | null>(names.values())
  const unpairedNfts = unnamed.filter(({ nftGdnId }) => !nftsWithId.has(nftGdnId))
  const unpairedRows = fresh.filter((row) => !names.has(toReferenceId(drop, row)))
  const ids = unpairedNfts.flatMap(({ nftGdnId }) => nftGdnId ?? [])
  const endedNftIds = (await server?.findEndedNfts(ids)) ?? new Set<string | null>()
  const byContent = await run.read((sql) => matchByContent(sql, run, rows, { unpairedRows, unpairedNfts, endedNftIds }))
  const pairedNfts = new Set(byContent.values())
  const mayBeEdited = (nft: NftWithoutId) => !pairedNfts.has(nft) && !endedNftIds.has(nft.nftGdnId) && !isReplaced(nft)
  const existing = options.newRows === true ? [] : unpairedNfts.filter(mayBeEdited)
  if (existing.length > 0) {
    const without = checksUnnamed ? all.filter(({ key }) => isContentKey(key)) : []
    const added = [
      ...unpairedRows.filter((row) => !byContent.has(row)),
      ...(await rowsWithoutNft(server, drop, without)),
    ]
    if (added.length > 0) throw await run.read((sql) => unpairedError(sql, run, rows, { existing, added }))
  }

  return await run.read((sql) => [
    ...[...matches].map(([row, nft]) => toPair(sql, drop, rows, { row, nft, alias: 'stored' })),
    ...[...byContent].map(([row, nft]) =>
      toPair(sql, drop, rows, { row, nft, alias: storesAliases && nft.isOnServer ? 'wanted' : 'impossible' }),
    ),
  ])
}

/** @throws GdnError `edited_rows` if the row's request has an unknown outcome */
function toPair(
  sql: Sql,
  drop: Drop,
  rows: RowLocation,
  { row, nft, alias }: { row: FreshRow; nft: NftWithoutId; alias: Pair['alias'] },
): Pair {
  const { nftGdnId, operation, reference: mintedAs, label, sent } = nft
  if (nftGdnId === null) throw renamedUnknownError(drop.name)
  const [record] = readRowsAt(sql, rows, [row.position])
  if (record === undefined) throw new Error('a row that was just read is missing')
  const reference = toReferenceId(drop, row)
  return { row: parseStoredRow(record), nftGdnId, operation, reference, mintedAs, label, sent: sent?.id ?? null, alias }
}

/**
 * Returns the vanished rows, including replaced ones. If a row was sent without a reference ID, and left the manifest
 * before the manifest's files were moved, adds the row's reference.
 */
function readRemovedWithReferences(sql: Sql, drop: Drop, rows: RowLocation): RemovedSentRow[] {
  const vanished = readRemovedSentRows(sql, drop, rows, { withReplaced: true })
  const unknown = vanished.filter(({ reference, mintedAs }) => reference === null && mintedAs === null)
  const texts = readRemovedRowTexts(sql, drop, unknown)
  return vanished.map((row) => ({ ...row, reference: row.reference ?? texts.get(row.id)?.reference ?? null }))
}

/** Returns whether the row of an NFT was replaced with `--new-rows`, so that a new row isn't its edited version. */
const isReplaced = ({ sent }: NftWithoutId): boolean => sent?.replaced === 1

/** Returns the rows for which the server has no NFT. */
async function rowsWithoutNft(
  server: ReferenceLookup | null,
  drop: Drop,
  rows: readonly FreshRow[],
): Promise<FreshRow[]> {
  const nfts = await server?.findNfts(rows.map((row) => toReferenceId(drop, row)))
  return rows.filter((row) => nfts?.has(toReferenceId(drop, row)) !== true)
}

function nftWithoutIdOf(scope: string, row: RemovedSentRow): NftWithoutId {
  const reference = row.mintedAs ?? rowReferenceId(scope, row.reference ?? row.key)
  return { nftGdnId: row.nft, operation: row.operation, reference, isOnServer: false, sent: row, label: null }
}

/** Returns the NFTs whose rows haven't received an ID on any machine. */
async function excludeAliasedNfts(server: ReferenceLookup, unnamed: readonly NftWithoutId[]): Promise<NftWithoutId[]> {
  const records = await server.lookUp(unnamed)
  return unnamed.flatMap((nft): NftWithoutId[] => {
    const record = records.get(nft)
    if (typeof record?.reference_alias === 'string') return []
    return [{ ...nft, isOnServer: record?.reference_kind === 'content' }]
  })
}

/** Returns the NFTs that only the server has, were minted without an ID, and belong to no row. */
async function findNftsOnlyOnServer(
  server: ReferenceLookup,
  run: StoredRun,
  rows: RowLocation,
  { inState, label }: { inState: readonly NftWithoutId[]; label: string | null },
): Promise<NftWithoutId[]> {
  const stored = new Set(inState.map(({ nftGdnId }) => nftGdnId))
  const listed = new Map<string, ListedNft>()
  // Search by content as well, because the drop may have had another label, or none. If the run has begun, its NFTs are
  // in the state.
  if (run.drop.setId === null) {
    for await (const nft of listNftsByContent(server, run, rows)) listed.set(nft.nftGdnId, nft)
  }
  if (label !== null)
    for (const nft of await server.listUnaliasedNfts(label)) listed.set(nft.nftGdnId, { ...nft, label })
  const unstored = [...listed.values()].filter(({ nftGdnId }) => !stored.has(nftGdnId))
  const rowless = await run.read((sql) => excludeNftsWithRows(sql, run, rows, unstored))
  return rowless.map((nft) => ({ ...nft, isOnServer: true, sent: null }))
}

/** An NFT without an ID that only the server has. */
type ListedNft = Pick<Pair, 'operation' | 'nftGdnId' | 'label'> & { reference: string }

const PAGE_SIZE = 1_000

/** Yields the NFTs that were minted with the content of a row that had no ID at that time. */
async function* listNftsByContent(
  server: ReferenceLookup,
  run: StoredRun,
  rows: RowLocation,
): AsyncGenerator<ListedNft> {
  const { state, drop } = run
  const counts = await run.read((sql) => copyCounts(sql, rows))
  const pages = readRowPages(state, (sql, after, limit) => rowsWithIds(sql, rows, after, limit), PAGE_SIZE)
  for await (const page of pages) {
    const contentOf = new Map<string, { content: string; copies: number }>()
    for (const content of page.map((row) => row.portable)) {
      const copies = counts.get(content) ?? 1
      // This page queries all copies of this content, so later pages skip them.
      if (copies > 1) counts.set(content, 0)
      for (let copy = 1; copy <= copies; copy++) {
        contentOf.set(rowReferenceId(drop.referenceScope, rowKey(null, content, copy)), { content, copies })
      }
    }
    const nfts = await server.findUnaliasedNfts([...contentOf.keys()])
    yield* nfts
    // If an NFT failed or was burned, the row may belong to a later copy.
    const ended = await server.findEndedNfts(nfts.map(({ nftGdnId }) => nftGdnId))
    const copiesOfContent = new Map<string, number>()
    for (const { reference, nftGdnId } of nfts) {
      const row = contentOf.get(reference)
      if (row !== undefined && ended.has(nftGdnId)) copiesOfContent.set(row.content, row.copies)
    }
    const isTaken = (content: string, copy: number) => copy <= (copiesOfContent.get(content) ?? 0)
    yield* await server.findOtherCopies(drop.referenceScope, [...copiesOfContent.keys()], isTaken)
  }
}

/** Returns the NFTs that belong to no row of the manifest and to no other row in the state. */
function excludeNftsWithRows(
  sql: Sql,
  { drop }: StoredRun,
  rows: RowLocation,
  listed: readonly ListedNft[],
): ListedNft[] {
  const byReference = new Map(listed.map((nft) => [nft.reference, nft]))
  for (const name of listReferencesWithoutId(sql, rows)) byReference.delete(rowReferenceId(drop.referenceScope, name))
  const nfts = [...byReference.values()].map(({ nftGdnId }) => nftGdnId)
  const withRows = nftsWithRows(sql, drop, rows, nfts)
  return [...byReference.values()].filter(({ nftGdnId }) => !withRows.has(nftGdnId))
}

interface UnpairedItems {
  unpairedRows: readonly FreshRow[]
  unpairedNfts: readonly NftWithoutId[]
  /** The IDs of NFTs that failed or were burned. */
  endedNftIds: ReadonlySet<string | null>
}

/**
 * Pairs rows with NFTs of the same content, in their order. NFTs that failed or were burned come last. If there are
 * more NFTs than rows, pairs the last copies. Rows without an ID that return to the manifest later are numbered from
 * the first copy, so they find the remaining NFTs.
 */
function matchByContent(
  sql: Sql,
  { drop }: StoredRun,
  rows: RowLocation,
  { unpairedRows, unpairedNfts, endedNftIds }: UnpairedItems,
): Map<FreshRow, NftWithoutId> {
  const unassigned = new Set(unpairedNfts)
  const contents = new Map<string, NftWithoutId[]>()
  // Skip this step for a shuffled drop, because a row may have the content of another row that was drawn for its slot.
  for (const nft of drop.reading.shuffle === undefined ? unpairedNfts : []) {
    // Compare the content in the key, because the sent content of every row of an unrevealed drop is the placeholder.
    const content = nft.sent === null ? null : parseContentHash(nft.sent.key)
    if (content === null) continue
    const copies = contents.get(content)
    if (copies === undefined) contents.set(content, [nft])
    else copies.push(nft)
  }
  const isEnded = ({ nftGdnId, sent }: NftWithoutId) => Number(endedNftIds.has(nftGdnId) || sent?.burned === 1)
  const copyOf = ({ sent }: NftWithoutId) => parseCopyNumber(sent?.key ?? '')
  const rowCounts = countBy(unpairedRows, ({ content }) => content)
  for (const [content, copies] of contents) {
    copies.sort((a, b) => isEnded(a) - isEnded(b) || copyOf(a) - copyOf(b))
    moveLastFirst(copies, rowCounts.get(content) ?? 0, isEnded)
  }
  const portableCounts = countBy(unpairedRows, ({ portable, content }) => portable ?? content)
  const references = new Map(unpairedNfts.map((nft) => [nft.reference, nft]))
  const counts = copyCounts(sql, rows)
  const byPortable = new Map<string, NftWithoutId[]>()
  // Compare by portable hash as well, because files have different paths in a copy of the manifest in another folder.
  const copiesWith = (portable: string): NftWithoutId[] => {
    const earlier = byPortable.get(portable)
    if (earlier !== undefined) return earlier
    const copies: NftWithoutId[] = []
    for (let copy = 1; ; copy++) {
      const nft = references.get(rowReferenceId(drop.referenceScope, rowKey(null, portable, copy)))
      if (nft !== undefined) copies.push(nft)
      else if (copy >= (counts.get(portable) ?? 1)) break
    }
    // The sort is stable, so copies otherwise keep their order.
    copies.sort((a, b) => isEnded(a) - isEnded(b))
    moveLastFirst(copies, portableCounts.get(portable) ?? 0, isEnded)
    byPortable.set(portable, copies)
    return copies
  }
  const matches = new Map<FreshRow, NftWithoutId>()
  const takeFirst = (row: FreshRow, copies: NftWithoutId[]): boolean => {
    for (let nft = copies.shift(); nft !== undefined; nft = copies.shift()) {
      if (!unassigned.delete(nft)) continue
      matches.set(row, nft)
      return true
    }
    return false
  }
  for (const row of unpairedRows) {
    if (!takeFirst(row, contents.get(row.content) ?? [])) takeFirst(row, copiesWith(row.portable ?? row.content))
  }
  return matches
}

function countBy(rows: readonly FreshRow[], keyOf: (row: FreshRow) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const row of rows) counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + 1)
  return counts
}

/** Moves the last `rows` NFTs that neither failed nor were burned to the front. */
function moveLastFirst(copies: NftWithoutId[], rows: number, isEnded: (nft: NftWithoutId) => number): void {
  const live = copies.filter((nft) => isEnded(nft) === 0).length
  if (rows < live) copies.unshift(...copies.splice(live - rows, rows))
}

const EDITED_ROWS_HINTS = [
  'Nothing was sent. gdn can match an edited row with its NFT only if the row had its ID before the edit.',
  'If you edited rows, revert these edits, keep the IDs, and run `gdn apply`. Then edit the rows again.',
]

function unpairedError(
  sql: Sql,
  { drop }: StoredRun,
  rows: RowLocation,
  { existing, added }: { existing: readonly NftWithoutId[]; added: readonly FreshRow[] },
): GdnError {
  const [vanished, fresh] = [existing.length, added.length]
  const subject =
    vanished === 1 ? '1 NFT that was minted without an ID has' : `${vanished} NFTs that were minted without an ID have`
  const isNamed = added.every(({ key }) => !isContentKey(key))
  const are = `${count(fresh, 'row')}${isNamed ? ' with an ID' : ''} ${fresh === 1 ? 'has' : 'have'}`
  const first = selectFirstRows(existing.flatMap((nft) => nft.sent ?? []))
  const lines = readRowsAt(
    sql,
    rows,
    added.slice(0, MAX_PAIRS).map(({ position }) => position),
  )
  const pairs = matchEditedPairs(sql, drop, { vanished: first, fresh: added, rows })
  return new GdnError('edited_rows', `${subject} no row, and ${are} no NFT: ${drop.name}`, {
    hint: [
      ...(isNamed ? [...EDITED_ROWS_HINTS, ...formatLastRowsHint(drop)] : formatEditedRowsHints(drop, pairs)),
      formatNewRowsHint(drop, isNamed ? 'rows with an ID as new NFTs' : 'new rows as well'),
    ].join('\n'),
    details: {
      run: drop.name,
      vanished,
      new: fresh,
      pairs,
      rows: lines.map(({ line }) => ({ line })),
      count: fresh,
    },
  })
}
