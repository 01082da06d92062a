import { runBatch } from '../../batch/run.ts'
import { keepMaxCost } from '../../batch/runs.ts'
import type { BatchEvent, PlannedEvent } from '../../batch/types.ts'
import type { RunLimit } from '../../client/run-limit.ts'
import { GdnError } from '../../core/errors.ts'
import { shellWord } from '../../core/shell-word.ts'
import { IN_PROGRESS } from '../../plan/compare.ts'
import { noteMade, noteSeen } from '../../plan/note-changes.ts'
import type { ChangePlan } from '../../plan/planned.ts'
import { addDuplicatesFlag, TARGET_ALIASES } from '../batch/flags.ts'
import { flagsAgain } from '../batch/flags-again.ts'
import { printBriefly, refuseDuplicates } from '../batch/row-warnings.ts'
import { refuseFailure, sendRun } from '../batch/send-run.ts'
import { GdnCommand, switchFlag, valueFlag } from '../command.ts'
import { atMostText } from '../cost/at-most.ts'
import { costsMoney } from '../cost/confirm-spending.ts'
import { openMeter } from '../cost/estimate.ts'
import { addPriceFlag } from '../cost/fees.ts'
import { addMaxCostFlag, enforcedLimit } from '../cost/limit.ts'
import { meterRun, NOTHING_KNOWN, withRunPaid } from '../cost/paid.ts'
import { refuseAboveLimit, sumOf, type WorstUse, worstOfChanges } from '../cost/run-limit.ts'
import type { Connection, Deps } from '../deps.ts'
import { addOutputFlags, addServerFlags } from '../flags/common.ts'
import { integer, oneOf } from '../flags/parse.ts'
import { addTimeoutFlag } from '../flags/wait.ts'
import { safe } from '../io/io.ts'
import type { DataRecord } from '../render/cells.ts'
import { count } from '../render/count.ts'
import { createOutput } from '../render/output.ts'
import type { View } from '../render/view.ts'
import {
  changeNfts,
  limitChanges,
  noChanges,
  permitChanges,
  problemOf,
  stoppedAfter,
  summaryOf,
} from './plan/change-nfts.ts'
import { addPlanFlags, openPlan, type PlanFlags, type PlanSource } from './plan/open-plan.ts'
import { changedSince, openSource } from './plan/open-source.ts'
import { countsText, obstaclesText, pendingCount, pendingPairs, planLines, printPlanNotes } from './plan/plan-view.ts'
import { storeNames } from './plan/store-names.ts'

