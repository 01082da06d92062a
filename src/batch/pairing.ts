import { GdnError } from '../core/errors.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import { type FreshRow, freshRows, type VanishedRow, vanishedRows } from '../state/edited-rows.ts'
import type { MintOperation } from '../state/row-requests.ts'
import { pagesOf, type RowsIn, rowsAt } from '../state/rows.ts'
import { copyCounts, hasIds, nftsWithRows, rowsWithIds, unnamedRows } from '../state/unnamed-rows.ts'
import { MAX_PAIRS, type Paired, pairsOf, renamedUnknown, rowsAsMinted } from './edited-rows.ts'
import { type KeptRow, keptRow } from './manifest-row.ts'
import { type OtherLabel, otherLabelOf } from './other-labels.ts'
import { contentOfKey, copyOfKey, isContentKey, referenceId, rowKey, shownKey } from './row-key.ts'
import type { RunStore } from './run-store.ts'
import { ServerNames } from './server-names.ts'
import type { BatchClient, BatchOptions } from './types.ts'

/** A row that got its `id` after the mint, and its NFT. */
export interface Pair {
  row: KeptRow
  nftGdnId: string
  /** The operation of its mint, and the reference ID that its `id` makes. */
  operation: MintOperation
  reference: string
  /** The reference ID of its mint, which is made from content. */
  mintedAs: string
  /** Its label on the server where only that knows the NFT; null without one. */
  label: string | null
  /** Its operation in the state, which has no ID yet; null where the state doesn't know the NFT. */
  sent: string | null
  /** `impossible`: the server can't store it, so the pair is known on this machine only. */
  alias: 'stored' | 'wanted' | 'impossible'
}

/** An NFT that was minted without an `id`, and whose row is not in the manifest. */
interface Unnamed {
  /** Null while the outcome of its mint is unknown. */
  nftGdnId: string | null
  operation: MintOperation
  /** Its reference ID, which is made from content. */
  reference: string
  /** Whether the server has the reference ID. */
  isOnServer: boolean
  /** Its row in the state; null where only the server knows it. */
  sent: VanishedRow | null
  label: string | null
}

/** Returns the pairs whose NFTs have another label than the run. */
export const pairsOfOthers = (pairs: readonly Pair[], own: string | null | undefined): OtherLabel[] =>
  pairs.flatMap(({ row: { key, row }, nftGdnId, operation, mintedAs: reference, label: reference_label }) => {
    const label = otherLabelOf({ reference_label }, own)
    return label === null ? [] : [{ key: shownKey(key), line: row.line, nftGdnId, operation, reference, label }]
  })

/** Returns the pairs whose operations in the state get an ID. */
export const renamedOf = (pairs: readonly Pair[]): (Pair & { sent: string })[] =>
  pairs.flatMap((pair) => (pair.sent === null ? [] : [{ ...pair, sent: pair.sent }]))

export const pairedOf = (pairs: readonly Pair[]): Paired => ({
  operations: new Set(renamedOf(pairs).map(({ sent }) => sent)),
  positions: new Set(pairs.map(({ row }) => row.position)),
})

type Options = Pick<BatchOptions, 'contractAddress' | 'blockchain' | 'label' | 'newRows' | 'signal'>
type Client = Pick<
  BatchClient,
  'call' | 'learnIdempotency' | 'supportsReferences' | 'supportsLabels' | 'supportsAliases'
>

/**
 * Returns the rows that got an `id` after they were minted without one. The server knows the pairs of all machines.
 * Other rows are paired by their content, and equal rows in their order. Nothing is guessed: an edited row is not paired.
 *
 * @param client null to ask no server
 * @throws GdnError `edited_rows` where rows with an ID are new while NFTs without an ID have lost their rows: they may be
 *   the same, edited. Not if new rows are permitted
 */
