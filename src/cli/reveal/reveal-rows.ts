import { openRun, storeRunMaxCost } from '../../batch/runs/runs.ts'
import type { RunLimit } from '../../client/run-limit.ts'
import { count } from '../../core/count.ts'
import { GdnError } from '../../core/errors.ts'
import { DEFAULT_WAIT_MS } from '../../operations/defaults.ts'
import { applyUpdates, type Update } from '../../plan/apply-updates.ts'
import { noOutcomes, type Outcomes } from '../../plan/make-changes.ts'
import { recordNfts } from '../../plan/record-changes.ts'
import type { RevealPlan } from '../../reveal/plan-reveal.ts'
import { toDraw } from '../../reveal/shuffle/drawn-rows.ts'
import type { OpenedManifest } from '../batch/mint-manifest.ts'
import type { BatchMintFlags } from '../batch/options/flags.ts'
import { warnOfRevealedHiddenRows } from '../batch/reveal/minted-unrevealed.ts'
import type { BeaconFlags } from '../connect/open-beacon.ts'
import type { ReaderFlags } from '../connect/open-verifier.ts'
import { describeRunShortage } from '../cost/at-most.ts'
import { ACCEPTED_CONTINUE_NOTE, confirmChanges, confirmRaise } from '../cost/confirm-spending.ts'
import { readEnforcedLimit } from '../cost/limit.ts'
import { startRunMeter, UNKNOWN_RUN_COSTS } from '../cost/paid.ts'
import { estimateMaxChangeUse, refuseAboveLimit, reservedForChanges } from '../cost/run-limit.ts'
import type { Connection, Deps } from '../deps.ts'
import type { RefreshingFlags } from '../flags/opensea.ts'
import { safe } from '../io/io.ts'
import { describeChangesSpending, heldText, limitChanges, permitChanges } from '../plan/change-nfts.ts'
import { confirmNames, storeNames } from '../plan/store-names.ts'
import type { DataRecord } from '../render/output.ts'
import type { Draw } from './draw.ts'
import type { RevealInput } from './seal-drop.ts'

export type RevealFlags = BatchMintFlags & ReaderFlags & RefreshingFlags & BeaconFlags & { abandonRows?: number }

/** State that the steps of the command share. */
export interface RevealContext {
  deps: Deps
  connection: Connection
  opened: OpenedManifest
  flags: RevealFlags
}

/** A committed drop whose rows are drawn, if they are shuffled and can be drawn. */
export interface CommittedDrop extends RevealContext, Omit<RevealInput, 'flags'> {
  draw: Draw
}

/** Returns whether the rows of a shuffled drop aren't drawn yet, so that only its slots are known. */
export const hasUndrawnRows = ({ rows, draw }: CommittedDrop): boolean =>
  rows.commitment.rule !== null && draw.drawn === null

export interface RevealResult {
  outcomes: Outcomes
  /** An error that occurred after the first update. */
  error: GdnError | null
  /** The NFTs that were updated. */
  nftGdnIds: string[]
  /** The record of the cost. */
  paid: DataRecord
}

/** Updates the NFTs of the plan and records them. In a dry run, only checks the plan and reports its cost. */
export async function revealRows(drop: CommittedDrop, plan: RevealPlan): Promise<RevealResult> {
  const { deps, connection, opened, rows, flags } = drop
  // A given limit is set even if nothing is left to reveal.
  const hasEffect = plan.pending > 0 || (flags.maxCost !== undefined && noMintedRowsError(plan) === null)
  const sends = hasEffect && flags.dryRun !== true
  // The draw found no minted rows, but rows may have been minted since then.
  if (sends && hasUndrawnRows(drop)) throw notDrawnError()
  if (sends || flags.dryRun) drop.checkPlan(plan)
  if (plan.pending > 0) await warnOfHiddenRows(deps, opened, rows.commitment.provenance)
  const commandLimit = hasEffect ? await resolveLimit(drop, plan) : null
  let result: RevealResult = { outcomes: noOutcomes(), error: null, nftGdnIds: [], paid: UNKNOWN_RUN_COSTS }
  if (flags.dryRun) return result
  if (sends) result = await sendPlan(drop, plan, commandLimit)
  else {
    if (flags.yes !== true) await confirmNames(deps.io, plan)
    await storeNames(deps, connection, opened.options, plan)
  }
  if (!deps.signals.signal.aborted) await recordReveal(drop, plan)
  return result
}

const notDrawnError = () =>
  new GdnError('pending', 'the rows of the drop are not drawn yet', {
    hint: 'No NFT was updated. Run the same command again.',
  })

/**
 * Returns an error if no row of the manifest has an NFT; null otherwise. After an interrupted mint, some rows have
 * NFTs, and the other rows can be minted and revealed later.
 */
export function noMintedRowsError({ rows, withoutNft, run, renamed }: RevealPlan): GdnError | null {
  if (withoutNft < rows) return null
  return new GdnError('not_found', `no NFT of the run ${run.name} is minted`, {
    hint:
      renamed.length > 0
        ? safe(['Nothing was sent', ...renamed, ''].join('. ').trim())
        : 'Nothing was sent. To mint the rows, run `gdn batch mint` again, or `gdn batch retry` if they failed. If the file was renamed since the mint, add --run with its former file name, such as --run drop.csv. If IDs of rows were changed, restore them.',
  })
}

/** Warns if another drop hides the same rows, which the reveal publishes. */
async function warnOfHiddenRows({ io }: Deps, opened: OpenedManifest, provenance: string): Promise<void> {
  const warning = await warnOfRevealedHiddenRows(opened, provenance)
  if (warning !== null) io.warn(safe(warning))
}

