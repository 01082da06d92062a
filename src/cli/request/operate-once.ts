import { randomUUID } from 'node:crypto'
import { MINT_ENDPOINTS } from '../../api/mint-endpoints.ts'
import { type RunLimit, runLimit } from '../../client/run-limit.ts'
import type { Settings } from '../../config/settings.ts'
import { count } from '../../core/count.ts'
import { GdnError, messageOf } from '../../core/errors.ts'
import { withNothingSent } from '../../core/nothing-sent.ts'
import { operate } from '../../operations/operate.ts'
import { runOrigin } from '../../operations/run-origin.ts'
import type {
  AcceptedOperation,
  OperationEvent,
  RequestSpec,
  SentOperation,
  WaitResult,
} from '../../operations/types.ts'
import { isoSeconds } from '../../operations/unknown-outcome.ts'
import { openState, type State } from '../../state/open-state.ts'
import { storeRequestMaxCost } from '../../state/operations.ts'
import type { GdnCommand } from '../command.ts'
import { addPriceFlag } from '../cost/fees.ts'
import { addMaxCostFlag, readEnforcedLimit } from '../cost/limit.ts'
import { limitAcceptedOperation } from '../cost/limit-accepted.ts'
import type { MaxCost, Money } from '../cost/price.ts'
import {
  estimateMaxRequestUse,
  estimateTypicalRequestUse,
  refuseAboveLimit,
  reservedForChanges,
} from '../cost/run-limit.ts'
import type { Connection, Deps, Spending, SpendingKind, SpendingRun } from '../deps.ts'
import { uuid } from '../flags/common.ts'
import { safe } from '../io/io.ts'
import type { Progress } from '../io/progress.ts'
import { noteMovedNames, restoreNames, withReceiverName } from './ens-names.ts'

export interface OperationFlags {
  again?: boolean
  operation?: string
  maxCost?: MaxCost
  price?: Money
  yes?: boolean
}

const SENDING_GROUP = 'Sending and waiting'

export function addOperationFlags(command: GdnCommand): void {
  command.switchFlag('--again', 'Send another request, regardless of the outcome of earlier requests', SENDING_GROUP)
  command.valueFlag('--operation <id>', 'UUID of the operation to resume or to create', {
    parse: uuid,
    group: SENDING_GROUP,
  })
  addMaxCostFlag(command, 'the request')
  addPriceFlag(command)
}

type CommandRequest = Omit<
  RequestSpec,
  'origin' | 'backend' | 'again' | 'operationId' | 'mayForget' | 'permit' | 'request'
> &
  Pick<Spending, 'findBlockchain'> & {
    /** Asks for confirmation and returns the request. `limit` is the cost limit of the operation, in wei. */
    request(limit: bigint | null): Promise<object>
    /**
     * The run that contains the operation, and its limit, if the run's requests were permitted together. Default: a
     * separate run.
     */
    limit?: RunLimit | undefined
  }

/** Sends a request at most once and reports its progress. Calls `onAccepted` when the request is accepted. */
export async function operateOnce(
  deps: Deps,
  connection: Connection,
  flags: OperationFlags,
  request: CommandRequest,
  onAccepted: (accepted: AcceptedOperation) => Promise<WaitResult>,
): Promise<void> {
  const { io, signals, now, startedAt, sleep } = deps
  const { client, server, settings } = connection
  const { again = false, operation } = flags
  if (again && operation !== undefined) {
    throw new GdnError('usage', '--again and --operation contradict each other', {
      hint: 'Use --again to send another request, or --operation to repeat one.',
    })
  }
  const backend = await deps.identify(server).catch((error: unknown) => {
    throw withNothingSent(error)
  })
  // With --operation, the server may already have the operation even if this machine has no record of it.
  const reporter = new EventReporter(deps, operation !== undefined)
  const permission = new SpendingPermission({ deps, connection, flags, request })
  const { findBlockchain: _find, limit, ...wantedRequest } = request
  const state = await openState(settings.stateDir, { signal: signals.signal })
  await operate(
    {
      state,
      client,
      now,
      startedAt,
      sleep,
      signal: signals.signal,
      onStart: (id) => io.note(`Operation ${id}`),
      onEvent: (event) => reporter.report(event),
    },
    {
      ...wantedRequest,
      content: restoreNames(io, request.content),
      // `permit` has already set `ownLimit`.
      request: async () => withReceiverName(io, await request.request(permission.ownLimit)),
      permit: (id, storedLimit) => permission.permit(id, storedLimit),
      again,
      operationId: operation ?? null,
      origin: runOrigin(server, backend),
      backend,
      mayForget: server.isLoopback && backend.id === null,
    },
    async (accepted) => {
      reporter.stop()
      noteMovedNames(io, accepted.request.body)
      if (limit === undefined && reporter.isRepeated) await permission.limitAccepted(accepted, state)
      const ending = await onAccepted(accepted)
      if (!ending.ended)
        io.note('Run the same command again to resume the operation, or add --again to send another request.')
      return ending
    },
  ).finally(() => {
    reporter.stop()
    state.close()
  })
}

