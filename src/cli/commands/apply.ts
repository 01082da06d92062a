import { runBatch } from '../../batch/run.ts'
import { storeRunMaxCost } from '../../batch/runs/runs.ts'
import { selectExitCode } from '../../batch/runs/summary.ts'
import { storeRows } from '../../batch/store-rows.ts'
import type { PlannedEvent } from '../../batch/types.ts'
import type { RunLimit } from '../../client/run-limit.ts'
import { count } from '../../core/count.ts'
import { GdnError } from '../../core/errors.ts'
import { NOTHING_SENT_HINT, withNothingSent } from '../../core/nothing-sent.ts'
import { shellWord } from '../../core/shell-word.ts'
import type { ManifestIssue } from '../../manifest/row.ts'
import type { ChangePlan } from '../../plan/planned.ts'
import { recordMadeChanges, recordSeenNfts } from '../../plan/record-changes.ts'
import { addDuplicatesFlag, TARGET_ALIASES } from '../batch/options/flags.ts'
import { formatPlanFlags } from '../batch/options/format-flags.ts'
import { confirmOtherEdition, printWarningsBriefly, refuseDuplicates } from '../batch/report/row-warnings.ts'
import { refuseFailure, sendRun } from '../batch/send-run.ts'
import { GdnCommand } from '../command.ts'
import { ACCEPTED_CONTINUE_NOTE, confirmChanges, confirmRaise } from '../cost/confirm-spending.ts'
import { addPriceFlag } from '../cost/fees.ts'
import { addMaxCostFlag, readEnforcedLimit } from '../cost/limit.ts'
import { startRunMeter, UNKNOWN_RUN_COSTS, withRunPaid } from '../cost/paid.ts'
import { refuseAboveLimit } from '../cost/run-limit.ts'
import type { Connection, Deps } from '../deps.ts'
import { addOutputFlags, addServerFlags, addTimeoutFlag, integer, oneOf } from '../flags/common.ts'
import { addRefreshFlags, type RefreshingFlags } from '../flags/opensea.ts'
import { safe } from '../io/io.ts'
import {
  changeNfts,
  changesError,
  createChangeOutcomes,
  describeStoppedChanges,
  limitChanges,
  permitChanges,
  remainingChanges,
  toSummaryRecord,
} from '../plan/change-nfts.ts'
import { checkPlanMaxSupply } from '../plan/check-plan-max-supply.ts'
import { collectImpossibleChanges, formatHint, impossibleChangesText } from '../plan/impossible-changes.ts'
import { addPlanFlags, openPlan, type PlanFlags, refuseHiddenChanges } from '../plan/open-plan.ts'
import { changedPlanError, openPlanSource } from '../plan/open-source.ts'
import { estimateMaxPlanUse, estimatePlanReservation } from '../plan/plan-use.ts'
import {
  appliedText,
  countsText,
  formatOnlyMintCommand,
  mintedText,
  pendingCount,
  pendingPairs,
  planLines,
  printPlanNotes,
} from '../plan/plan-view.ts'
import { confirmNames, idsText, storeNames } from '../plan/store-names.ts'
import { createOutput, type DataRecord, type Output, type View } from '../render/output.ts'
import { withDraw } from '../reveal/with-draw.ts'

export interface ApplyFlags extends PlanFlags, RefreshingFlags {
  only?: 'mint'
  maxBurns?: number
  prune?: boolean
}

const FIELDS = [
  'run',
  'blockchain',
  'contract_address',
  'rows',
  'minted',
  'updated',
  'transferred',
  'burned',
  'pending',
  'failed',
  'unknown',
]
/** Fields that the card shows only if they are not 0. */
const COUNT_FIELDS = FIELDS.slice(FIELDS.indexOf('minted'))
const VIEW: View = withRunPaid({
  fields: [...FIELDS, 'warnings', 'notes'],
  columns: FIELDS,
  id: 'run',
  card: (record) => {
    const shownFields = FIELDS.filter((field) => !COUNT_FIELDS.includes(field) || record[field] !== 0)
    const isEmpty = COUNT_FIELDS.every((field) => record[field] === 0)
    return [...shownFields.map((field) => [field, record[field]] as const), ['changes', isEmpty ? 'none' : null]]
  },
})