/**
 * Returns the limit from the flags, in wei, and reports the cost in a dry run.
 *
 * @throws GdnError `max_cost`
 */
async function resolveLimit(
  { deps, connection, opened, flags }: CommittedDrop,
  { run, pending, accepted }: RevealPlan,
): Promise<bigint | null> {
  const {
    options: { blockchain },
    settings,
  } = opened
  const commandLimit = await readEnforcedLimit(deps, connection, { flags, settings, blockchain })
  const reserved = async () => reservedForChanges(await estimateMaxChangeUse('update', pending - accepted))
  await refuseAboveLimit(deps, connection, {
    blockchain,
    run: run.id,
    commandLimit,
    storedLimit: run.maxCost,
    reserved,
  })
  if (flags.dryRun && pending > 0) {
    await deps.quote?.(describeChangesSpending(connection, blockchain, { run, count: pending, commandLimit }), null)
  }
  return commandLimit
}

/** Asks for confirmation, sets the limit of the run and sends the updates. */
async function sendPlan(drop: CommittedDrop, plan: RevealPlan, commandLimit: bigint | null): Promise<RevealResult> {
  const { deps, connection, opened } = drop
  const { options } = opened
  const changes = { run: plan.run, count: plan.pending, commandLimit }
  const limit = await permitChanges(deps, connection, options.blockchain, changes)
  await confirmReveal(drop, plan, commandLimit)
  if (commandLimit !== null && plan.run.isKnown) await storeRunMaxCost(options.stateDir, plan.run.id, commandLimit)
  const carried = await limitChanges(deps, connection, options, { limit, commandLimit })
  await storeNames(deps, connection, options, plan)
  const paidSince = await startRunMeter(deps, connection, plan.run.id)
  const sent = await sendUpdates(drop, plan, carried)
  return { ...sent, paid: await paidSince() }
}

/** @throws GdnError `not_confirmed` */
async function confirmReveal(drop: CommittedDrop, plan: RevealPlan, commandLimit: bigint | null): Promise<void> {
  const { deps, connection, opened, flags } = drop
  const { blockchain } = opened.options
  const { pending, accepted, run } = plan
  if (pending === 0) {
    const raised = { run: run.id, maxCost: commandLimit, effect: ACCEPTED_CONTINUE_NOTE }
    return await confirmRaise(deps, flags.yes, blockchain, connection, raised)
  }
  const priced = {
    limit: commandLimit,
    storedLimit: run.maxCost,
    run: run.id,
    maxUse: () => estimateMaxChangeUse('update', pending - accepted),
  }
  await confirmChanges(deps, connection, blockchain, {
    yes: flags.yes,
    action: `Reveal ${count(pending, 'NFT')}`,
    priced,
    effect: 'Everyone will see their metadata.',
  })
}

/** Sends the updates. Returns an error that occurs after the first update, so that the results are still printed. */
async function sendUpdates(
  { deps, connection, opened: { options }, flags }: CommittedDrop,
  plan: RevealPlan,
  limit: RunLimit,
): Promise<Omit<RevealResult, 'paid'>> {
  const { io, now, sleep, signals } = deps
  const all = plan.pending
  const nftGdnIds: string[] = []
  let latest = noOutcomes()
  const progress = await io.progress(`Revealing: 0 of ${all}`)
  try {
    const outcomes = await applyUpdates(
      options.contractAddress,
      {
        client: connection.client,
        limit,
        now,
        sleep,
        signal: signals.signal,
        timeoutMs: flags.timeout ?? DEFAULT_WAIT_MS,
        shortage: ({ done, failed, unknown }) => {
          const changes = all - done - failed.count - unknown.count
          const unsent = async () => ({ rows: 0, changes, maxUse: await estimateMaxChangeUse('update', changes) })
          return describeRunShortage(deps, connection, { blockchain: options.blockchain, run: limit.run, unsent })
        },
        onProgress: (outcomes) => {
          latest = outcomes
          const { done, pending } = outcomes
          const accepted = pending === 0 ? '' : `, ${pending} accepted`
          progress.update(`Revealing: ${done} of ${all}${accepted}${heldText(outcomes)}`)
        },
      },
      collectIds(plan.updates(), nftGdnIds),
    )
    return { outcomes, error: null, nftGdnIds }
  } catch (error) {
    const { done, pending, failed, unknown } = latest
    if (!(error instanceof GdnError) || done + pending + failed.count + unknown.count === 0) throw error
    return { outcomes: latest, error, nftGdnIds }
  } finally {
    progress.stop()
  }
}

/** Yields updates, and adds the IDs of their NFTs to a list. */
async function* collectIds(updates: AsyncIterable<Update>, ids: string[]): AsyncGenerator<Update> {
  for await (const update of updates) {
    ids.push(update.nftGdnId)
    yield update
  }
}

/** Records the revealed NFTs, and the draw of a shuffled drop. */
async function recordReveal({ deps, connection, opened, draw }: CommittedDrop, plan: RevealPlan): Promise<void> {
  const { stateDir } = opened.options
  const { drawn, round, roundAt, isNamed } = draw
  try {
    if (drawn !== null && plan.run.isKnown) {
      const { recordDrop } = await import('../batch/reveal/record-drop.ts')
      const learned = { seal: { round, roundAt, isNamed }, draw: toDraw(drawn) }
      await recordDrop(deps, connection, await openRun(stateDir, plan.run.id), learned)
    }
    await recordNfts({ stateDir }, plan.run, plan.seen())
  } catch (error) {
    // The updates are complete. The next reveal records them.
    if (!(error instanceof GdnError)) throw error
    deps.io.debug(`can't record the revealed rows: ${error.message}`)
  }
}
