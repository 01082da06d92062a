import type { Blockchain } from '../../api/blockchains.ts'
import { createnft } from '../../api/endpoints/createnft.ts'
import { extraKeys } from '../../api/metadata.ts'
import { formatTraitValue } from '../../api/traits.ts'
import { dryRunBatch } from '../../batch/dry-run.ts'
import { noManifestChanges } from '../../batch/gather.ts'
import type { BatchOptions, DryRun, PlannedEvent, PlannedMint, PlannedMints } from '../../batch/types.ts'
import type { RunLimit } from '../../client/run-limit.ts'
import type { Settings } from '../../config/settings.ts'
import { count } from '../../core/count.ts'
import { GdnError } from '../../core/errors.ts'
import { shorten } from '../../core/shorten.ts'
import type { ManifestItem } from '../../manifest/read.ts'
import type { ManifestIssue } from '../../manifest/row.ts'
import type { RowWarnings } from '../../manifest/row-warnings.ts'
import type { RequestedMetadata } from '../../verify/compare-metadata.ts'
import { findCollection } from '../connect/find-collection.ts'
import { noteCost, toReservation } from '../cost/at-most.ts'
import { COST_FIELDS, estimateCard, estimateData, findPrice, openMeter, SIMULATED_NOTE } from '../cost/estimate.ts'
import { type CostFlags, type FeesWithSource, findFees } from '../cost/fees.ts'
import { readCostLimit } from '../cost/limit.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import type { Output } from '../render/output.ts'
import type { DataRecord, RecordCard, View } from '../render/view.ts'
import { isV12 } from '../request/api-version.ts'
import { checkPlannedFiles, type FileUrls, printWarnings } from './check-files.ts'
import { type FinishedRun, finishedRun, noteFinished, type SendingCommand } from './finished.ts'
import type { LocalFiles } from './local-files.ts'
import { NOTHING_LEFT } from './nothing-left.ts'
import type { BatchMintFlags } from './options/flags.ts'
import type { MappedColumns } from './options/manifest-options.ts'
import { roughDuration } from './progress/progress-text.ts'
import { duplicateWarnings, otherEditionText, refuseDuplicates } from './report/row-warnings.ts'
import { checkRunPlan, describeRunSpending, estimateMaxMintUse } from './run-costs.ts'
import { hasSentRows } from './run-sender.ts'

export const DRY_RUN_VIEW: View = {
  fields: [
    'run',
    'blockchain',
    'contract_address',
    'rows',
    'to_send',
    'requests',
    'receivers',
    'bytes',
    'files',
    'reordered',
    'order',
    'seconds',
    'requests_per_second',
    'changes',
    'mapped_columns',
    'warnings',
    'notes',
    ...COST_FIELDS,
    'first_request',
  ],
  columns: ['run', 'rows', 'to_send', 'requests'],
  id: 'run',
  card: planCard,
  forms: { first_request: toRequestPairs },
}

interface DryRunInput {
  by: SendingCommand
  options: BatchOptions
  /** Reads the manifest; null to plan with the recorded rows. */
  read: (() => AsyncIterable<ManifestItem>) | null
  /** Called before the run is planned with the server. Throws to refuse the run. */
  check?: ((connection: Connection) => Promise<void>) | undefined
  /** Called with the planned rows. Throws to refuse the run. */
  checkPlan?: ((planned: PlannedEvent, connection: Connection) => Promise<void>) | undefined
  files?: FileUrls | null
  localFiles?: LocalFiles | null
  /** The mapped columns; undefined if the manifest isn't read. */
  mapped?: MappedColumns
  /** Warnings about parts of the manifest that are valid but probably unintended. */
  warnings?: RowWarnings
  settings: Settings
  output: Output
  flags: Pick<BatchMintFlags, 'stateDir' | 'allowDuplicates' | 'maxCost' | 'maxFeeGwei'> & CostFlags
}

/** Runs all checks that precede a real run, and then prints what the run would send. */
export async function printBatchDryRun(deps: Deps, running: DryRunInput): Promise<void> {
  const { options, settings } = running
  // A plan without a lookup needs neither a server nor a key.
  const connection = options.lookup === false ? null : await deps.connect(settings, 'bulk')
  try {
    if (connection !== null) await running.check?.(connection)
    await printPlan(deps, running, connection, await planRun(deps, running, connection))
  } finally {
    await connection?.client.close()
  }
}