export function command(deps: Deps, run = apply): GdnCommand {
  return new GdnCommand({
    about:
      'The command plans the changes as gdn plan does, shows the plan, and prompts for confirmation, even on an embedded chain. Without a terminal, it requires --yes. It then performs each mint, update and transfer at most once, and waits for the outcome. After an interruption, run the same command again. If no NFT differs from the manifest, the command changes nothing. A plan that was saved with gdn plan --out contains the rows of the manifest. The command applies it only if no NFT or local file has changed since. If a change is impossible, the command sends nothing unless you add --only mint.\nTo burn NFTs, apply a plan that was saved with gdn plan --prune --out. Without a prompt, the command burns at most as many NFTs as --max-burns allows.\nAll changes count toward the cost limit of the run. If the changes may exceed the limit, the command refuses all of them before it sends the first one. To raise the limit, use --max-cost.',
    examples: [
      ['Apply a manifest', 'gdn apply drop.csv -c 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon'],
      ['Apply a plan that was reviewed', 'gdn apply plan.json --yes'],
      ['Refresh the changed NFTs on OpenSea', 'gdn apply drop.csv --refresh'],
      ['Apply a plan that burns NFTs, in a script', 'gdn apply plan.json --yes --max-burns 3'],
    ],
    aliases: TARGET_ALIASES,
  })
    .argument('<manifest>')
    .with(addPlanFlags)
    .valueFlag('--only <action>', 'Make only one kind of change: mint', oneOf(['mint'] as const))
    .switchFlag('--prune', 'Accept only a plan that was saved with --prune')
    .valueFlag(
      '--max-burns <n>',
      'Maximum number of NFTs to burn (0 without a prompt)',
      integer(0, Number.MAX_SAFE_INTEGER),
    )
    .with(addDuplicatesFlag, (own) => addMaxCostFlag(own, 'the run'), addPriceFlag, addRefreshFlags, addTimeoutFlag)
    .switchFlag('-y, --yes', "Don't prompt", 'Sending and waiting')
    .with(addServerFlags, addOutputFlags)
    .action(async (manifest: string, flags: ApplyFlags) => await run(deps, manifest, flags))
}

/** State that the steps of the command share. */
interface ApplyContext {
  deps: Deps
  connection: Connection
  manifest: string
  flags: ApplyFlags
  opened: OpenedPlanSource
  plan: ChangePlan
  /** The cost limit of this command, in wei. */
  commandLimit: bigint | null
  /** Warnings about the manifest. */
  warnings: readonly ManifestIssue[]
}

export async function apply(deps: Deps, manifest: string, flags: ApplyFlags): Promise<void> {
  let isConfirmed = false
  const onConfirmed = () => {
    isConfirmed = true
  }
  await planAndApply(deps, manifest, flags, onConfirmed).catch((error: unknown) => {
    throw isConfirmed ? error : withNothingSent(error, NOTHING_SENT_HINT)
  })
}

