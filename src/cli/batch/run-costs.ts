import type { Blockchain } from '../../api/blockchains.ts'
import { formatParties } from '../../batch/rows/row-text.ts'
import { runRows } from '../../batch/runs/run-rows.ts'
import { openRun } from '../../batch/runs/runs.ts'
import type { BatchOptions, BatchSummary, PlannedEvent, PlannedMints, RowStatus } from '../../batch/types.ts'
import { count } from '../../core/count.ts'
import type { PricedUse, UnsentUse } from '../cost/at-most.ts'
import { costsMoney, describeRaisedLimits } from '../cost/confirm-spending.ts'
import { openMeter } from '../cost/estimate.ts'
import { type CostReservation, estimateMaxChangeUse, type MaximumUse, sumUses } from '../cost/run-limit.ts'
import type { Connection, Deps, SpendingRun } from '../deps.ts'

/**
 * Checks that a run's collection and the rows to send match a saved plan.
 *
 * @throws GdnError `refused`
 */
export async function checkRunPlan(
  { checkPlan }: Pick<Deps, 'checkPlan'>,
  { blockchain, contractAddress: contract_address }: Pick<BatchOptions, 'blockchain' | 'contractAddress'>,
  { rows }: PlannedEvent,
  mints: PlannedMints,
): Promise<void> {
  if (checkPlan === null) return
  const { pending, unknown } = rows
  checkPlan(
    { collection: { blockchain, contract_address } },
    { rows: { to_send: pending, unknown, content: await mints.digest() } },
  )
}

/**
 * Returns the maximum gas of the mints and of an unrevealed drop's commitments. Also returns the estimate for the
 * mints.
 *
 * @param commitments the number of commitments
 */
export async function estimateMaxMintUse(
  { dynamic, sizes, each }: PlannedMints,
  commitments: number,
): Promise<PricedUse> {
  const meter = await openMeter(dynamic, Math.max(1, ...sizes))
  for await (const { receiver, sender, count } of each()) meter.add(receiver, count, sender)
  const estimate = meter.total()
  return { ...sumUses([estimate.worst, await estimateMaxChangeUse('provenance', commitments)]), estimate }
}

/**
 * Reads the pending rows of a run. Returns the maximum gas and data of their mints. Also returns the part of a limit
 * that is reserved for them if requests have the given sizes.
 */
export async function unsentRows(
  run: string,
  reading: ReadRows & { sizes: ReadonlySet<number> },
): Promise<UnsentUse & { reserved: CostReservation }> {
  return await readRowsWithStatus(['pending'], run, reading)
}

interface ReadRows {
  stateDir: string
  dynamic?: boolean | undefined
}

/**
 * Reads the rows of a run that have one of the given statuses. Computes the gas and data of their mints in requests of
 * the given sizes.
 */
async function readRowsWithStatus(
  statuses: readonly RowStatus[],
  run: string,
  { stateDir, dynamic, sizes }: ReadRows & { sizes: ReadonlySet<number> },
): Promise<UnsentUse & { reserved: CostReservation }> {
  const groups = new Map<string, { receiver: string; sender: string | null; rows: number }>()
  for await (const { result, row } of runRows(await openRun(stateDir, run))) {
    if (!statuses.includes(result.status) || row === null) continue
    const { receiver, sender } = row
    const to = formatParties(row)
    const group = groups.get(to)
    if (group === undefined) groups.set(to, { receiver, sender, rows: 1 })
    else group.rows++
  }
  const largest = Math.max(1, ...sizes)
  const [meter, requests] = [await openMeter(dynamic, largest), await openMeter(dynamic, largest)]
  let total = 0
  for (const { receiver, sender, rows } of groups.values()) {
    meter.add(receiver, rows, sender)
    total += rows
  }
  // With --in-order, or after rows failed, a request can contain fewer rows than its receiver has.
  for (const sender of new Set([...groups.values()].map((group) => (group.sender === null ? null : '')))) {
    for (const size of sizes) requests.add('', size, sender)
  }
  const { worst: maxUse } = meter.total()
  const { each } = requests.total().reserved
  return {
    rows: total,
    maxUse,
    smallestMint: maxUse.smallestMint,
    reserved: { nfts: total, each, changes: sumUses([]) },
  }
}