/**
 * Returns a note on how to mint dynamic NFTs; null if the NFTs can be updated anyway, or are minted to a list of
 * receivers.
 */
async function suggestDynamicMint(
  deps: Deps,
  connection: Connection | null,
  { by, options }: Pick<DryRunInput, 'by' | 'options'>,
  { firstRequest }: DryRun,
): Promise<string | null> {
  if (by !== 'mint' || firstRequest?.endpoint !== 'createnft' || options.reading?.list !== undefined) return null
  // Only gdn's backends report whether a collection is dynamic.
  const isGdn = connection?.client.supports('updates') === true
  const collection = isGdn ? await findCollection(deps, connection, options.contractAddress) : undefined
  if (collection?.is_dynamic === true) return null
  const unless = collection?.is_dynamic === false ? '' : ', unless the collection is dynamic'
  return `To allow updates of the NFTs after the mint, add --dynamic${unless}.`
}

interface PlannedRun {
  plan: DryRun
  /** The finished run; null if the run has rows left to send. */
  finished: FinishedRun | null
  /** Measures the gas and data of the rows. */
  meter: Awaited<ReturnType<typeof openMeter>>
  limit: Awaited<ReturnType<typeof readCostLimit>> | null
  warnings: ManifestIssue[]
}

async function planRun(
  deps: Deps,
  { options, read, checkPlan, files = null, localFiles = null, warnings, settings, flags }: DryRunInput,
  connection: Connection | null,
): Promise<PlannedRun> {
  const { maxCost } = flags
  const meter = await openMeter(options.dynamic)
  const limit =
    maxCost === undefined || connection === null
      ? null
      : await readCostLimit(deps, connection, {
          flags: { ...flags, maxCost },
          settings,
          blockchain: options.blockchain,
        })
  const allWarnings: ManifestIssue[] = []
  const confirm = async (planned: PlannedEvent, _: RunLimit, mints: PlannedMints) => {
    const { refuseHidden } = await import('./reveal/minted-unrevealed.ts')
    await refuseHidden(options, planned, mints, read !== null)
    await checkRunPlan(deps, options, planned, mints)
    if (connection !== null) await checkPlan?.(planned, connection)
    await limit?.refuseIfTooLow(hasSentRows(planned), async () => toReservation(await estimateMaxMintUse(mints, 0)))
    const otherEdition = read === null ? null : otherEditionText(planned)
    if (otherEdition !== null) deps.io.warn(otherEdition)
    const { duplicates } = planned
    const inRows = planned.rows.pending > 0 ? (warnings?.all ?? []) : []
    printWarnings(deps.io, { warnings: inRows })
    // If duplicates are refused, this call throws an error that names them. Otherwise, the warnings below name them.
    refuseDuplicates(deps, flags.allowDuplicates, duplicates, warnings?.file)
    const equal =
      planned.rows.pending > 0 ? duplicateWarnings(warnings?.file ?? options.manifestPath ?? '', duplicates) : []
    printWarnings(deps.io, { warnings: equal })
    allWarnings.push(...inRows, ...equal)
    if (connection === null || planned.rows.pending === 0) return
    allWarnings.push(...(await checkPlannedFiles(deps, planned, { ...connection, files, localFiles })))
  }
  const dryRunDeps = {
    client: connection?.client ?? null,
    now: deps.steadyNow,
    sleep: deps.sleep,
    readManifest: read,
    onPlanned: ({ receiver, sender, count }: PlannedMint) => meter.add(receiver, count, sender),
    confirm,
  }
  try {
    const plan = await dryRunBatch(
      {
        ...options,
        hasCreatednft: isV12(settings),
        requestsPerSecond: settings.rate?.value,
        signal: deps.signals.signal,
      },
      dryRunDeps,
    )
    return { plan, finished: null, meter, limit, warnings: allWarnings }
  } catch (error) {
    const finished = await finishedRun(error, options)
    return { plan: finishedPlan(finished), finished, meter, limit, warnings: allWarnings }
  }
}