async function planAndApply(deps: Deps, manifest: string, typedFlags: ApplyFlags, onConfirmed: () => void) {
  const output = createOutput(deps.io, typedFlags, VIEW, { manifest })
  const source = await openPlanSource(deps, manifest, typedFlags)
  const { settings } = source
  const { blockchain, contractAddress } = source.options
  const flags = source.allowDuplicates === true ? { ...typedFlags, allowDuplicates: true } : typedFlags
  const marketplace = flags.refresh === true ? await import('../marketplace/refresh-updated.ts') : null
  const refresher = await marketplace?.openUpdatedRefresher(deps, flags, { settings, blockchain, run: manifest })
  const connection = await deps.connect(settings, 'bulk')
  try {
    const opened = await withDraw(deps, connection, source, flags)
    await openPlan(deps, connection, opened, { takeOver: opened.takeOver, only: flags.only }, async (plan) => {
      if (plan.changedSinceSaved.count > 0) throw changedPlanError(plan.changedSinceSaved)
      // Print the warnings before anything is minted.
      const warnings = pendingCount(plan.counts) > 0 ? (opened.warnings?.all ?? []) : []
      printWarningsBriefly(deps, warnings)
      const commandLimit = await readEnforcedLimit(deps, connection, { flags, settings, blockchain })
      const applying = { deps, connection, manifest, flags, opened, plan, commandLimit, warnings }
      const yes = await confirmPlan(applying)
      // Another command may have hidden the rows since the last check, for example while the prompt was open.
      await refuseHiddenChanges(opened.options, plan, flags)
      onConfirmed()
      await applyPlan({ ...applying, flags: { ...flags, yes } }, output)
      if (refresher === undefined || flags.only === 'mint') return
      const nftGdnIds: string[] = []
      for await (const { nftGdnId } of plan.updates()) nftGdnIds.push(nftGdnId)
      await refresher.refresh(connection, contractAddress, nftGdnIds)
    })
  } finally {
    await Promise.all([connection.client.close(), refresher?.close()])
  }
}

/** Mints the new rows, changes the NFTs and prints the result, even if a change fails. */
async function applyPlan(applying: ApplyContext, output: Output): Promise<void> {
  const { deps, connection, manifest, flags, opened, plan, commandLimit, warnings } = applying
  const { blockchain, contractAddress: contract_address, stateDir } = opened.options
  const again = formatApplyCommand(manifest, flags)
  const changes = flags.only === 'mint' ? { update: 0, transfer: 0, burn: 0 } : plan.counts
  const all = flags.only === 'mint' ? plan.counts.mint : pendingCount(plan.counts)
  const beforeMint = (error: unknown): never => {
    throw describeStoppedChanges(error, createChangeOutcomes(), { all, minted: null, again })
  }
  const isSpending = pendingCount(plan.counts) > 0
  const paid = isSpending
    ? await startRunMeter(deps, connection, plan.run.id).catch(beforeMint)
    : async () => UNKNOWN_RUN_COSTS
  if (commandLimit !== null && plan.run.isKnown) await storeRunMaxCost(stateDir, plan.run.id, commandLimit)
  await storeNames(deps, connection, opened.options, plan).catch(beforeMint)
  const done = describeSideEffects(plan, flags)
  if (done.stored !== null) deps.io.note(`${done.stored}.`)
  const minted = await mint(applying).catch(beforeMint)
  // After the mint, record the NFTs that already match the manifest. If they were recorded earlier, a row that settles
  // during the mint would lose its recorded changes.
  const earlier = describeEarlierChanges(await recordSeenNfts(opened.options, plan))
  const print = async (summary: DataRecord) =>
    await output.one({
      run: plan.run.name,
      blockchain,
      contract_address,
      rows: plan.counts.rows,
      minted: minted.rows,
      ...summary,
      ...(await paid()),
      warnings: [...warnings, ...minted.warnings],
      notes: [...plan.notes, ...minted.notes, ...[done.stored, done.skipped, earlier].filter((note) => note !== null)],
    })
  if (minted.failure !== null) {
    const { pending, ...otherCounts } = minted.remaining
    const unsent = toSummaryRecord(changes, createChangeOutcomes())
    await print({ ...unsent, ...otherCounts, pending: Number(unsent.pending) + pending })
    throw minted.failure
  }
  const outcomes = createChangeOutcomes()
  try {
    await changeNfts(deps, connection, opened, plan, { flags, limit: minted.limit, outcomes })
  } catch (error) {
    // The summary contains the cost, which gdn can't request from the server after Ctrl-C.
    if (error instanceof GdnError && !deps.signals.signal.aborted) await print(toSummaryRecord(changes, outcomes))
    throw describeStoppedChanges(error, outcomes, { all, minted: minted.rows, again })
  }
  await recordPlan(applying)
  await print(toSummaryRecord(changes, outcomes))
  for (const note of [done.skipped, earlier]) if (note !== null) deps.io.note(`${note}.`)
  const problem = changesError(changes, outcomes)
  if (problem !== null) throw problem
}