export interface ApplyFlags extends PlanFlags {
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
/** Fields that people see only if they are not 0. */
const COUNTS = FIELDS.slice(FIELDS.indexOf('minted'))
const VIEW: View = withRunPaid({
  fields: FIELDS,
  columns: FIELDS,
  id: 'run',
  card: (record) => {
    const shown = FIELDS.filter((field) => !COUNTS.includes(field) || record[field] !== 0)
    const isEmpty = COUNTS.every((field) => record[field] === 0)
    return [...shown.map((field) => [field, record[field]] as const), ['changes', isEmpty ? 'none' : null]]
  },
})

export function command(deps: Deps, run = apply): GdnCommand {
  const applyCommand = new GdnCommand({
    about:
      'Plans a manifest as gdn plan does, shows the plan, and prompts. Then it mints, updates and transfers, each at most once, and waits for the outcome. Run the same command again after an interruption. If you apply a manifest twice, the command sends nothing the second time. It applies a plan that gdn plan --out saved exactly: if anything has changed since, nothing is sent. If a change is impossible, nothing is sent unless you add --only mint. The command burns NFTs only for a plan that gdn plan --prune --out saved, and without a prompt at most --max-burns. All changes count toward the limit of the run. Changes that may exceed it are refused before the first one is sent. --max-cost raises the limit.',
    examples: [
      ['Apply a manifest', 'gdn apply drop.csv -c 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon'],
      ['Apply a plan that was reviewed', 'gdn apply plan.json --yes'],
      ['Apply a plan that burns NFTs, in a script', 'gdn apply plan.json --yes --max-burns 3'],
    ],
    aliases: TARGET_ALIASES,
  })
  applyCommand.argument('<manifest>')
  addPlanFlags(applyCommand)
  valueFlag(applyCommand, '--only <action>', 'Make only these changes: mint', { parse: oneOf(['mint'] as const) })
  switchFlag(applyCommand, '--prune', 'Accept only a plan that was saved with --prune')
  valueFlag(applyCommand, '--max-burns <n>', 'Maximum number of NFTs to burn (0 without a prompt)', {
    parse: integer(0, Number.MAX_SAFE_INTEGER),
  })
  addDuplicatesFlag(applyCommand)
  addMaxCostFlag(applyCommand, 'the run')
  addPriceFlag(applyCommand)
  addTimeoutFlag(applyCommand)
  switchFlag(applyCommand, '-y, --yes', "Don't prompt", 'Sending and waiting')
  addServerFlags(applyCommand)
  addOutputFlags(applyCommand)
  return applyCommand.action(async (manifest: string, flags: ApplyFlags) => {
    await run(deps, manifest, flags)
  }) as GdnCommand
}

export async function apply(deps: Deps, manifest: string, given: ApplyFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, given, VIEW, { manifest })
  const opened = await openSource(deps, manifest, given)
  const flags = opened.allowDuplicates === true ? { ...given, allowDuplicates: true } : given
  const connection = await deps.connect(opened.settings, 'bulk')
  try {
    await openPlan(deps, connection, opened, opened.takeOver, async (plan) => {
      if (plan.moved.count > 0) throw changedSince(plan.moved)
      // Identical rows are named before they are minted.
      if (pendingCount(plan.counts) > 0) printBriefly(deps, opened.warnings?.all ?? [])
      const { blockchain, contractAddress: contract_address, stateDir } = opened.options
      const limit = await enforcedLimit(deps, flags, opened.settings, blockchain, connection)
      const yes = await confirmPlan(deps, connection, opened, plan, { ...flags, given: limit, manifest })
      const paid =
        pendingCount(plan.counts) > 0 ? await meterRun(deps, connection, plan.run.id) : async () => NOTHING_KNOWN
      if (limit !== null && plan.run.isKnown) await keepMaxCost(stateDir, plan.run.id, limit)
      await storeNames(deps, connection, opened.options, plan)
      const stored = pendingPairs(plan)
      if (stored > 0) io.note(`Stored the ${stored === 1 ? 'ID of 1 row' : `IDs of ${stored} rows`}.`)
      await noteSeen(opened.options, plan)
      const again = applyAgain(manifest, flags)
      const all = flags.only === 'mint' ? plan.counts.mint : pendingCount(plan.counts)
      const minted = await mint(deps, connection, opened, plan, {
        ...flags,
        yes,
        given: limit,
        resumedBy: again,
      }).catch((error: unknown) => {
        throw stoppedAfter(error, noChanges(), { all, minted: null, again })
      })
      const print = async (changes: DataRecord) =>
        await output.one({
          run: plan.run.name,
          blockchain,
          contract_address,
          rows: plan.counts.rows,
          minted: minted.rows,
          ...changes,
          ...(await paid()),
        })
      if (minted.failure !== null) {
        await print({ ...summaryOf(noChanges()), ...minted.left })
        throw minted.failure
      }
      const outcomes = noChanges()
      try {
        await changeNfts(deps, connection, opened, plan, { flags, limit: minted.limit, outcomes })
      } catch (error) {
        throw stoppedAfter(error, outcomes, { all, minted: minted.rows, again })
      }
      await noteMade({ ...opened.options, signal: deps.signals.signal }, connection.client, plan).catch(
        (error: unknown) => {
          // The changes are made. The next apply records them.
          if (!(error instanceof GdnError)) throw error
          io.debug(`can't record the changes: ${error.message}`)
        },
      )
      await print(summaryOf(outcomes))
      const left = flags.only === 'mint' ? countsText({ ...plan.counts, mint: 0, unchanged: 0 }) : ''
      if (left !== '') io.note(`Left out by --only mint: ${left}.`)
      const problem = problemOf(outcomes)
      if (problem !== null) throw problem
    })
  } finally {
    await connection.client.close()
  }
}

interface Given {
  /** The limit of the run's cost that this command was given, in wei. */
  given: bigint | null
}