interface OperationContext {
  deps: Deps
  connection: Connection
  flags: OperationFlags
  request: CommandRequest
}

/** Requests permission for an operation, and sets its cost limit. */
class SpendingPermission {
  /** The limit of the operation, in wei; null if it has none. Set by `permit`. */
  ownLimit: bigint | null = null
  #permittedLimit: RunLimit | null = null
  readonly #operating: OperationContext

  constructor(operating: OperationContext) {
    this.#operating = operating
  }

  async permit(id: string, storedLimit: bigint | null): Promise<RunLimit | null> {
    const { deps, connection, flags, request } = this.#operating
    if (request.limit !== undefined) return request.limit
    const { blockchain, findBlockchain, endpoint } = request
    const commandLimit =
      flags.maxCost === undefined ? null : await readOperationLimit(deps, connection, flags, { ...request, id })
    this.ownLimit = commandLimit ?? storedLimit
    const maxCost = this.ownLimit === null ? null : { wei: this.ownLimit, isSet: commandLimit !== null }
    const run = operationRun(id, endpoint, maxCost)
    const permitted = await deps.permit({ connection, blockchain, findBlockchain, run, ...spendingKind(request) })
    this.#permittedLimit =
      permitted === null && this.ownLimit === null ? null : runLimit(id, { permitted, commandLimit, storedLimit })
    return this.#permittedLimit
  }

  /** Sets the limit of an operation that was accepted earlier. */
  async limitAccepted(accepted: AcceptedOperation, state: State): Promise<void> {
    const { deps, connection, flags } = this.#operating
    const { id, request } = accepted
    const commandLimit =
      flags.maxCost === undefined ? null : async () => this.#permittedLimit ?? (await this.permit(id, null))
    const storeLimit = (wei: bigint | null) => state.write((sql) => storeRequestMaxCost(sql, request, wei))
    await limitAcceptedOperation(deps, connection, accepted, { commandLimit, storeLimit, yes: flags.yes })
  }
}

/**
 * In a dry run, which has no prompt, reports the cost of a request and checks its limit.
 *
 * @throws GdnError `max_cost` if the request may cost more than its limit
 */
export async function quoteOperation(
  deps: Deps,
  settings: Settings,
  flags: Pick<OperationFlags, 'maxCost' | 'price'>,
  wantedRequest: Pick<CommandRequest, 'endpoint' | 'blockchain' | 'content' | 'findBlockchain'>,
): Promise<void> {
  if (deps.quote === null && flags.maxCost === undefined) return
  const { blockchain, findBlockchain, endpoint, content } = wantedRequest
  const connection = await deps.connect(settings)
  const id = randomUUID()
  const wei =
    flags.maxCost === undefined ? null : await readOperationLimit(deps, connection, flags, { ...wantedRequest, id })
  const run = operationRun(id, endpoint, wei === null ? null : { wei, isSet: true })
  await deps.quote?.({ connection, blockchain, findBlockchain, run, ...spendingKind(wantedRequest) }, () =>
    estimateTypicalRequestUse(endpoint, Object(content)),
  )
}

/** Returns a run that consists of a single operation. */
const operationRun = (id: string, endpoint: string, maxCost: SpendingRun['maxCost']): SpendingRun => ({
  id,
  isOperation: true,
  canLimit: maxCost !== null || MINT_ENDPOINT_NAMES.has(endpoint),
  accepted: 0,
  maxCost,
})

/**
 * Returns the cost limit of an operation, in wei. The operation is a separate run with the same ID, so a repeated
 * request counts toward the same limit.
 *
 * @throws GdnError `max_cost` if the request may cost more; `refused` if the server doesn't limit costs; `usage`
 */
async function readOperationLimit(
  deps: Deps,
  connection: Connection,
  flags: Pick<OperationFlags, 'maxCost' | 'price'>,
  {
    id,
    endpoint,
    content,
    ...wantedRequest
  }: Pick<CommandRequest, 'endpoint' | 'blockchain' | 'content' | 'findBlockchain'> & { id: string },
): Promise<bigint | null> {
  const { settings } = connection
  const blockchain =
    wantedRequest.blockchain ?? (await wantedRequest.findBlockchain?.()) ?? settings.blockchain?.value ?? null
  if (blockchain === null) {
    throw new GdnError('usage', "the blockchain is not known, so its costs can't be limited", {
      place: { flag: '--max-cost' },
      hint: 'Add --blockchain <name>.',
    })
  }
  const commandLimit = await readEnforcedLimit(deps, connection, { flags, settings, blockchain })
  await refuseAboveLimit(deps, connection, {
    blockchain,
    run: id,
    commandLimit,
    storedLimit: null,
    isOperation: true,
    reserved: async () => reservedForChanges(await estimateMaxRequestUse(endpoint, Object(content))),
  })
  return commandLimit
}