/** Returns notes on the IDs that the command stores and on the changes that it skips. */
function describeSideEffects(plan: ChangePlan, { only }: ApplyFlags): Record<'stored' | 'skipped', string | null> {
  const stored = pendingPairs(plan)
  const skipped = only === 'mint' ? countsText({ ...plan.counts, mint: 0, unchanged: 0 }) : ''
  return {
    stored: stored === 0 ? null : `Stored ${idsText(stored)}`,
    skipped: skipped === '' ? null : `Skipped by --only mint: ${skipped}`,
  }
}

/** Returns a note on the NFTs that already had the changes of the manifest; null if there are none. */
const describeEarlierChanges = (nfts: number): string | null =>
  nfts === 0
    ? null
    : `${count(nfts, 'NFT')} already ${nfts === 1 ? 'matches' : 'match'} the manifest, because an earlier command or another machine made the changes`

/** Records the changes. Also records the rows of the current manifest, unless a mint has already stored them. */
async function recordPlan({ deps, connection, opened, plan }: ApplyContext): Promise<void> {
  const { options, read } = opened
  const { signal } = deps.signals
  const { client, pacer } = connection
  try {
    await recordMadeChanges({ ...options, signal }, client, plan)
    if (plan.counts.mint > 0) return
    const readAgain = () => read({ row: async () => {}, burn: async () => {} })
    const readManifest = options.manifestPath === null ? () => readPlanRows(plan) : readAgain
    await storeRows({ ...options, signal }, { client, pacer, readManifest, now: deps.now, sleep: deps.sleep })
  } catch (error) {
    // The changes themselves are complete, and the next `gdn apply` records them.
    if (!(error instanceof GdnError)) throw error
    deps.io.debug(`can't record the changes: ${error.message}`)
  }
}

async function* readPlanRows(plan: ChangePlan) {
  for await (const { row } of plan.rows()) yield { row: row.row }
}

/** Returns a sentence about where to find all changes of the plan. */
function allChangesHint(manifest: string, flags: ApplyFlags, isSaved: boolean): string {
  const file = shellWord(safe(manifest))
  if (isSaved) return `${file} contains all changes.`
  return `To print all changes, run \`gdn plan ${file}${formatPlanFlags(flags)} -o ndjson\`.`
}

/** Returns the command that resumes after an interruption. It omits --max-cost, because the run keeps its limit. */
function formatApplyCommand(manifest: string, flags: ApplyFlags): string {
  const { only, maxBurns, allowDuplicates, refresh } = flags
  return [
    `gdn apply ${shellWord(safe(manifest))}${formatPlanFlags(flags)}`,
    ...(only === undefined ? [] : [`--only ${only}`]),
    ...(maxBurns === undefined ? [] : [`--max-burns ${maxBurns}`]),
    ...(allowDuplicates === true ? ['--allow-duplicates'] : []),
    ...(refresh === true ? ['--refresh'] : []),
  ].join(' ')
}

type OpenedPlanSource = Awaited<ReturnType<typeof openPlanSource>>

/**
 * Shows the plan and asks for confirmation, even if nothing costs money, because changes and burns can't be undone.
 * Returns whether the user confirmed the changes.
 *
 * @throws GdnError `refused` if a change is impossible, `max_cost`, `not_confirmed`
 */
