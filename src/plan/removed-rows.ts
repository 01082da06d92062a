import { addBurn } from '../state/plan-tables.ts'
import { readCandidates } from './find-nfts.ts'
import type { PlanState } from './plan-state.ts'
import { type BurnedRow, findBurns } from './prune.ts'

/**
 * Plans the burns of NFTs whose rows were removed, if `prune` is set. Otherwise, records which of these NFTs were
 * burned.
 */
export async function addRemovedRows(planning: PlanState): Promise<void> {
  const { run, source, options, vanished, seen, tally } = planning
  if (options.prune === true) await planBurns(planning)
  else for (const row of await vanished.takeBurned(run, source)) await seen.addBurned(row)
  tally.counts.vanished = vanished.unreplacedCount
}

async function planBurns(planning: PlanState): Promise<void> {
  const { run, source, scope, options, saved, seen, tally, notes, withoutRow } = planning
  const { counts } = tally
  const isSaved = options.isSaved === true
  let position = 0
  const burned: BurnedRow[] = []
  const noBurns = await options.whyNoBurns()
  const onBurned = (row: BurnedRow) => void burned.push(row)
  for await (const change of findBurns(run, source, { scope, noBurns, onBurned })) {
    counts[change.action]++
    if (change.action === 'drift') counts.keptBurns++
    if (change.action === 'impossible') counts.impossibleBurns++
    if (isSaved) await saved.compareBurn(change)
    await run.state.scratch((sql) => addBurn(sql, position++, change))
  }
  for (const row of burned) await seen.addBurned(row)
  if (!isSaved) {
    notes.push(...(await withoutRow.readPruneNotes()))
    return
  }
  await saved.compareRemainingBurns(async (changes) => {
    const records = [...(await readCandidates(source, changes)).values()]
    return new Set(records.filter(({ burned }) => burned === true).map(({ nft_gdn_id }) => nft_gdn_id))
  })
}
