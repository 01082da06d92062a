import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sameAddress } from '../api/same-address.ts'
import { arePublic, isRevealedHere, listRuns, type Run } from '../batch/runs/runs.ts'
import type { BatchOptions } from '../batch/types.ts'
import { writeDurably } from '../core/durable-file.ts'
import { makePrivateFolder } from '../core/private-file.ts'
import type { ManifestItem } from '../manifest/read.ts'
import { openStateIfThere, withState } from '../state/open-state.ts'
import { sentCommitments } from '../state/operations.ts'
import { provenanceFolder } from './provenance-folder.ts'
import { type Content, contentHashes } from './read-commitment.ts'
import { commitmentOf, contentsPath } from './unrevealed.ts'

/** An unrevealed drop on this machine. */
interface UnrevealedDrop extends Pick<Run, 'origin' | 'blockchain'> {
  contract: string
  provenance: string
  /** Whether its run has begun. Otherwise, the collection is only committed to its rows. */
  isMinted: boolean
}

/** Rows that an unrevealed drop in another collection hides. */
export interface HiddenRows extends Pick<UnrevealedDrop, 'contract' | 'isMinted'> {
  count: number
}

/** The collection in which rows would be published. */
export type Publishing = Pick<BatchOptions, 'stateDir' | 'origin' | 'blockchain' | 'contractAddress'>

type Rows = () => AsyncIterable<{ row: Content } | ManifestItem>

/** A hidden row of a drop, as text. */
type HiddenRow = string

const hiddenRow = ({ provenance, contract }: UnrevealedDrop, content: string): HiddenRow =>
  `${provenance} ${contract.toLowerCase()} ${content}`

/**
 * Returns which rows this machine minted unrevealed, or committed to, in another collection of the same server and
 * blockchain, and doesn't know to be public; null if there are none. Reads the rows only if there is such a drop.
 *
 * @param run the run with `--again` that publishes the rows. Omits the rows that it was allowed to publish
 */
export async function hiddenElsewhere(publishing: Publishing, rows: Rows, run?: string): Promise<HiddenRows | null> {
  const allowed = run === undefined ? new Set<HiddenRow>() : await allowedRows(publishing.stateDir, run)
  let hidden: HiddenRows | null = null
  for await (const { drops, content } of hiddenAmong(publishing, rows)) {
    const drop = drops.find((one) => !allowed.has(hiddenRow(one, content)))
    if (drop === undefined) continue
    const { contract, isMinted } = drop
    hidden ??= { contract, isMinted, count: 0 }
    if (contract === hidden.contract) hidden.count++
  }
  return hidden
}

/** Yields the rows that are hidden in other collections, by content, with the drops that hide them. */
async function* hiddenAmong(
  publishing: Publishing,
  rows: Rows,
): AsyncGenerator<{ drops: UnrevealedDrop[]; content: string }> {
  const dropsOf = await hiddenContents(publishing)
  if (dropsOf.size === 0) return
  const { contentOf, unorderedOf } = contentHashes()
  for await (const item of rows()) {
    if ('issue' in item) continue
    // A file that can't be read fails when it is uploaded.
    const content = await unorderedOf(item.row).catch(() => null)
    if (content === null) continue
    // Earlier versions stored hashes that depend on the order of the attributes.
    const hashes = [content, await contentOf(item.row)].map((hash) => hash.toString('base64'))
    const drops = new Set(hashes.flatMap((hash) => dropsOf.get(hash) ?? []))
    if (drops.size > 0) yield { drops: [...drops], content: hashes[0] ?? '' }
  }
}

/** Returns the drops in other collections that hide each content. */
async function hiddenContents({
  stateDir,
  origin,
  blockchain,
  contractAddress,
}: Publishing): Promise<Map<string, UnrevealedDrop[]>> {
  const dropsOf = new Map<string, UnrevealedDrop[]>()
  const isThere = (drop: UnrevealedDrop) => drop.origin === origin && drop.blockchain === blockchain
  const { hidden, published } = await unrevealedDrops(stateDir)
  for (const drop of hidden) {
    if (!isThere(drop) || sameAddress(drop.contract, contractAddress)) continue
    for (const content of await contentsOf(stateDir, drop))
      dropsOf.set(content, [...(dropsOf.get(content) ?? []), drop])
  }
  if (dropsOf.size === 0) return dropsOf
  // What one collection shows is hidden in no other.
  for (const drop of published.filter(isThere))
    for (const content of await contentsOf(stateDir, drop)) dropsOf.delete(content)
  return dropsOf
}