async function confirmPlan(applying: ApplyContext): Promise<boolean> {
  const { deps, connection, manifest, flags, plan, commandLimit } = applying
  const { options, warnings, isSaved = false } = applying.opened
  const { io } = deps
  const { blockchain, newRows } = options
  const { counts } = plan
  const isList = !io.settings.machine && !io.settings.quiet
  const obstacles = await collectImpossibleChanges(plan)
  if (isList) for (const line of await planLines(plan, obstacles, io.blockStyle())) io.note(line)
  const onlyMint = formatOnlyMintCommand(formatApplyCommand(manifest, flags), plan, newRows)
  const allText = isList ? allChangesHint(manifest, flags, isSaved) : null
  const isRefused = counts.impossible > 0 && flags.only === undefined
  const notes = isRefused ? plan.notes : plan.notes.filter((note) => note !== plan.otherEdition)
  printPlanNotes(io, { counts, notes }, obstacles, { allText, onlyMint, onlyMints: flags.only === 'mint' })
  if (isRefused) {
    throw new GdnError(
      'refused',
      `${count(counts.impossible, 'change')} in the plan can't be made${impossibleChangesText(obstacles, counts.impossible)}`,
      {
        hint: `Nothing was sent. ${formatHint(obstacles, counts, onlyMint)}`,
        details: { counts },
      },
    )
  }
  if (counts.mint > 0) {
    // A saved plan includes the rows to mint. Without this check, a plan with edited rows would be refused only after
    // the prompt.
    await plan.refuseEdited({ onlyMints: flags.only === 'mint' })
    await checkPlanMaxSupply(deps, connection, { options }, plan)
    refuseDuplicates(deps, flags.allowDuplicates, await plan.duplicates(), warnings?.file)
  }
  const pending = flags.only === 'mint' ? counts.mint : pendingCount(counts)
  const burns = flags.only === 'mint' ? 0 : counts.burn
  if (burns > 0) await checkBurns(io, plan, { ...flags, isList })
  if (pending > 0) {
    const { id: run, maxCost: storedLimit } = plan.run
    const limited = { blockchain, run, commandLimit, storedLimit }
    await refuseAboveLimit(deps, connection, { ...limited, reserved: () => estimatePlanReservation(plan, flags) })
  }
  if (pending === 0) {
    if (flags.yes) return true
    await confirmNames(io, plan)
    const raised = { run: plan.run.id, maxCost: commandLimit, effect: ACCEPTED_CONTINUE_NOTE }
    await confirmRaise(deps, false, blockchain, connection, raised)
    return false
  }
  const priced = {
    limit: commandLimit,
    storedLimit: plan.run.maxCost,
    run: plan.run.id,
    maxUse: () => estimateMaxPlanUse(plan, flags),
  }
  const text = plan.otherEdition === null ? null : `${plan.otherEdition}.`
  const effect = flags.only === 'mint' ? mintedText(counts) : appliedText(counts)
  await confirmOtherEdition(deps, flags.yes, { text, effect })
  await confirmChanges(deps, connection, blockchain, { yes: flags.yes, action: effect, priced })
  return true
}

const MAX_LISTED_BURNS = 20

/**
 * Lists the NFTs to burn, unless the list of changes already includes them.
 *
 * @throws GdnError `refused` if the plan burns more than permitted
 */
async function checkBurns(
  io: Deps['io'],
  plan: ChangePlan,
  { maxBurns, yes, isList }: ApplyFlags & { isList: boolean },
): Promise<void> {
  const all = plan.counts.burn
  const maxAllowed = maxBurns ?? (io.isInteractive && !yes ? all : 0)
  if (all > maxAllowed) {
    throw new GdnError('refused', `the plan burns ${count(all, 'NFT')}, but --max-burns permits only ${maxAllowed}`, {
      hint: `Nothing was sent. To burn them, add --max-burns ${all}.`,
    })
  }
  if (isList) return
  let remainingTitles = MAX_LISTED_BURNS
  for await (const { action, title, tokenId } of plan.burns()) {
    if (action !== 'burn') continue
    if (remainingTitles-- === 0) return io.note(`Burn: ${count(all - MAX_LISTED_BURNS, 'more NFT')}`)
    io.note(safe(`Burn: ${title} (token ${tokenId})`))
  }
}