/** Returns the sentence that says where all changes of the plan are. */
function whereAllAre(manifest: string, flags: ApplyFlags, isSaved: boolean): string {
  const file = shellWord(safe(manifest))
  if (isSaved) return `${file} has all of them.`
  const { run, takeOver, newRows, adopt } = flags
  const words = [
    `gdn plan ${file}${flagsAgain(flags)}`,
    ...(run === undefined ? [] : [`--run ${shellWord(safe(run))}`]),
    ...(takeOver === true ? ['--take-over'] : []),
    ...(newRows === true ? ['--new-rows'] : []),
    ...(adopt === true ? ['--adopt'] : []),
  ]
  return `To print all of them, run \`${words.join(' ')} -o ndjson\`.`
}

/** Returns the command that goes on after an interruption. The run keeps its limit. */
function applyAgain(manifest: string, flags: ApplyFlags): string {
  const { run, only, maxBurns, takeOver, newRows, allowDuplicates } = flags
  return [
    `gdn apply ${shellWord(safe(manifest))}${flagsAgain(flags)}`,
    ...(run === undefined ? [] : [`--run ${shellWord(safe(run))}`]),
    ...(only === undefined ? [] : [`--only ${only}`]),
    ...(maxBurns === undefined ? [] : [`--max-burns ${maxBurns}`]),
    ...(takeOver === true ? ['--take-over'] : []),
    ...(newRows === true ? ['--new-rows'] : []),
    ...(allowDuplicates === true ? ['--allow-duplicates'] : []),
  ].join(' ')
}

type Opened = Awaited<ReturnType<typeof openSource>>

/**
 * Shows the plan and prompts. Returns whether the changes are confirmed, and not only without cost.
 *
 * @throws GdnError `refused` while a change is impossible, `max_cost`, `not_confirmed`
 */
async function confirmPlan(
  deps: Deps,
  connection: Connection,
  { options: { blockchain, newRows }, warnings, isSaved = false }: PlanSource,
  plan: ChangePlan,
  { manifest, ...flags }: ApplyFlags & Given & { manifest: string },
): Promise<boolean> {
  const { io } = deps
  const { counts } = plan
  const isList = !io.settings.machine && !io.settings.quiet
  if (isList) for (const line of await planLines(plan, io.look())) io.note(line)
  printPlanNotes(io, plan, isList ? whereAllAre(manifest, flags, isSaved) : null)
  if (counts.impossible > 0 && flags.only === undefined) {
    throw new GdnError(
      'refused',
      `${count(counts.impossible, 'change')} of the plan can't be made${await obstaclesText(plan)}`,
      {
        hint: 'Nothing was sent. Fix each cause, or undo the edit of its row. To mint only the new rows, add --only mint.',
        details: { counts },
      },
    )
  }
  if (counts.mint > 0) {
    // A saved plan was made with the rows that it mints. The mint would refuse others after the prompt.
    if (newRows !== true) await plan.refuseEdited()
    refuseDuplicates(deps, flags.allowDuplicates, await plan.duplicates(), warnings?.file)
  }
  const pending = flags.only === 'mint' ? counts.mint : pendingCount(counts)
  const burns = flags.only === 'mint' ? 0 : counts.burn
  if (burns > 0) await checkBurns(io, plan, { ...flags, isList })
  if (pending > 0) {
    const { id: run, maxCost: kept } = plan.run
    const limited = { blockchain, run, given: flags.given, kept }
    await refuseAboveLimit(deps, connection, { ...limited, worst: () => worstOfPlan(plan, flags) })
  }
  if (pending === 0 || flags.yes) return flags.yes === true
  if (!io.interactive && !(await costsMoney(deps, blockchain, connection))) return false
  const burning = burns === 0 ? '' : `, and permanently burn ${count(burns, 'NFT')},`
  const priced = { limit: flags.given, kept: plan.run.maxCost, run: plan.run.id, worst: () => worstOfPlan(plan, flags) }
  const cost = await atMostText(deps, connection, blockchain, priced)
  const question = `Apply ${count(pending, 'change')} (${countsText(counts)})${burning} on ${blockchain} through ${connection.server.origin}${cost}?`
  if (!(await io.confirm(safe(question), '--yes'))) throw new GdnError('not_confirmed', 'nothing was sent')
  return true
}

