import { computeSeal } from '../../api/provenance-seal.ts'
import type { ShuffleRule } from '../../api/shuffle-rule.ts'
import { storeRunMaxCost } from '../../batch/runs/runs.ts'
import type { BatchOptions } from '../../batch/types.ts'
import { isDropNotFinalError } from '../../client/responses.ts'
import type { RunLimit } from '../../client/run-limit.ts'
import { count } from '../../core/count.ts'
import { GdnError } from '../../core/errors.ts'
import { shellWord } from '../../core/shell-word.ts'
import { computeIpfsUrl } from '../../files/local-content.ts'
import { type RevealPlan, withRevealPlan } from '../../reveal/plan-reveal.ts'
import type { ReadCommitment } from '../../reveal/read-commitment.ts'
import type { BeaconSource } from '../../reveal/shuffle/read-beacon.ts'
import { findCommittedRun } from '../../reveal/unrevealed.ts'
import type { OpenedManifest } from '../batch/mint-manifest.ts'
import type { BatchMintFlags } from '../batch/options/flags.ts'
import { formatPlanFlags, formatServerFlags } from '../batch/options/format-flags.ts'
import { backUpText } from '../batch/reveal/next-reveal.ts'
import { formatShuffleFlags } from '../batch/reveal/shuffled.ts'
import { runCommands } from '../batch/runs/run-commands.ts'
import { confirmChanges } from '../cost/confirm-spending.ts'
import { readEnforcedLimit } from '../cost/limit.ts'
import { estimateMaxChangeUse, refuseAboveLimit, reservedForChanges, sumUses } from '../cost/run-limit.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { withProgress } from '../io/progress.ts'
import { limitChanges, permitChanges } from '../plan/change-nfts.ts'
import { changeOnce } from '../request/change-once.ts'
import { checkAbandonedRows } from './draw.ts'

/** A shuffled drop to reveal. */
export interface RevealInput {
  opened: OpenedManifest
  rows: ReadCommitment
  flags: BatchMintFlags & { abandonRows?: number }
  /** Throws if the command's effect would differ from the plan that the user was shown. */
  checkPlan(plan: RevealPlan): void
}

/** Returns a space and a sentence about draws without a relay; an empty string if gdn refuses such draws. */
export const rehearsalText = (mayRehearse: boolean): string =>
  mayRehearse ? ' To rehearse the draw on this network without drand, add --beacon <file>.' : ''

/** A drop to seal, and the rule that draws its rows. */
export interface SealInput extends RevealInput {
  rule: ShuffleRule
  /** The beacon that draws the rows. */
  beacon: BeaconSource
  /** A warning about the beacon. */
  warning: string | null
}

const POLL_MS = 2_000