interface MintResult {
  /** Number of rows that this command deployed. */
  rows: number
  /** Number of rows that are not deployed. */
  remaining: { pending: number; failed: number; unknown: number }
  /** Warnings about the rows that were sent, in addition to the manifest's warnings. */
  warnings: readonly ManifestIssue[]
  notes: readonly string[]
  /** The reason why the run ended before all rows were deployed; null if it succeeded. */
  failure: unknown
  /** The limit that the user permitted for the mints and the changes after them. */
  limit: RunLimit
}

const NONE_REMAINING = { pending: 0, failed: 0, unknown: 0 }

/** Sets the limit of the run, and mints the plan's rows in the same way as `batch mint`. */
async function mint({
  deps,
  connection,
  manifest,
  flags,
  opened,
  plan,
  commandLimit,
}: ApplyContext): Promise<MintResult> {
  const { options, settings } = opened
  const { counts, run } = plan
  const resumedBy = formatApplyCommand(manifest, flags)
  const changes = flags.only === 'mint' ? 0 : counts.update + counts.transfer + counts.burn
  if (counts.mint === 0) {
    const limit = await permitChanges(deps, connection, options.blockchain, { run, count: changes, commandLimit })
    const isSent = changes > 0 || commandLimit !== null
    const carried = isSent ? await limitChanges(deps, connection, options, { limit, commandLimit }) : limit
    if (plan.unsettled === 0)
      return { rows: 0, remaining: NONE_REMAINING, warnings: [], notes: [], failure: null, limit: carried }
    // An earlier command was interrupted while it waited for accepted rows. This run sends nothing and only waits.
    const settling = { ...options, reconcileOnly: true }
    const sending = { settings, options: settling, read: null, flags, resumedBy, isApplied: true, run: waitForAccepted }
    return { ...(await runMints(deps, plan, { ...sending, commandLimit: null })), limit: carried }
  }
  let limit: RunLimit = { run: run.id }
  const sending = {
    settings,
    options: {
      ...options,
      maxCostWei: commandLimit ?? undefined,
      keepEdited: true,
      // The labels are already replaced, so rows match by their reference IDs alone.
      adopt: false,
      retryFailed: counts.retries > 0,
    },
    read: () => readPlanRows(plan),
    flags,
    resumedBy,
    isApplied: true,
    run: runBatch,
    commandLimit,
    others: changes,
    changes: flags.only === 'mint' ? undefined : await remainingChanges(counts, createChangeOutcomes()),
    beforeSending: async (_planned: PlannedEvent, _connection: Connection, permitted: RunLimit) => {
      limit = permitted
    },
  }
  const minted = await runMints(deps, plan, sending)
  return { ...minted, rows: Math.min(counts.mint, minted.rows), limit }
}

/** Waits for the accepted rows of a run. Ignores its pending rows, because the plan has no rows to mint. */
const waitForAccepted: typeof runBatch = async (options, deps) => {
  const summary = await runBatch(options, deps)
  const counts = { ...summary.counts, pending: 0 }
  const { stopped, doubledRows } = summary
  const waits = options.wait !== false && stopped === null
  return {
    ...summary,
    counts,
    pendingRows: [],
    acceptedRows: [],
    exitCode: selectExitCode(counts, doubledRows.length, stopped, waits),
  }
}

/** Sends the rows to mint, if there are any, and waits until all accepted rows are deployed. */
async function runMints(
  deps: Deps,
  plan: ChangePlan,
  sending: Parameters<typeof sendRun>[1],
): Promise<Omit<MintResult, 'limit'>> {
  const sentRun = await sendRun(deps, sending)
  const failure = await refuseFailure(deps, sentRun, sending).then(
    () => null,
    (error: unknown) => error,
  )
  const { deployed, pending, accepted, failed, unknown } = sentRun.summary.counts
  const remaining = { pending: pending + accepted, failed, unknown }
  return { rows: deployed - plan.deployed, remaining, warnings: sentRun.warnings, notes: sentRun.notes, failure }
}