export async function findPairs(
  store: RunStore,
  options: Options,
  client: Client | null,
  rows: RowsIn,
): Promise<Pair[]> {
  const { drop } = store
  const { label = null, signal } = options
  if (!(await store.read((sql) => hasIds(sql, rows)))) return []
  const isNew = drop.setId === null
  const vanished = await store.read((sql) => vanishedRows(sql, drop, rows))
  const inState = vanished.filter(({ key }) => isContentKey(key)).map((sent) => unnamedOf(drop.referenceScope, sent))
  if (client?.supportsReferences() === null) await client.learnIdempotency({ signal })
  const server = client?.supportsReferences() === true ? new ServerNames(client, options) : null
  const storesAliases = client?.supportsAliases() === true
  const unnamed = server === null ? [...inState] : await withoutAliased(server, inState)
  if (server !== null && storesAliases) {
    const known = new Set(inState.map(({ nftGdnId }) => nftGdnId))
    const listed = new Map<string, Listed>()
    // The drop may have had another label, or none. Where the run has begun, its NFTs are in the state.
    if (isNew) for await (const one of withContents(server, store, rows)) listed.set(one.nftGdnId, one)
    if (label !== null) for (const one of await server.unaliased(label)) listed.set(one.nftGdnId, { ...one, label })
    const others = [...listed.values()].filter(({ nftGdnId }) => !known.has(nftGdnId))
    for (const one of await store.read((sql) => withoutRows(sql, store, rows, others))) {
      unnamed.push({ ...one, isOnServer: true, sent: null })
    }
  }
  if (inState.length + unnamed.length === 0) return []

  const fresh = (await store.read((sql) => freshRows(sql, drop, rows, drop.setId))).filter(
    ({ key }) => !isContentKey(key),
  )
  const referenceOf = ({ key }: FreshRow) => referenceId(drop.referenceScope, key)
  const names = (await server?.nftsOf(fresh.map(referenceOf))) ?? new Map<string, string>()
  const matches = new Map<FreshRow, Unnamed>()
  const byNft = new Map(inState.map((one) => [one.nftGdnId, one]))
  for (const row of fresh) {
    const of = byNft.get(names.get(referenceOf(row)) ?? '')
    if (of !== undefined) matches.set(row, of)
  }
  const named = new Set<string | null>(names.values())
  const free = unnamed.filter(({ nftGdnId }) => !named.has(nftGdnId))
  const open = fresh.filter((row) => !names.has(referenceOf(row)))
  const ended = (await server?.endedOf(free.flatMap(({ nftGdnId }) => nftGdnId ?? []))) ?? new Set<string | null>()
  const byContent = await store.read((sql) => matchByContent(sql, store, rows, { open, free, ended }))
  const taken = new Set(byContent.values())
  const left = free.filter((one) => !taken.has(one))
  const added = open.filter((row) => !byContent.has(row))
  if (options.newRows !== true && added.length > 0) {
    const existing = left.filter(({ nftGdnId }) => !ended.has(nftGdnId))
    if (existing.length > 0) throw await store.read((sql) => notPaired(sql, store, rows, { existing, added }))
  }

  const pairOf = (sql: Sql, row: FreshRow, of: Unnamed, alias: Pair['alias']): Pair => {
    const { nftGdnId, operation, sent } = of
    if (nftGdnId === null) throw renamedUnknown(drop.name)
    const [record] = rowsAt(sql, rows, [row.position])
    if (record === undefined) throw new Error('a row that was just read is missing')
    const { reference: mintedAs, label: ofNft } = of
    return {
      row: keptRow(record),
      nftGdnId,
      operation,
      reference: referenceOf(row),
      mintedAs,
      label: ofNft,
      sent: sent?.id ?? null,
      alias,
    }
  }
  return await store.read((sql) => [
    ...[...matches].map(([row, of]) => pairOf(sql, row, of, 'stored')),
    ...[...byContent].map(([row, of]) =>
      pairOf(sql, row, of, storesAliases && of.isOnServer ? 'wanted' : 'impossible'),
    ),
  ])
}

function unnamedOf(scope: string, sent: VanishedRow): Unnamed {
  const reference = sent.mintedAs ?? referenceId(scope, sent.reference ?? sent.key)
  return { nftGdnId: sent.nft, operation: sent.operation, reference, isOnServer: false, sent, label: null }
}

/** Returns the NFTs without those that got an ID on any machine. */
async function withoutAliased(server: ServerNames, unnamed: readonly Unnamed[]): Promise<Unnamed[]> {
  const records = await server.lookUp(unnamed)
  return unnamed.flatMap((one): Unnamed[] => {
    const record = records.get(one)
    if (typeof record?.reference_alias === 'string') return []
    return [{ ...one, isOnServer: record?.reference_kind === 'content' }]
  })
}

/** An NFT without an ID that only the server knows. */
type Listed = Pick<Pair, 'operation' | 'nftGdnId' | 'label'> & { reference: string }

const PAGE = 1_000

/** Yields the NFTs that were minted with the contents of rows, and whose rows had no ID then. */
async function* withContents(server: ServerNames, store: RunStore, rows: RowsIn): AsyncGenerator<Listed> {
  const { state, drop } = store
  const counts = await store.read((sql) => copyCounts(sql, rows))
  const pages = pagesOf(state, (sql, after, limit) => rowsWithIds(sql, rows, after, limit), PAGE)
  for await (const page of pages) {
    const asked = new Map<string, { content: string; copies: number }>()
    for (const content of page.map((row) => row.twin)) {
      const copies = counts.get(content) ?? 1
      // Copies on later pages are asked for by now.
      if (copies > 1) counts.set(content, 0)
      for (let copy = 1; copy <= copies; copy++) {
        asked.set(referenceId(drop.referenceScope, rowKey(null, content, copy)), { content, copies })
      }
    }
    const found = await server.unaliasedOf([...asked.keys()])
    yield* found
    // The copies after them may be those that are left.
    const ended = await server.endedOf(found.map(({ nftGdnId }) => nftGdnId))
    const wanted = new Map<string, number>()
    for (const { reference, nftGdnId } of found) {
      const of = asked.get(reference)
      if (of !== undefined && ended.has(nftGdnId)) wanted.set(of.content, of.copies)
    }
    const isTaken = (content: string, copy: number) => copy <= (wanted.get(content) ?? 0)
    yield* await server.otherCopies(drop.referenceScope, [...wanted.keys()], isTaken)
  }
}