export const remainingTimeText = (ms: number): string => {
  const seconds = Math.ceil(ms / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
}

/** Returns a sentence about the delay between the seal and the draw. */
export const waitAfterSeal = ({ marginSeconds }: ShuffleRule, { isEarly }: Pick<BeaconSource, 'isEarly'>): string =>
  isEarly
    ? 'The beacon in the file signs the round immediately, so gdn does not wait for it.'
    : `The rows are drawn at least ${remainingTimeText(marginSeconds * 1000)} later, and gdn waits for the draw.`

/**
 * Seals a shuffled drop: commits to the end of its mint, after which none of its rows can be minted. Returns false if
 * no NFT can be revealed, because there is nothing to seal.
 *
 * @throws GdnError `pending` if rows aren't deployed yet; `refused` if unminted rows aren't abandoned; `not_confirmed`,
 * `max_cost`, and the errors of `changeOnce`
 */
export async function sealDrop(deps: Deps, connection: Connection, revealing: SealInput): Promise<boolean> {
  const { opened, rows, flags } = revealing
  const { options, read } = opened
  const planned = { ...options, signal: deps.signals.signal }
  const finding = { client: connection.client, readManifest: read, rows }
  return await withRevealPlan(planned, finding, async (plan) => {
    refuseUndeployed(plan)
    if (plan.pending === 0) return false
    await confirmAbandoned(deps, plan, flags, await howToMint(options, revealing.rule, flags))
    revealing.checkPlan(plan)
    const limit = await permitSeal(deps, connection, revealing, plan)
    return await withProgress(deps.io, 'Sealing the drop', async (progress) => {
      for (;;) {
        try {
          await commitSeal(deps, connection, revealing, limit)
          return true
        } catch (error) {
          if (!isDropNotFinalError(error)) throw error
          progress.update('Waiting until all NFTs of the drop are final')
          await deps.sleep(POLL_MS, deps.signals.signal)
        }
      }
    })
  })
}

function refuseUndeployed({ undeployed }: RevealPlan): void {
  if (undeployed === 0) return
  const message = `${count(undeployed, 'NFT')} of the drop ${undeployed === 1 ? 'is' : 'are'} not deployed yet`
  throw new GdnError('pending', message, { hint: 'Nothing was sent. Run the same command again later.' })
}

/**
 * Returns the command that mints the rows without an NFT. If these rows have failed, this is `batch retry`, because
 * `batch mint` would send nothing.
 */
async function howToMint(options: BatchOptions, rule: ShuffleRule, flags: BatchMintFlags): Promise<string> {
  const keptRun = await findCommittedRun(options)
  if (keptRun !== undefined && keptRun.counts.failed > 0 && keptRun.counts.pending === 0)
    return `${runCommands(keptRun.run, undefined)('retry')}${formatServerFlags(flags)}`
  const manifest = shellWord(safe(options.manifestPath ?? '<manifest>'))
  return `gdn batch mint ${manifest}${formatPlanFlags(flags)} --unrevealed <file> ${formatShuffleFlags(rule)}`
}

/** @throws GdnError `refused` unless exactly the rows without an NFT are abandoned; `not_confirmed` */
export async function confirmAbandoned(
  { io }: Pick<Deps, 'io'>,
  plan: RevealPlan,
  { abandonRows, yes }: RevealInput['flags'],
  toMint: string,
): Promise<void> {
  const missing = plan.notMinted - plan.undeployed
  const are = missing === 1 ? 'is' : 'are'
  checkAbandonedRows(plan, abandonRows)
  if (missing === 0 || abandonRows === missing) return
  const notMintedText = `${count(missing, 'row')} ${are} not minted`
  if (!io.isInteractive || yes === true) {
    throw new GdnError(
      'refused',
      `${notMintedText}, and the reveal would abandon ${missing === 1 ? 'it' : 'them'} permanently`,
      {
        hint: `Nothing was sent. To mint the rows, first run \`${toMint}\`. To abandon them, add --abandon-rows ${missing}.`,
      },
    )
  }
  const [pronoun, rows] = missing === 1 ? ['it', 'which row'] : ['them', `which ${missing} rows`]
  await io.confirm(
    `${missing} of ${count(plan.rows, 'slot')} ${are} not minted. The draw decides ${rows} will have no NFT. To mint ${pronoun} instead, answer no, and run ${toMint}. Abandon ${pronoun} permanently?`,
    `--abandon-rows ${missing}`,
  )
}

/**
 * Requests permission for the cost of the seal and of the updates after it. Returns the limit to set in the seal's
 * request.
 */
async function permitSeal(
  deps: Deps,
  connection: Connection,
  { opened: { options, settings }, flags, rule, beacon, warning }: SealInput,
  { run, pending }: RevealPlan,
): Promise<RunLimit> {
  const { blockchain } = options
  const commandLimit = await readEnforcedLimit(deps, connection, { flags, settings, blockchain })
  const worstUse = async () =>
    sumUses([await estimateMaxChangeUse('provenance', 1), await estimateMaxChangeUse('update', pending)])
  const stored = { run: run.id, storedLimit: run.maxCost }
  const reservedUse = async () => reservedForChanges(await worstUse())
  await refuseAboveLimit(deps, connection, { blockchain, commandLimit, ...stored, reserved: reservedUse })
  const limit = await permitChanges(deps, connection, blockchain, { run, count: 1, commandLimit })
  const priced = { limit: commandLimit, ...stored, maxUse: worstUse }
  if (warning !== null) deps.io.warn(safe(warning))
  await confirmChanges(deps, connection, blockchain, {
    yes: flags.yes,
    action: `Seal the drop with ${count(pending, 'NFT')}`,
    priced,
    note: `A seal is permanent: no more rows of the drop can be minted, and a later round of ${beacon.isNamed ? 'the beacon that you specified' : 'drand'} draws the rows. ${waitAfterSeal(rule, beacon)}`,
  })
  if (commandLimit !== null && run.isKnown) await storeRunMaxCost(options.stateDir, run.id, commandLimit)
  return await limitChanges(deps, connection, options, { limit, commandLimit })
}

async function commitSeal(
  deps: Deps,
  connection: Connection,
  { opened: { options }, rows: { commitment }, flags: { timeout } }: RevealInput,
  limit: RunLimit,
): Promise<void> {
  const { blockchain, contractAddress: contract_address } = options
  const { provenance: seal_of, leaves } = commitment
  const provenance = computeSeal(seal_of)
  const request = { contract_address, provenance, seal_of, leaves_url: await computeIpfsUrl(leaves) }
  const reference = `seal:${seal_of}`
  const change = {
    endpoint: 'commitprovenance' as const,
    note: 'reveal',
    what: 'the seal of the drop',
    blockchain,
    contract: contract_address,
    content: { ...request, reference },
    limit,
    request: async () => request,
    reference,
  }
  await changeOnce(deps, connection, { timeout }, change, async () => {})
  deps.io.note(`The drop is sealed: ${provenance}`)
  deps.io.note(backUpText(options.manifestPath))
}
