import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isSameAddress } from '../api/same-address.ts'
import { listRuns, type Run } from '../batch/runs/runs.ts'
import type { BatchOptions } from '../batch/types.ts'
import { writeDurably } from '../core/durable-file.ts'
import { isRecord, parseJson } from '../core/json.ts'
import { makePrivateDirectory } from '../core/private-file.ts'
import type { ManifestItem } from '../manifest/read.ts'
import { PROVENANCE_ROW } from '../manifest/reveal-keys.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { removeCommand } from '../operations/remove-command.ts'
import { readUploads } from '../state/drops.ts'
import { openStateIfExists, type StateReader, withState } from '../state/open-state.ts'
import { sentCommitments } from '../state/operations.ts'
import { mintedBodies } from '../state/row-outcomes.ts'
import { findLastRequestNumber } from '../state/row-requests.ts'
import { isShuffled } from './drop-state.ts'
import { comparableMetadata, rowContentHash } from './leaves.ts'
import { provenanceFolder } from './provenance-folder.ts'
import { type Content, contentHashes } from './read-commitment.ts'
import { readStoredDraw } from './shuffle/drawn-rows.ts'
import { contentsPath, readStoredCommitment } from './unrevealed.ts'

/** An unrevealed drop on this machine. */
interface UnrevealedDrop extends Pick<Run, 'origin' | 'blockchain'> {
  contract: string
  provenance: string
  /**
   * `minted`: the drop's run has begun. `committed`: the collection is committed to the rows, but no run has begun.
   * `unknown`: the outcome of the commitment is unknown.
   */
  state: 'minted' | 'committed' | 'unknown'
  /** The name of the drop's run, or of the command that sent the commitment. */
  run: string
  /** The ID of the drop's run; null if the run has not begun. */
  id: string | null
  /**
   * The content hashes, in Base64, of the rows that are public in the drop's collection according to the local state.
   */
  shown: ReadonlySet<string>
}

/** Rows that an unrevealed drop hides. */
export interface HiddenRows extends Pick<UnrevealedDrop, 'contract' | 'state' | 'run'> {
  count: number
}

/** The collection in which rows would be published. */
export type PublicationTarget = Pick<BatchOptions, 'stateDir' | 'origin' | 'blockchain' | 'contractAddress'>

/**
 * Identifies the drop whose rows don't count as hidden: by the ID of its run, or by its provenance hash and collection.
 */
export interface OwnDrop {
  run?: string
  provenance?: string
}

type ReadRows = () => AsyncIterable<{ row: Content } | ManifestItem>

/** Identifies a hidden row: the drop's provenance hash, the contract and the row's content hash. */
type HiddenRowId = string

const toHiddenRowId = ({ provenance, contract }: UnrevealedDrop, content: string): HiddenRowId =>
  `${provenance} ${contract.toLowerCase()} ${content}`

/**
 * Finds hidden rows on the same server and blockchain. These are rows that this machine minted unrevealed or committed
 * to, and that aren't recorded as public. Returns the first collection with such rows, and their number; null if there
 * is none. Reads the rows only if there is an unrevealed drop.
 *
 * @param repeatedRun the run with `--again` that publishes the rows. Rows that this run was allowed to publish don't
 *   count
 */
export async function findHiddenRows(
  publishing: PublicationTarget,
  rows: ReadRows,
  ownDrop: OwnDrop,
  repeatedRun?: string,
): Promise<HiddenRows | null> {
  const allowed =
    repeatedRun === undefined ? new Set<HiddenRowId>() : await allowedRows(publishing.stateDir, repeatedRun)
  let hidden: HiddenRows | null = null
  for await (const { drops, content } of readHiddenAmong(publishing, rows, ownDrop)) {
    const drop = drops.find((candidate) => !allowed.has(toHiddenRowId(candidate, content)))
    if (drop === undefined) continue
    const { contract, state, run: name } = drop
    hidden ??= { contract, state, run: name, count: 0 }
    if (contract === hidden.contract) hidden.count++
  }
  return hidden
}

