import type { Settings } from '../../config/settings.ts'
import { messageOf } from '../../core/errors.ts'
import type { AcceptedOrder, Order } from '../../orders/order.ts'
import { type Ending, type OrderEvent, type OrderRequest, placeOrder, timeOf } from '../../orders/place-order.ts'
import { type GdnCommand, switchFlag } from '../command.ts'
import { runOrigin } from '../connect/run-origin.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import type { Progress } from '../io/progress.ts'
import { count } from '../render/count.ts'

/** Flag of commands that order one thing. */
export interface AgainFlag {
  again?: boolean
}

export function addAgainFlag(command: GdnCommand, group = 'Sending and waiting'): GdnCommand {
  return switchFlag(command, '--again', 'Order another, whatever became of an earlier one', group)
}

type Wanted = Omit<OrderRequest, 'origin' | 'backend' | 'again' | 'mayForget'> & AgainFlag

/** Orders one thing by the journal of orders, and says to people what becomes of it. */
export async function order(
  deps: Deps,
  { client, server, settings }: Connection & { settings: Settings },
  { again = false, ...wanted }: Wanted,
  act: (accepted: AcceptedOrder) => Promise<Ending>,
): Promise<void> {
  const { io, signals, now, sleep } = deps
  const backend = await deps.identify(server)
  const origin = runOrigin(server, backend)
  const reporter = new EventReporter(deps)
  await placeOrder(
    {
      stateDir: settings.stateDir,
      client,
      now,
      sleep,
      signal: signals.signal,
      onEvent: (event) => reporter.report(event),
      batches: async (contractAddress, blockchain) => {
        const { readOthers } = await import('../../batch/reconcile/known-ids.ts')
        // No run is left out: what is ordered here is none.
        return await readOthers({ stateDir: settings.stateDir, origin, backend, blockchain, contractAddress }, '', {})
      },
    },
    { ...wanted, again, origin, backend, mayForget: server.loopback && backend.id === null },
    async (accepted) => {
      reporter.done()
      const ending = await act(accepted)
      if (!ending.ended) io.note('The same command goes on with it; with --again it orders another.')
      return ending
    },
  ).finally(() => reporter.done())
}

class EventReporter {
  readonly #io: Deps['io']
  #progress: Progress | null = null

  constructor({ io }: Deps) {
    this.#io = io
  }

  async report(event: OrderEvent): Promise<void> {
    if (event.type === 'looking') {
      return await this.#look(`Looking into the collection: ${event.ids} of ${count(event.ofIds, 'new NFT')} read`)
    }
    if (event.type === 'looking_again') {
      return await this.#look(`Not seen yet; looking for another ${Math.ceil(event.waitingMs / 1000)} s`)
    }
    this.done()
    if (event.type !== 'not_kept') return this.#io.note(sentenceOf(event))
    this.#io.warn(
      `What was done can't be written to ${safe(event.path)} (${safe(messageOf(event.error))}): the same command will not know of it.`,
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

function sentenceOf(event: Exclude<OrderEvent, { type: 'looking' | 'looking_again' | 'not_kept' }>): string {
  switch (event.type) {
    case 'going_on':
      return `This was accepted at ${timeOf(event.order.accepted.at)}; going on with it (--again orders another).`
    case 'in_doubt':
      return `This was sent at ${timeOf(event.order.sent_at)}, and no answer told what became of it; finding out.`
    case 'found':
      return `It is there: ${whatOf(event.order)}. Going on with it.`
    case 'set_aside':
      return `Set aside: ${whatOf(event.order)}. Ordering another.`
    case 'lost':
      return `The backend was restored from a backup and no longer knows ${whatOf(event.order)}; looking for it.`
    case 'forgotten':
      return `This server knows nothing of ${whatOf(event.order)}; ordering it anew.`
  }
}

/** An earlier order in a few words: when it was accepted as what, or when it was sent. */
function whatOf({ accepted, sent_at }: Order): string {
  if (accepted === null) return `what was sent at ${timeOf(sent_at)}, of unknown outcome`
  const ids = accepted.nfts.map(({ nft_gdn_id }) => nft_gdn_id)
  if (accepted.transaction_gdn_id !== null) ids.push(accepted.transaction_gdn_id)
  const named = ids.length > 3 ? `${ids.slice(0, 3).join(', ')}, …` : ids.join(', ')
  return `what was accepted at ${timeOf(accepted.at)}${named === '' ? '' : ` (${safe(named)})`}`
}
