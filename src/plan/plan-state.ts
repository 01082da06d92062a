import type { RowPairs } from '../batch/identity/check-rows.ts'
import type { StoredPair } from '../batch/identity/store-pairs.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import type { Abilities } from './compare.ts'
import { LabelConflicts } from './find-labels.ts'
import type { NftSource } from './find-nfts.ts'
import { NftsWithoutRow } from './nfts-without-row.ts'
import { OtherDrop } from './other-drop.ts'
import type { PlanDeps, PlanOptions } from './planned.ts'
import { RowComparer } from './row-comparer.ts'
import type { SavedChanges } from './saved-changes.ts'
import { SeenNfts } from './seen-nfts.ts'
import { newTally } from './tally.ts'
import { RemovedSentRows } from './vanished-rows.ts'

interface PlanInput {
  run: StoredRun
  options: PlanOptions
  deps: PlanDeps
  saved: SavedChanges
  pairs: RowPairs
  notes: string[]
}

/** The input of a plan, and the findings that its phases share. */
export type PlanState = ReturnType<typeof newPlanState>

/** Returns a plan before its first phase. The client must already know what the server supports. */
export function newPlanState(input: PlanInput) {
  const { run, options, deps, pairs } = input
  const { contractAddress, blockchain, signal, backend, origin, takeOver = false, label = null } = options
  const { client } = deps
  const hasReferences = client.supports('references') === true
  const hasUpdates = client.supports('updates') === true
  const source: NftSource = { client, contractAddress, blockchain, signal, hasReferences, hasUpdates }
  const { marker } = run.drop
  // `noTransfersReason` is read when a row requires a transfer.
  const abilities: Abilities = {
    updates: hasUpdates,
    noTransfersReason: null,
    takeOver,
    sendersOwn: !hasReferences,
    marker,
  }
  /** Rows that got an ID after they were minted, with the pairs to store. */
  const paired: StoredPair[] = pairs.pairsWithAddedId.map((pair) => ({ ...pair, key: pair.row.key }))
  return {
    ...input,
    source,
    /** See `ownerHistories`. */
    scope: JSON.stringify(['plan', backend?.id ?? origin, blockchain, contractAddress.toLowerCase()]),
    abilities,
    paired,
    /** The NFTs of rows that were minted under another key, by row position. */
    pairedNfts: new Map(pairs.allPairs.map(({ row, nftGdnId }) => [row.position, nftGdnId])),
    labels: new LabelConflicts(run, label),
    comparer: new RowComparer(run, options, deps.contents),
    vanished: new RemovedSentRows(),
    seen: new SeenNfts(run),
    otherDrop: new OtherDrop(label),
    withoutRow: new NftsWithoutRow(run, source, options),
    tally: newTally(),
  }
}