/** Returns the NFTs that neither a row of the manifest nor another one in the state has. */
function withoutRows(sql: Sql, { drop }: RunStore, rows: RowsIn, listed: readonly Listed[]): Listed[] {
  const byReference = new Map(listed.map((one) => [one.reference, one]))
  for (const name of unnamedRows(sql, rows)) byReference.delete(referenceId(drop.referenceScope, name))
  const nfts = [...byReference.values()].map(({ nftGdnId }) => nftGdnId)
  const known = nftsWithRows(sql, drop, rows, nfts)
  return [...byReference.values()].filter(({ nftGdnId }) => !known.has(nftGdnId))
}

/** Pairs rows with NFTs of the same content, the first with the first, and those that failed or were burned last. */
function matchByContent(
  sql: Sql,
  { drop }: RunStore,
  rows: RowsIn,
  { open, free, ended }: { open: readonly FreshRow[]; free: readonly Unnamed[]; ended: ReadonlySet<string | null> },
): Map<FreshRow, Unnamed> {
  const left = new Set(free)
  const contents = new Map<string, Unnamed[]>()
  for (const one of free) {
    // Not by the content that was sent: all rows of an unrevealed drop have that of the placeholder.
    const content = one.sent === null ? null : contentOfKey(one.sent.key)
    if (content === null) continue
    const copies = contents.get(content)
    if (copies === undefined) contents.set(content, [one])
    else copies.push(one)
  }
  const isEnded = ({ nftGdnId, sent }: Unnamed) => Number(ended.has(nftGdnId) || sent?.burned === 1)
  const copyOf = ({ sent }: Unnamed) => copyOfKey(sent?.key ?? '')
  for (const copies of contents.values()) copies.sort((a, b) => isEnded(a) - isEnded(b) || copyOf(a) - copyOf(b))
  const references = new Map(free.map((one) => [one.reference, one]))
  const counts = copyCounts(sql, rows)
  const byTwin = new Map<string, Unnamed[]>()
  // A copy of the manifest elsewhere has other paths of its files.
  const copiesOfTwin = (twin: string): Unnamed[] => {
    const known = byTwin.get(twin)
    if (known !== undefined) return known
    const copies: Unnamed[] = []
    for (let copy = 1; ; copy++) {
      const one = references.get(referenceId(drop.referenceScope, rowKey(null, twin, copy)))
      if (one !== undefined) copies.push(one)
      else if (copy >= (counts.get(twin) ?? 1)) break
    }
    // The order of copies stays as it is otherwise.
    copies.sort((a, b) => isEnded(a) - isEnded(b))
    byTwin.set(twin, copies)
    return copies
  }
  const matches = new Map<FreshRow, Unnamed>()
  const takeFirst = (row: FreshRow, copies: Unnamed[]): boolean => {
    for (let one = copies.shift(); one !== undefined; one = copies.shift()) {
      if (!left.delete(one)) continue
      matches.set(row, one)
      return true
    }
    return false
  }
  for (const row of open) {
    if (!takeFirst(row, contents.get(row.content) ?? [])) takeFirst(row, copiesOfTwin(row.twin ?? row.content))
  }
  return matches
}

function notPaired(
  sql: Sql,
  { drop }: RunStore,
  rows: RowsIn,
  { existing, added }: { existing: readonly Unnamed[]; added: readonly FreshRow[] },
): GdnError {
  const [vanished, fresh] = [existing.length, added.length]
  const sent =
    vanished === 1 ? '1 NFT that was minted without an ID has' : `${vanished} NFTs that were minted without an ID have`
  const are = fresh === 1 ? '1 row with an ID has' : `${fresh} rows with an ID have`
  const first = existing.slice(0, MAX_PAIRS).flatMap((one) => one.sent ?? [])
  const lines = rowsAt(
    sql,
    rows,
    added.slice(0, MAX_PAIRS).map(({ position }) => position),
  )
  return new GdnError('edited_rows', `${sent} no row, and ${are} no NFT: ${drop.name}`, {
    hint: [
      'Nothing was sent. A row that was edited since its mint can only be paired with its NFT if it got its ID before.',
      'If you edited rows, revert these edits, keep the IDs, and run `gdn apply`. Then edit the rows again.',
      rowsAsMinted(drop.name),
      'To mint the rows with an ID as new NFTs, add --new-rows.',
    ].join('\n'),
    details: {
      run: drop.name,
      vanished,
      new: fresh,
      pairs: pairsOf(sql, drop, { vanished: first, fresh: added, rows }),
      rows: lines.map(({ line }) => ({ line })),
      count: fresh,
    },
  })
}
