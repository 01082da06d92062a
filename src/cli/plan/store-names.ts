import { relabelOnServer } from '../../batch/identity/other-labels.ts'
import { storeAliases, storePairs } from '../../batch/identity/store-pairs.ts'
import { storeManifestMove } from '../../batch/runs/moved-run.ts'
import type { BatchOptions } from '../../batch/types.ts'
import type { ChangePlan } from '../../plan/planned.ts'
import type { RevealPlan } from '../../reveal/plan-reveal.ts'
import type { Connection, Deps } from '../deps.ts'
import type { Io } from '../io/io.ts'
import { pendingPairs } from './plan-view.ts'

type StoredNames = Pick<ChangePlan | RevealPlan, 'relabeled' | 'movedFrom' | 'paired'>

/**
 * Replaces the labels of adopted NFTs, and updates the manifest path of the run after a move. Stores the pairing of
 * NFTs with rows that were given an ID. Must be called before anything else is sent.
 *
 * @throws GdnError `refused` if another machine has stored a different label or pair in the meantime
 */
export async function storeNames(
  { signals: { signal } }: Deps,
  { client }: Connection,
  opened: BatchOptions,
  { relabeled, movedFrom, paired }: StoredNames,
): Promise<void> {
  const options = { ...opened, signal }
  const { label } = options
  if (relabeled.count > 0 && label != null) {
    for await (const page of relabeled.pages()) await relabelOnServer(client, options, page, label)
  }
  if (movedFrom !== null) await storeManifestMove(options)
  // Update the server first. If another machine stores different pairs at the same time, the server decides which are
  // valid.
  await storeAliases(client, options, paired)
  await storePairs(options, paired)
}

/**
 * Asks for confirmation of the changes that `storeNames` makes. Must be called only if the plan has nothing else to
 * confirm.
 *
 * @throws GdnError `not_confirmed`
 */
export async function confirmNames(io: Pick<Io, 'confirm'>, plan: StoredNames): Promise<void> {
  const ids = pendingPairs(plan)
  const labels = plan.relabeled.count
  const names = [
    ...(ids === 0 ? [] : [idsText(ids)]),
    ...(labels === 0 ? [] : [labels === 1 ? 'the label of 1 NFT' : `the label of ${labels} NFTs`]),
    ...(plan.movedFrom === null ? [] : ['the path of the manifest']),
  ]
  if (names.length > 0) await io.confirm(`Store ${names.join(' and ')}?`, '--yes')
}

export const idsText = (count: number): string => `the ${count === 1 ? 'ID of 1 row' : `IDs of ${count} rows`}`
