import { GdnError, messageOf } from '../../core/errors.ts'
import { operate } from '../../operations/operate.ts'
import { contestedContents } from '../../operations/reconcile/contested.ts'
import { runOrigin } from '../../operations/run-origin.ts'
import type { AcceptedOperation, Ending, OperationEvent, SentOperation, Wanted } from '../../operations/types.ts'
import { timeOf } from '../../operations/unknown-outcome.ts'
import { openState } from '../../state/open-state.ts'
import { type GdnCommand, switchFlag, valueFlag } from '../command.ts'
import type { Connection, Deps, Spending, SpendingKind } from '../deps.ts'
import { uuid } from '../flags/parse.ts'
import { safe } from '../io/io.ts'
import type { Progress } from '../io/progress.ts'
import { count } from '../render/count.ts'

/** Flags of commands that send one request. */
export interface OperationFlags {
  again?: boolean
  operation?: string
}

const GROUP = 'Sending and waiting'

export function addOperationFlags(command: GdnCommand): void {
  switchFlag(command, '--again', 'Send another request, regardless of the outcome of an earlier one', GROUP)
  valueFlag(command, '--operation <id>', 'Repeat the operation with this UUID, or give a new one this ID', {
    parse: uuid,
    group: GROUP,
  })
}

type WantedByCommand = Omit<Wanted, 'origin' | 'backend' | 'again' | 'operationId' | 'mayForget' | 'permit'> &
  Pick<Spending, 'findBlockchain'>

/** Sends one request at most once, and reports its progress. */
export async function operateOnce(
  deps: Deps,
  connection: Connection,
  { again = false, operation }: OperationFlags,
  { findBlockchain, ...wanted }: WantedByCommand,
  act: (accepted: AcceptedOperation) => Promise<Ending>,
): Promise<void> {
  const { io, signals, now, startedAt, sleep } = deps
  const { client, server, settings } = connection
  if (again && operation !== undefined) {
    throw new GdnError('usage', '--again and --operation contradict each other', {
      hint: 'Use --again to send another request, or --operation to repeat one.',
    })
  }
  const backend = await deps.identify(server)
  const origin = runOrigin(server, backend)
  const reporter = new EventReporter(deps)
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
      contested: async (contract, blockchain) =>
        await state.read((sql) => contestedContents(sql, { origin, backendId: backend.id, blockchain, contract })),
    },
    {
      ...wanted,
      async permit(id) {
        const { blockchain, endpoint } = wanted
        const run = { id, isOperation: true, canLimit: MINTS.has(endpoint), accepted: 0, maxCost: null }
        return await deps.permit({ connection, blockchain, findBlockchain, run, ...kindOf(wanted) })
      },
      again,
      operationId: operation ?? null,
      origin,
      backend,
      mayForget: server.loopback && backend.id === null,
    },
    async (accepted) => {
      reporter.done()
      const ending = await act(accepted)
      if (!ending.ended) io.note('Run the same command to resume it, or add --again to send another.')
      return ending
    },
  ).finally(() => {
    reporter.done()
    state.close()
  })
}

const MINTS: ReadonlySet<string> = new Set(['createnft', 'creatednft', 'createnfttrans'])

/** What a request creates or changes, by its content. */
function kindOf({ endpoint, content }: WantedByCommand): SpendingKind {
  if (endpoint === 'createcollection') {
    const { name, royalty_bps = 0 } = content as { name: string; royalty_bps?: number }
    return { kind: 'collection', name, royaltyBps: royalty_bps }
  }
  const { metadata, nft_gdn_ids } = content as { metadata?: readonly unknown[]; nft_gdn_ids?: readonly unknown[] }
  return { kind: 'nft', count: (metadata ?? nft_gdn_ids ?? [null]).length }
}

class EventReporter {
  readonly #io: Deps['io']
  #progress: Progress | null = null

  constructor({ io }: Deps) {
    this.#io = io
  }

  async report(event: OperationEvent): Promise<void> {
    if (event.type === 'looking') {
      return await this.#look(`Searching the collection: ${event.ids} of ${count(event.ofIds, 'new NFT')} read`)
    }
    if (event.type === 'looking_again') {
      return await this.#look(`Not found yet, searching for another ${Math.ceil(event.waitingMs / 1000)} s`)
    }
    this.done()
    if (event.type !== 'not_kept') return this.#io.note(sentenceOf(event))
    this.#io.warn(
      `The outcome can't be recorded in ${safe(event.path)} (${safe(messageOf(event.error))}). A repeated command will not know it.`,
    )
  }

  done(): void {
    this.#progress?.stop()
    this.#progress = null
  }

  async #look(text: string): Promise<void> {
    if (this.#progress === null) this.#progress = await this.#io.progress(text)
    else this.#progress.update(text)
  }
}

function sentenceOf(event: Exclude<OperationEvent, { type: 'looking' | 'looking_again' | 'not_kept' }>): string {
  switch (event.type) {
    case 'going_on':
      return `This request was accepted at ${timeOf(event.operation.accepted.at)}. Resuming it (--again sends another).`
    case 'in_doubt':
      return `This request was sent at ${timeOf(event.operation.request.sentAt ?? 0)}, and its outcome is unknown. Looking for it.`
    case 'found':
      return `Found ${whatOf(event.operation)}. Resuming it.`
    case 'set_aside':
      return `Set aside ${whatOf(event.operation)}. Sending another.`
    case 'lost':
      return `The backend was restored from a backup and no longer knows ${whatOf(event.operation)}. Looking for it.`
    case 'copied':
      return `The state directory may be a copy: ${event.reason}. The collection is checked before anything is sent.`
    case 'forgotten':
      return `This server does not know ${whatOf(event.operation)}. Sending it again.`
  }
}

/** Describes an earlier operation: when it was accepted and its IDs, or when it was sent. */
function whatOf({ accepted, request }: SentOperation): string {
  if (accepted === null) return `the request of unknown outcome that was sent at ${timeOf(request.sentAt ?? 0)}`
  const ids = accepted.nfts.map(({ nft_gdn_id }) => nft_gdn_id)
  if (accepted.transaction_gdn_id !== null) ids.push(accepted.transaction_gdn_id)
  const named = ids.length > 3 ? `${ids.slice(0, 3).join(', ')}, …` : ids.join(', ')
  return `the request accepted at ${timeOf(accepted.at)}${named === '' ? '' : ` (${safe(named)})`}`
}