/** Yields the content hash of each hidden row, with the drops that hide it. */
async function* readHiddenAmong(
  publishing: PublicationTarget,
  rows: ReadRows,
  ownDrop: OwnDrop,
): AsyncGenerator<{ drops: UnrevealedDrop[]; content: string }> {
  const dropsOf = await hiddenContents(publishing, ownDrop)
  if (dropsOf.size === 0) return
  const { rowHash, unorderedOf } = contentHashes()
  for await (const item of rows()) {
    if ('issue' in item) continue
    // Skip rows with an unreadable file. The upload of the file will fail later.
    const content = await unorderedOf(item.row).catch(() => null)
    if (content === null) continue
    // Also try the hash that earlier versions stored, which depends on the order and types of the attributes.
    const hashes = [content, await rowHash(item.row)].map((hash) => hash.toString('base64'))
    const drops = new Set(hashes.flatMap((hash) => dropsOf.get(hash) ?? []))
    if (drops.size > 0) yield { drops: [...drops], content: hashes[0] ?? '' }
  }
}

/** Returns the drops on the server and blockchain that hide rows, by content hash. */
async function hiddenContents(
  { stateDir, origin, blockchain, contractAddress }: PublicationTarget,
  ownDrop: OwnDrop,
): Promise<Map<string, UnrevealedDrop[]>> {
  const isOnBlockchain = (drop: UnrevealedDrop) => drop.origin === origin && drop.blockchain === blockchain
  const drops = (await unrevealedDrops(stateDir)).filter(isOnBlockchain)
  const isOwn = ({ id, provenance, contract }: UnrevealedDrop) =>
    id === ownDrop.run || (provenance === ownDrop.provenance && isSameAddress(contract, contractAddress))
  return await readContentsHiddenBy(stateDir, drops, (drop) => !isOwn(drop))
}

/**
 * Returns the drops that hide rows, by content hash. A row that is public in one collection isn't hidden in others.
 *
 * @param drops the drops on one server and blockchain
 * @param isCounted selects the drops whose rows count as hidden
 */
async function readContentsHiddenBy(
  stateDir: string,
  drops: readonly UnrevealedDrop[],
  isCounted: (drop: UnrevealedDrop) => boolean = () => true,
): Promise<Map<string, UnrevealedDrop[]>> {
  const dropsOf = new Map<string, UnrevealedDrop[]>()
  for (const drop of drops.filter(isCounted))
    for (const content of await readContents(stateDir, drop))
      dropsOf.set(content, [...(dropsOf.get(content) ?? []), drop])
  for (const { shown } of drops) for (const content of shown) dropsOf.delete(content)
  return dropsOf
}

async function unrevealedDrops(stateDir: string): Promise<UnrevealedDrop[]> {
  const runs = await listRuns(stateDir)
  const state = await openStateIfExists(stateDir)
  if (state === null) return []
  try {
    const drops: UnrevealedDrop[] = []
    for (const run of runs) {
      const { origin, blockchain, contractAddress: contract, id, name } = run
      const provenance = readStoredCommitment(run)?.provenance
      if (provenance === undefined) continue
      const revealed = await revealedContents(state, run, provenance)
      drops.push({ origin, blockchain, contract, provenance, state: 'minted', run: name, id, shown: revealed })
    }
    // If a command was interrupted after the commitment, there is no run.
    for (const { isUnknown, ...sent } of await state.read(sentCommitments)) {
      const isBegun = (run: Run) =>
        readStoredCommitment(run)?.provenance === sent.provenance && isInCollection(run, sent)
      if (runs.some(isBegun)) continue
      const revealed = isUnknown ? await publicContents(state, sent, runs) : new Set<string>()
      drops.push({ ...sent, state: isUnknown ? 'unknown' : 'committed', id: null, shown: revealed })
    }
    return drops
  } finally {
    state.close()
  }
}

/** Number of requests in a page. */
const PAGE_SIZE = 20