/** Returns the summary. If the run stopped at its limit, adds a hint that names a sufficient limit. */
export async function withSufficientLimit(
  summary: BatchSummary,
  enoughCost: () => Promise<string | null>,
): Promise<BatchSummary> {
  const { stopped, counts } = summary
  const sufficient = stopped?.code === 'max_cost' && counts.pending > 0 ? await enoughCost() : null
  if (stopped === null || sufficient === null) return summary
  const hint = `The run keeps the rows that were not accepted. To send them, run the same command with --max-cost ${sufficient} or more, which is enough at the current fees.`
  return { ...summary, stopped: { ...stopped, hint } }
}

export interface RunLimits {
  connection: Connection
  blockchain: Blockchain
  /** The cost limits of this command (`commandLimit`) and of the run (`storedLimit`), in wei. */
  commandLimit: bigint | null
  storedLimit: bigint | null
  /** The maximum fee of this command, in wei. */
  maxFee: bigint | null
  /** Number of requests in addition to the mints. */
  others: number
}

/**
 * Returns the limit to set in each request. The limit covers requests with an unknown outcome, because they may be sent
 * again.
 */
export async function permitRun(deps: Deps, planned: PlannedEvent, limits: RunLimits): Promise<bigint | null> {
  const spending = await describeRunSpending(deps, planned, limits)
  return spending === null ? null : await deps.permit(spending)
}

/**
 * Describes the spending of a run for `permit`; null if the run spends nothing. The count includes accepted rows that
 * can continue because of a higher fee limit.
 */
export async function describeRunSpending(
  deps: Deps,
  { run, rows }: Pick<PlannedEvent, 'run' | 'rows'>,
  { connection, blockchain, commandLimit, storedLimit, maxFee, others }: RunLimits,
): Promise<{ connection: Connection; blockchain: Blockchain; kind: 'nft'; count: number; run: SpendingRun } | null> {
  const isFeeRaised =
    rows.accepted > 0 &&
    (await describeRaisedLimits(deps, connection, { run: run.id, maxCost: null, maxFee })).length > 0
  const freed = isFeeRaised ? rows.accepted : 0
  const count = rows.pending + rows.unknown + others + freed
  // A new cost limit can also let accepted rows continue.
  if (count === 0 && commandLimit === null) return null
  const maxCost = commandLimit ?? storedLimit
  return {
    connection,
    blockchain,
    kind: 'nft',
    count,
    run: {
      id: run.id,
      isOperation: false,
      canLimit: true,
      accepted: rows.accepted - freed,
      maxCost: maxCost === null ? null : { wei: maxCost, isSet: commandLimit !== null },
    },
  }
}

/** The prompt that a command shows before a run spends. */
export interface RunQuestion {
  action: string
  /** The gas and data of accepted rows that can continue because a limit is raised; null if there are none. */
  accepted: MaximumUse | null
}

/**
 * Returns what the prompt must describe: the rows to mint, and the limits that the command raises so that accepted rows
 * can continue. Returns null if the command neither mints rows nor raises a limit.
 */
export async function describeRunQuestion(
  deps: Deps,
  { run, rows, receivers }: PlannedEvent,
  { connection, blockchain, commandLimit, maxFee, ...reading }: Omit<RunLimits, 'storedLimit' | 'others'> & ReadRows,
): Promise<RunQuestion | null> {
  const accepted = rows.accepted + rows.unknown
  const limits = { run: run.id, maxCost: commandLimit, maxFee }
  const mayRaise = accepted > 0 && (await costsMoney(deps, blockchain, connection))
  const raised = mayRaise ? await describeRaisedLimits(deps, connection, limits) : []
  const mint = `Mint ${count(rows.pending, 'NFT')} for ${count(receivers, 'receiver')}`
  if (raised.length === 0) return rows.pending === 0 ? null : { action: mint, accepted: null }
  const raise = `aise the ${raised.join(' and the ')} for ${count(accepted, 'accepted NFT')}`
  const { maxUse } = await readRowsWithStatus(['accepted', 'unknown'], run.id, {
    ...reading,
    sizes: new Set([1]),
  })
  return { action: rows.pending === 0 ? `R${raise}` : `${mint}, and r${raise}`, accepted: maxUse }
}