async function printPlan(
  deps: Deps,
  { by, options, mapped, settings, output, flags }: DryRunInput,
  connection: Connection | null,
  { plan, finished, meter, limit, warnings }: PlannedRun,
): Promise<void> {
  const { io } = deps
  if (connection !== null && finished === null && deps.quote !== null) {
    const { blockchain } = options
    const commandLimit = limit?.wei ?? null
    const maxFee = flags.maxFeeGwei ?? null
    const spending = await describeRunSpending(deps, plan, {
      connection,
      blockchain,
      commandLimit,
      storedLimit: null,
      maxFee,
      others: 0,
    })
    // The gas of rows that are already accepted isn't measured, so a typical cost that includes such rows is unknown.
    const isAll = spending?.count === plan.rows.pending + plan.rows.unknown
    if (spending !== null) await deps.quote(spending, isAll ? async () => meter.total() : null)
  }
  const fees = plan.requests === 0 ? null : await findFeesIfAvailable(deps, flags, options.blockchain, connection)
  const price = fees === null ? null : await findPrice(deps, flags, settings, fees.coin)
  const estimate = fees === null ? NO_ESTIMATE : await estimateData(meter.total(), fees, price)
  const { notes } = plan
  await output.one({
    ...planData(plan, options, settings),
    ...estimate,
    mapped_columns: mapped?.all ?? {},
    warnings,
    notes,
  })
  for (const note of notes) io.note(safe(note))
  const dynamicNote = await suggestDynamicMint(deps, connection, { by, options }, plan)
  if (dynamicNote !== null) io.note(dynamicNote)
  if (plan.requests > 1) io.note(`${plan.order}.`)
  if (fees?.isSimulated) io.note(SIMULATED_NOTE)
  if (connection !== null && plan.requests > 0) {
    const use = meter.total()
    const priced = { limit: limit?.wei ?? null, maxFee: flags.maxFeeGwei ?? null, run: plan.run.id }
    await noteCost(deps, connection, options.blockchain, {
      ...priced,
      maxUse: async () => ({ ...use.worst, estimate: use }),
    })
  }
  if (connection === null) io.note('The server was not contacted (--no-lookup).')
  io.note('Nothing was sent (--dry-run).')
  if (finished !== null) noteFinished(deps, finished, { ...flags, by })
}

const NO_ESTIMATE = Object.fromEntries(COST_FIELDS.map((field) => [field, null]))

/** Returns the plan of a run that has no rows left to send. */
function finishedPlan({ status, kept }: FinishedRun): DryRun {
  const { id, name, counts: rows } = status
  const changes = { ...noManifestChanges(), changed: kept, keptAccepted: kept }
  const nothing = { requests: 0, bytes: 0, receivers: 0, files: 0, reordered: false, seconds: 0, firstRequest: null }
  return { run: { id, name }, rows, ...nothing, order: NOTHING_LEFT, changes, notes: [] }
}

/**
 * Returns the network fees, or null if neither the server nor a node returns them. Throws if a node that a flag names
 * doesn't respond.
 */
async function findFeesIfAvailable(
  deps: Deps,
  flags: CostFlags,
  blockchain: Blockchain,
  connection: Connection | null,
): Promise<FeesWithSource | null> {
  const isNamed = flags.rpcUrl !== undefined || flags.rpcUrlFile !== undefined
  try {
    return await findFees(deps, flags, blockchain, connection === null ? null : async () => connection)
  } catch (error) {
    if (isNamed || !(error instanceof GdnError) || deps.signals.signal.aborted) throw error
    deps.io.debug(safe(`can't estimate the cost: ${error.message}`))
    return null
  }
}

function planData(plan: DryRun, options: BatchOptions, { rate }: Settings): DataRecord {
  const { run, rows, requests, receivers, bytes, files, reordered, order, seconds, firstRequest } = plan
  const { added, changed, keptAccepted: kept_accepted, removed } = plan.changes
  return {
    run: run.name,
    blockchain: options.blockchain,
    contract_address: options.contractAddress,
    rows: rows.total,
    to_send: rows.pending,
    requests,
    receivers,
    bytes,
    files,
    reordered,
    order,
    seconds: Math.round(seconds * 10) / 10,
    requests_per_second: rate?.value ?? createnft.ratePerSecond ?? null,
    changes: { added, changed, kept_accepted, removed },
    first_request: firstRequest,
  }
}

function tokenIdsText({ reordered, order }: DataRecord): string | null {
  if (order === NOTHING_LEFT) return null
  if (reordered) return "not in the manifest's order; --in-order keeps the order"
  const mayDiffer = String(order).includes('--in-order')
  return mayDiffer ? "may differ from the manifest's order; --in-order keeps the order" : "in the manifest's order"
}