/** Yields the metadata with which a run's NFTs were minted. */
async function* readMintedMetadata(
  state: StateReader,
  run: string,
  of: 'revealed' | 'deployed',
): AsyncGenerator<Record<string, unknown>> {
  for (let after = 0; ; after += PAGE_SIZE) {
    const last = await state.read((sql) => findLastRequestNumber(sql, run))
    if (after >= last) return
    const page = await state.read((sql) => mintedBodies(sql, run, of, { after, to: after + PAGE_SIZE }))
    for (const { body, positions } of page) {
      const { metadata } = Object(parseJson(body)) as { metadata?: readonly unknown[] }
      for (const position of JSON.parse(positions) as number[]) {
        const nftMetadata = metadata?.[position]
        if (isRecord(nftMetadata)) yield nftMetadata
      }
    }
  }
}

/** Returns the content hashes of a run's rows that are revealed according to the local state. */
async function revealedContents(state: StateReader, run: Run, provenance: string): Promise<Set<string>> {
  const revealed = new Set<string>()
  const drawn = readStoredDraw(run.reading)
  if (isShuffled(run) && drawn === null) return revealed
  const contents = await readContents(run.stateDir, { provenance })
  for await (const { [PROVENANCE_ROW]: slot } of readMintedMetadata(state, run.id, 'revealed')) {
    const row = drawn === null ? Number(slot) : (drawn.rows[Number(slot) - 1] ?? 0)
    const content = contents[row - 1]
    if (content !== undefined) revealed.add(content)
  }
  return revealed
}

/**
 * Returns the content hashes of rows that this machine has minted with their own metadata in a collection. Uses the
 * hashes of the uploaded files, because the local files may have been edited since.
 */
async function publicContents(
  state: StateReader,
  collection: CollectionLocation,
  runs: readonly Run[],
): Promise<Set<string>> {
  const contents = new Set<string>()
  for (const run of runs) {
    if (!isInCollection(run, collection) || readStoredCommitment(run) !== null) continue
    const uploads = await state.read((sql) => readUploads(sql, run.id))
    const hashOf = new Map([...uploads].map(([sha256, url]) => [url, sha256]))
    for await (const nftMetadata of readMintedMetadata(state, run.id, 'deployed')) {
      if (!Array.isArray(nftMetadata.file_fields)) continue
      const metadata = comparableMetadata(nftMetadata as ManifestRow['metadata'])
      const hashes = new Map(metadata.file_fields.map(({ key, url }) => [key, hashOf.get(url) ?? '']))
      contents.add(rowContentHash({ metadata }, hashes).toString('base64'))
    }
  }
  return contents
}

const HASH_BYTES = 32

/** Returns the content hashes of a drop's rows in Base64; an empty array if the machine doesn't have them. */
async function readContents(stateDir: string, { provenance }: Pick<UnrevealedDrop, 'provenance'>): Promise<string[]> {
  const contents = await readFile(contentsPath(stateDir, provenance)).catch(() => Buffer.alloc(0))
  return Array.from({ length: contents.length / HASH_BYTES }, (_, at) =>
    contents.toString('base64', at * HASH_BYTES, (at + 1) * HASH_BYTES),
  )
}

/** Returns the path of the file with the hidden rows that a run with `--again` was allowed to publish. */
const allowedPath = (stateDir: string, run: string): string => join(provenanceFolder(stateDir), `${run}.allowed`)

/** Returns the hidden rows that a run was allowed to publish. */
async function allowedRows(stateDir: string, run: string): Promise<ReadonlySet<HiddenRowId>> {
  const text = await readFile(allowedPath(stateDir, run), 'utf8').catch(() => '')
  return new Set(text.split('\n'))
}

/**
 * Records that a run may publish those of its rows that are currently hidden. Excludes rows that are added or hidden
 * later.
 */
export async function allowHiddenRows(publishing: PublicationTarget, rows: ReadRows, run: string): Promise<void> {
  const { stateDir } = publishing
  const allowed = new Set<HiddenRowId>()
  for await (const { drops, content } of readHiddenAmong(publishing, rows, { run }))
    for (const drop of drops) allowed.add(toHiddenRowId(drop, content))
  // Delete the file, which may be from an earlier run with the same ID.
  if (allowed.size === 0) return await rm(allowedPath(stateDir, run), { force: true })
  await makePrivateDirectory(provenanceFolder(stateDir))
  await writeDurably(allowedPath(stateDir, run), async (file) => {
    await file.writeFile([...allowed].join('\n'))
  })
}