/** Events after which the server may already have accepted the request, perhaps with a different cost limit. */
const REPEATED_EVENTS: ReadonlySet<OperationEvent['type']> = new Set(['going_on', 'in_doubt', 'found', 'lost'])

const MINT_ENDPOINT_NAMES: ReadonlySet<string> = new Set(MINT_ENDPOINTS)

function spendingKind({ endpoint, content }: Pick<CommandRequest, 'endpoint' | 'content'>): SpendingKind {
  if (endpoint === 'createcollection') {
    const { name, royalty_bps = 0 } = content as { name: string; royalty_bps?: number }
    return { kind: 'collection', name, royaltyBps: royalty_bps }
  }
  const { metadata, nft_gdn_ids } = content as { metadata?: readonly unknown[]; nft_gdn_ids?: readonly unknown[] }
  return { kind: 'nft', count: (metadata ?? nft_gdn_ids ?? [null]).length }
}

class EventReporter {
  /** Whether the server may already have accepted the request. */
  isRepeated: boolean
  readonly #io: Deps['io']
  #progress: Progress | null = null

  constructor({ io }: Deps, isRepeated: boolean) {
    this.#io = io
    this.isRepeated = isRepeated
  }

  async report(event: OperationEvent): Promise<void> {
    if (REPEATED_EVENTS.has(event.type)) this.isRepeated = true
    if (event.type === 'looking') {
      return await this.#showProgress(`Searching the collection: ${event.ids} of ${count(event.ofIds, 'new NFT')} read`)
    }
    if (event.type === 'looking_again') {
      return await this.#showProgress(`Not found yet. Searching for another ${Math.ceil(event.waitingMs / 1000)} s`)
    }
    if (event.type === 'refused_for_now')
      return await this.#showProgress(`Waiting to send the request: ${safe(event.reason)}`)
    this.stop()
    if (event.type !== 'not_kept') return this.#io.note(formatEvent(event))
    this.#io.warn(
      `The outcome can't be recorded in ${safe(event.path)} (${safe(messageOf(event.error))}). If you repeat the command, gdn will have no record of the outcome.`,
    )
  }

  stop(): void {
    this.#progress?.stop()
    this.#progress = null
  }

  async #showProgress(text: string): Promise<void> {
    if (this.#progress === null) this.#progress = await this.#io.progress(text)
    else this.#progress.update(text)
  }
}

function formatEvent(
  event: Exclude<OperationEvent, { type: 'refused_for_now' | 'looking' | 'looking_again' | 'not_kept' }>,
): string {
  switch (event.type) {
    case 'going_on':
      return `This request was accepted at ${isoSeconds(event.operation.accepted.at)}. Resuming it. To send another request, add --again.`
    case 'in_doubt':
      return `This request was sent at ${isoSeconds(event.operation.request.sentAt ?? 0)}, and its outcome is unknown. gdn now searches for its result.`
    case 'found':
      return `Found ${describeOperation(event.operation)}. Resuming it.`
    case 'set_aside':
      return `Ignoring ${describeOperation(event.operation)}. Sending another request.`
    case 'lost':
      return `The backend was restored from a backup and has no record of ${describeOperation(event.operation)}. gdn now searches for its result.`
    case 'copied':
      return `The state directory may be a copy: ${event.reason}. gdn checks the collection before it sends anything.`
    case 'forgotten':
      return `This server has no record of ${describeOperation(event.operation)}. Sending it again.`
  }
}

/** Describes an earlier operation: the time of its acceptance and its IDs, or else the time when it was sent. */
function describeOperation({ accepted, request }: SentOperation): string {
  if (accepted === null)
    return `the request with an unknown outcome that was sent at ${isoSeconds(request.sentAt ?? 0)}`
  const ids = accepted.nfts.map(({ nft_gdn_id }) => nft_gdn_id)
  if (accepted.transaction_gdn_id !== null) ids.push(accepted.transaction_gdn_id)
  const listedIds = ids.length > 3 ? `${ids.slice(0, 3).join(', ')}, …` : ids.join(', ')
  return `the request accepted at ${isoSeconds(accepted.at)}${listedIds === '' ? '' : ` (${safe(listedIds)})`}`
}