/** Formats the plan for a terminal. */
function planCard(plan: DataRecord): RecordCard {
  const { rows, to_send, requests, bytes, seconds, requests_per_second, files } = plan
  const before = Number(rows) - Number(to_send)
  return [
    ['run', plan.run],
    ['contract_address', `${plan.contract_address} on ${plan.blockchain}`],
    ['rows', `${to_send} to send${before > 0 ? `, ${before} of ${rows} already sent or minted` : ''}`],
    ['changes', changesText(plan.changes)],
    ['receivers', plan.receivers],
    ['requests', Number(requests) === 0 ? 'none' : `${requests}, ${sizeText(Number(bytes))} in total`],
    ['files', Number(files) === 0 ? null : `local files of ${count(Number(files), 'row')} are uploaded first`],
    [
      'time',
      Number(requests) === 0 ? null : `${timeText(Number(seconds))} at ${requests_per_second} requests per second`,
    ],
    ['token IDs', tokenIdsText(plan)],
    ...estimateCard(plan),
    ['first request', toRequestPairs(plan.first_request)],
  ]
}

function changesText(changes: unknown): string | null {
  const { added, changed, kept_accepted, removed } = changes as Record<string, number>
  if (!added && !changed && !removed) return null
  const sentText = kept_accepted ? ` (${kept_accepted} of them already sent)` : ''
  return `${count(added ?? 0, 'row')} added, ${changed} edited${sentText}, ${removed} removed since the last run`
}

const SIZE_UNITS = ['bytes', 'kB', 'MB', 'GB'] as const

function sizeText(bytes: number): string {
  let [value, unit] = [bytes, 0]
  while (value >= 1000 && unit < SIZE_UNITS.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${SIZE_UNITS[unit]}`
}

const timeText = (seconds: number): string => (seconds < 1 ? 'less than 1 s' : `about ${roughDuration(seconds * 1000)}`)

interface Request {
  endpoint: string
  body: {
    sender_wallet_address?: string
    receiver_wallet_address: string
    metadata: readonly RequestedMetadata[]
  }
}

/** Formats a file URL. Before the upload, a local file has only a placeholder URL. */
const fileText = (url: string): string =>
  /^ipfs:\/\/ba{40,}$/.test(url) ? 'local file, uploaded before the request' : url

const MAX_SHOWN_CHARACTERS = 160
const MAX_SHOWN_KEYS = 12

/** Shortens a value of any length for a terminal. */
function shortenValue(value: unknown): string {
  return shorten(typeof value === 'string' ? value : JSON.stringify(value), MAX_SHOWN_CHARACTERS, ' …')
}

/** Returns the main fields of the first request for the user to review. `--json` prints the whole request. */
function toRequestPairs(request: unknown): [string, unknown][] | null {
  if (request === null || request === undefined) return null
  const { endpoint, body } = request as Request
  const [first, ...otherNfts] = body.metadata
  if (first === undefined) return null
  const sender = body.sender_wallet_address
  const keys: [string, unknown][] = [
    ...(first.attribute ?? []).map((attribute): [string, unknown] => [
      `attr ${attribute.tag}`,
      formatTraitValue(attribute),
    ]),
    ...extraKeys(first).map((key): [string, unknown] => [`extra ${key}`, first[key]]),
  ]
  const more = [
    ...(keys.length > MAX_SHOWN_KEYS ? [count(keys.length - MAX_SHOWN_KEYS, 'more key')] : []),
    ...(otherNfts.length > 0 ? [count(otherNfts.length, 'more NFT')] : []),
  ]
  return [
    ['endpoint', endpoint],
    ...(sender === undefined ? [] : [['sender', sender] as [string, string]]),
    ['receiver', body.receiver_wallet_address],
    ['title', shortenValue(first.title)],
    ['description', shortenValue(first.description)],
    ...first.file_fields.map(({ key, url }): [string, string] => [`file ${key}`, shortenValue(fileText(url))]),
    ...keys.slice(0, MAX_SHOWN_KEYS).map(([name, value]): [string, string] => [name, shortenValue(value)]),
    ...(more.length === 0 ? [] : [['and', more.join(', ')] as [string, string]]),
  ]
}