/** Returns the unrevealed drops that this machine doesn't know to be revealed, and those whose rows are all public. */
async function unrevealedDrops(stateDir: string): Promise<Record<'hidden' | 'published', UnrevealedDrop[]>> {
  const begun: UnrevealedDrop[] = []
  const hidden: UnrevealedDrop[] = []
  const published: UnrevealedDrop[] = []
  for (const run of await listRuns(stateDir)) {
    const { origin, blockchain, contractAddress: contract } = run
    const provenance = commitmentOf(run)?.provenance
    if (provenance === undefined) continue
    const drop = { origin, blockchain, contract, provenance, isMinted: true }
    begun.push(drop)
    if (!(await isRevealedHere(run))) hidden.push(drop)
    else if (await arePublic(run)) published.push(drop)
  }
  const state = await openStateIfThere(stateDir)
  if (state === null) return { hidden, published }
  try {
    // A command that was interrupted after the commitment has no run.
    for (const sent of await state.read(sentCommitments)) {
      const isBegun = begun.some(
        ({ provenance, contract }) => provenance === sent.provenance && sameAddress(contract, sent.contract),
      )
      if (!isBegun) hidden.push({ ...sent, isMinted: false })
    }
  } finally {
    state.close()
  }
  return { hidden, published }
}

const HASH_BYTES = 32

/** Returns the content hashes of a drop's rows in Base64; none if the machine doesn't have them. */
async function contentsOf(stateDir: string, { provenance }: Pick<UnrevealedDrop, 'provenance'>): Promise<string[]> {
  const contents = await readFile(contentsPath(stateDir, provenance)).catch(() => Buffer.alloc(0))
  return Array.from({ length: contents.length / HASH_BYTES }, (_, at) =>
    contents.toString('base64', at * HASH_BYTES, (at + 1) * HASH_BYTES),
  )
}

/** Returns the path of the rows that a run with `--again` was allowed to publish while they were hidden. */
const allowedPath = (stateDir: string, run: string): string => join(provenanceFolder(stateDir), `${run}.allowed`)

/** Returns the hidden rows that a run was allowed to publish. */
async function allowedRows(stateDir: string, run: string): Promise<ReadonlySet<HiddenRow>> {
  const text = await readFile(allowedPath(stateDir, run), 'utf8').catch(() => '')
  return new Set(text.split('\n'))
}

/**
 * Stores that a run may publish the rows that are hidden now. Rows that it gets later, and rows that are hidden later,
 * are not included.
 */
export async function allowHidden(publishing: Publishing, rows: Rows, run: string): Promise<void> {
  const { stateDir } = publishing
  const allowed = new Set<HiddenRow>()
  for await (const { drops, content } of hiddenAmong(publishing, rows))
    for (const drop of drops) allowed.add(hiddenRow(drop, content))
  // Another run may have had the same ID.
  if (allowed.size === 0) return await rm(allowedPath(stateDir, run), { force: true })
  await makePrivateFolder(provenanceFolder(stateDir))
  await writeDurably(allowedPath(stateDir, run), async (file) => {
    await file.writeFile([...allowed].join('\n'))
  })
}

/**
 * Returns whether rows are hidden only because of a run, so that its removal ends their protection.
 *
 * @param removed the runs that are removed together
 */
export async function aloneHides(run: Run, removed: readonly Run[]): Promise<boolean> {
  const commitment = commitmentOf(run)
  if (commitment === null || (await isRevealedHere(run))) return false
  const gone = new Set(removed.map(({ id }) => id))
  if ((await runsOf(run.stateDir, commitment)).some(({ id }) => !gone.has(id))) return false
  return (await contentsOf(run.stateDir, commitment)).length > 0
}

/**
 * Returns whether rows are hidden only because a command committed a collection to them, so that the removal of its
 * record ends their protection.
 */
export async function commandHides(stateDir: string, command: string): Promise<boolean> {
  const sent = await withState(stateDir, (state) => state.read(sentCommitments))
  const own = sent.find(({ run }) => run === command)
  if (own === undefined) return false
  const isOther = ({ run, provenance }: (typeof sent)[number]) => run !== command && provenance === own.provenance
  if (sent.some(isOther) || (await runsOf(stateDir, own)).length > 0) return false
  return (await contentsOf(stateDir, own)).length > 0
}

/** Forgets the rows of a removed run, unless another run has the same ones. */
export async function forgetHidden({ stateDir, reading, id }: Run): Promise<void> {
  await rm(allowedPath(stateDir, id), { force: true })
  const commitment = commitmentOf({ reading })
  if (commitment === null || (await runsOf(stateDir, commitment)).length > 0) return
  await rm(contentsPath(stateDir, commitment.provenance), { force: true })
}

/** Returns the runs with a commitment. */
const runsOf = async (stateDir: string, { provenance }: Pick<UnrevealedDrop, 'provenance'>): Promise<Run[]> =>
  (await listRuns(stateDir)).filter((run) => commitmentOf(run)?.provenance === provenance)