/**
 * Returns the effect of a run's removal on hidden rows. `ends`: rows are no longer hidden, because only this run hides
 * them. `begins`: rows become hidden again, because they are public only in this run, and another run or commitment
 * hides them. Null: no effect.
 *
 * @param removed the runs that are removed together
 */
export async function removalEffect(run: Run, removed: readonly Run[]): Promise<'ends' | 'begins' | null> {
  if (readStoredCommitment(run) === null) return null
  const { stateDir, origin, blockchain } = run
  const drops = (await unrevealedDrops(stateDir)).filter(
    (drop) => drop.origin === origin && drop.blockchain === blockchain,
  )
  const removedIds = new Set(removed.map(({ id }) => id))
  const ownDrop = drops.find(({ id }) => id === run.id)
  const runs = drops.filter(({ id }) => id !== null && !removedIds.has(id))
  const dropsWithoutRun = drops.filter(({ id }) => id === null)
  const before = await readContentsHiddenBy(stateDir, drops)
  const after = await readContentsHiddenBy(stateDir, [...runs, ...dropsWithoutRun])
  const contents = ownDrop === undefined ? [] : await readContents(stateDir, ownDrop)
  if (contents.some((content) => before.has(content) && !after.has(content))) return 'ends'
  return contents.some((content) => ownDrop?.shown.has(content) && after.has(content)) ? 'begins' : null
}

/**
 * Returns whether rows are hidden only because a command committed a collection to them. If so, the rows are no longer
 * protected when the command's record is removed.
 */
export async function isHiddenByCommand(stateDir: string, name: string): Promise<boolean> {
  const commitments = await withState(stateDir, (state) => state.read(sentCommitments))
  const ownCommitment = commitments.find(({ run }) => run === name)
  if (ownCommitment === undefined) return false
  const isOther = ({ run, provenance }: (typeof commitments)[number]) =>
    run !== name && provenance === ownCommitment.provenance
  if (commitments.some(isOther) || (await findRunsOfDrop(stateDir, ownCommitment)).length > 0) return false
  return (await readContents(stateDir, ownCommitment)).length > 0
}

/**
 * Deletes the commitment of a removed run in its collection, unless another run there has the same commitment. Also
 * deletes the hashes of the rows, unless another run or the commitment of another collection hides them.
 */
export async function forgetHiddenRows(run: Run): Promise<void> {
  const { stateDir, reading, id } = run
  await rm(allowedPath(stateDir, id), { force: true })
  const commitment = readStoredCommitment({ reading })
  if (commitment === null) return
  const runs = await findRunsOfDrop(stateDir, commitment)
  const commitments = await withState(stateDir, (state) => state.read(sentCommitments))
  const equalCommitments = commitments.filter(({ provenance }) => provenance === commitment.provenance)
  const sameCollection = equalCommitments.filter((candidate) => isInCollection(run, candidate))
  if (!sameCollection.some((candidate) => runs.some((other) => isInCollection(other, candidate))))
    for (const { runId } of sameCollection) await removeCommand(stateDir, runId)
  if (runs.length > 0 || equalCommitments.length > sameCollection.length) return
  await rm(contentsPath(stateDir, commitment.provenance), { force: true })
}

/** Compares the server and blockchain too, because collections on different ones can have the same address. */
const isInCollection = (run: Run, { origin, blockchain, contract }: CollectionLocation): boolean =>
  run.origin === origin && run.blockchain === blockchain && isSameAddress(run.contractAddress, contract)

type CollectionLocation = Pick<UnrevealedDrop, 'origin' | 'blockchain' | 'contract'>

/** Returns the runs that have this commitment. */
const findRunsOfDrop = async (stateDir: string, { provenance }: Pick<UnrevealedDrop, 'provenance'>): Promise<Run[]> =>
  (await listRuns(stateDir)).filter((run) => readStoredCommitment(run)?.provenance === provenance)