/** Returns what the changes of a plan use at most, without those that were accepted before. */
async function worstOfPlan(plan: ChangePlan, { only }: Pick<ApplyFlags, 'only'>): Promise<WorstUse> {
  const meter = await openMeter(plan.run.dynamic)
  const counts = { update: 0, transfer: 0, burn: 0 }
  const mints = new Map<string, { receiver: string; sender: string | null; count: number }>()
  for await (const { row, changes } of plan.rows()) {
    for (const { action, reason } of changes) {
      if (action === 'mint') {
        const { receiver, sender } = row.row
        const group = mints.get(`${sender} ${receiver}`)
        if (group === undefined) mints.set(`${sender} ${receiver}`, { receiver, sender, count: 1 })
        else group.count++
      } else if ((action === 'update' || action === 'transfer') && reason !== IN_PROGRESS) counts[action]++
    }
  }
  for await (const { action, reason } of plan.burns()) if (action === 'burn' && reason !== IN_PROGRESS) counts.burn++
  // Requests have one receiver.
  for (const { receiver, sender, count } of mints.values()) meter.add(receiver, count, sender)
  const { worst } = meter.total()
  if (only === 'mint') return worst
  const kinds = Object.keys(counts) as (keyof typeof counts)[]
  return sumOf([worst, ...(await Promise.all(kinds.map((kind) => worstOfChanges(kind, counts[kind]))))])
}

const MAX_TITLES = 20

/** Names the NFTs to burn, unless the list of changes has. @throws GdnError `refused` if they are more than permitted */
async function checkBurns(
  io: Deps['io'],
  plan: ChangePlan,
  { maxBurns, yes, isList }: ApplyFlags & { isList: boolean },
): Promise<void> {
  const all = plan.counts.burn
  const most = maxBurns ?? (io.interactive && !yes ? all : 0)
  if (all > most) {
    throw new GdnError('refused', `the plan burns ${count(all, 'NFT')}, and --max-burns permits ${most}`, {
      hint: `Nothing was sent. To burn them, add --max-burns ${all}.`,
    })
  }
  if (isList) return
  let left = MAX_TITLES
  for await (const { action, title, tokenId } of plan.burns()) {
    if (action !== 'burn') continue
    if (left-- === 0) return io.note(`Burn: ${count(all - MAX_TITLES, 'more NFT')}`)
    io.note(safe(`Burn: ${title} (token ${tokenId})`))
  }
}

interface Minted {
  /** Rows that are deployed now. */
  rows: number
  /** Rows of the run that are not. */
  left: { pending: number; failed: number; unknown: number }
  /** Why the run ended with them; null if all went well. */
  failure: unknown
  /** The limit that was permitted for the mints and the changes that follow. */
  limit: RunLimit
}

/** Limits the run, and mints the rows of the plan as `batch mint` does. */
async function mint(
  deps: Deps,
  connection: Connection,
  { options, settings }: Opened,
  plan: ChangePlan,
  { resumedBy, ...flags }: ApplyFlags & Given & { resumedBy: string },
): Promise<Minted> {
  const { counts, run } = plan
  const { given } = flags
  const changes = flags.only === 'mint' ? 0 : counts.update + counts.transfer + counts.burn
  if (counts.mint === 0) {
    const limit = await permitChanges(deps, connection, options.blockchain, { run, count: changes, given })
    const isSent = changes > 0 || given !== null
    const carried = isSent ? await limitChanges(deps, connection, options, { limit, given }) : limit
    return { rows: 0, left: { pending: 0, failed: 0, unknown: 0 }, failure: null, limit: carried }
  }
  let before = 0
  let limit: RunLimit = { run: run.id }
  const sending = {
    settings,
    options: {
      ...options,
      maxCost: given ?? undefined,
      keepEdited: true,
      // Labels are replaced by now, and rows are adopted only by their reference IDs.
      adopt: false,
      retryFailed: counts.retries > 0,
    },
    async *read() {
      for await (const { row } of plan.rows()) yield { row: row.row }
    },
    flags,
    resumedBy,
    isApplied: true,
    run: runBatch,
    given,
    others: changes,
    beforeSending: async (_planned: PlannedEvent, _connection: Connection, permitted: RunLimit) => {
      limit = permitted
    },
    onEvent(event: BatchEvent) {
      if (event.type === 'planned') before = event.rows.deployed
    },
  }
  const sent = await sendRun(deps, sending)
  const failure = await refuseFailure(deps, sent, sending).then(
    () => null,
    (error: unknown) => error,
  )
  const { deployed, pending, accepted, failed, unknown } = sent.summary.counts
  const left = { pending: pending + accepted, failed, unknown }
  return { rows: Math.min(counts.mint, deployed - before), left, failure, limit }
}
