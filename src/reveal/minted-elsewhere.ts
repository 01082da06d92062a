import { readFile, rm } from 'node:fs/promises'
import { sameAddress } from '../api/same-address.ts'
import { isRevealedHere, listRuns, type Run } from '../batch/runs/runs.ts'
import type { BatchOptions } from '../batch/types.ts'
import type { ManifestItem } from '../manifest/read.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { openStateIfThere } from '../state/open-state.ts'
import { sentCommitments } from '../state/operations.ts'
import { contentHashes } from './read-commitment.ts'
import { commitmentOf, contentsPath } from './unrevealed.ts'

/** An unrevealed drop that this machine doesn't know to be revealed. */
interface HiddenDrop extends Pick<Run, 'origin' | 'blockchain'> {
  contract: string
  provenance: string
  /** Whether its run has begun. Otherwise, the collection is only committed to its rows. */
  isMinted: boolean
}

/** Rows that an unrevealed drop in another collection hides. */
export interface HiddenRows extends Pick<HiddenDrop, 'contract' | 'isMinted'> {
  count: number
}

/**
 * Returns which rows this machine minted unrevealed, or committed to, in another collection of the same server and
 * blockchain, and doesn't know to be revealed; null if there are none. Reads the rows only if there is such a drop.
 */
export async function hiddenElsewhere(
  { stateDir, origin, blockchain, contractAddress }: BatchOptions,
  rows: () => AsyncIterable<{ row: ManifestRow } | ManifestItem>,
): Promise<HiddenRows | null> {
  const drops = (await hiddenDrops(stateDir)).filter(
    (drop) => drop.origin === origin && drop.blockchain === blockchain && !sameAddress(drop.contract, contractAddress),
  )
  const dropOf = new Map<string, HiddenDrop>()
  for (const drop of drops) for (const hash of await contentsOf(stateDir, drop)) dropOf.set(hash, drop)
  if (dropOf.size === 0) return null
  const { contentOf } = contentHashes()
  let hidden: HiddenRows | null = null
  for await (const item of rows()) {
    if ('issue' in item) continue
    // A file that can't be read fails when it is uploaded.
    const content = await contentOf(item.row).catch(() => null)
    const drop = content === null ? undefined : dropOf.get(content.toString('base64'))
    if (drop === undefined) continue
    const { contract, isMinted } = drop
    hidden ??= { contract, isMinted, count: 0 }
    if (contract === hidden.contract) hidden.count++
  }
  return hidden
}

async function hiddenDrops(stateDir: string): Promise<HiddenDrop[]> {
  const begun: HiddenDrop[] = []
  const hidden: HiddenDrop[] = []
  for (const run of await listRuns(stateDir)) {
    const { origin, blockchain, contractAddress: contract } = run
    const provenance = commitmentOf(run)?.provenance
    if (provenance === undefined) continue
    const drop = { origin, blockchain, contract, provenance, isMinted: true }
    begun.push(drop)
    if (!(await isRevealedHere(run))) hidden.push(drop)
  }
  const state = await openStateIfThere(stateDir)
  if (state === null) return hidden
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
  return hidden
}

const HASH_BYTES = 32

/** Returns the content hashes of a drop's rows in Base64; none if the machine doesn't have them. */
async function contentsOf(stateDir: string, { provenance }: HiddenDrop): Promise<string[]> {
  const contents = await readFile(contentsPath(stateDir, provenance)).catch(() => Buffer.alloc(0))
  return Array.from({ length: contents.length / HASH_BYTES }, (_, at) =>
    contents.toString('base64', at * HASH_BYTES, (at + 1) * HASH_BYTES),
  )
}

/** Forgets the rows of a removed run, unless another run has the same ones. */
export async function forgetHidden({ stateDir, reading }: Run): Promise<void> {
  const provenance = commitmentOf({ reading })?.provenance
  if (provenance === undefined) return
  const others = await listRuns(stateDir)
  if (others.some((other) => commitmentOf(other)?.provenance === provenance)) return
  await rm(contentsPath(stateDir, provenance), { force: true })
}
