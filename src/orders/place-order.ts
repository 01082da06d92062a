import { randomUUID } from 'node:crypto'
import type { Blockchain } from '../api/blockchains.ts'
import type { Creation } from '../api/creation.ts'
import { type CreatingEndpoint, loadEndpoint } from '../api/endpoints.ts'
import { IdSet } from '../batch/reconcile/id-set.ts'
import { listIds } from '../batch/reconcile/listing.ts'
import type { ApiClient } from '../client/api-client.ts'
import {
  type Backend,
  isRestored,
  refuseOtherBackend,
  refuseSilentBackend,
  type SeenBackend,
} from '../client/backend.ts'
import { GdnError } from '../core/errors.ts'
import { type Accepted, type AcceptedOrder, type Order, orderId } from './order.ts'
import { OrderFiles } from './order-files.ts'
import { isKnown, type LookDeps, lookForOrder } from './reconcile.ts'

/** What is ordered. */
export interface OrderRequest {
  endpoint: CreatingEndpoint
  /** As runs know the server. */
  origin: string
  /** Null where that isn't known before the request is made. */
  blockchain: Blockchain | null
  /** The collection; null as above, and for one that is to be created. */
  contract: string | null
  /** What names the order among all others: the request, with files by what they hold. */
  content: unknown
  /** What this process does, for another one that finds it at work. */
  note: string
  /** Orders another, whatever became of an earlier one. */
  again: boolean
  /** The backend that answers now. */
  backend: SeenBackend
  /** A server without an ID may be another one than last time, or have been emptied: one on this machine. */
  mayForget: boolean
  /** The request as it is sent; asked for only when one is to be sent. May ask, upload, refuse. */
  request(): Promise<object>
}

export type OrderEvent =
  /** An earlier order of this content was accepted, and its end was never told. */
  | { type: 'going_on'; order: AcceptedOrder }
  /** Nobody knows what became of an earlier one. */
  | { type: 'in_doubt'; order: Order }
  | { type: 'looking'; ids: number; ofIds: number }
  | { type: 'looking_again'; waitingMs: number }
  | { type: 'found'; order: AcceptedOrder }
  | { type: 'set_aside'; order: Order }
  /** The server knows nothing of what was accepted: it isn't the one that took it, or was emptied. */
  | { type: 'forgotten'; order: AcceptedOrder }
  /** The backend no longer knows what it accepted, since it was restored from a backup. */
  | { type: 'lost'; order: AcceptedOrder }
  /** What happened can't be written down; it is told all the same. */
  | { type: 'not_kept'; path: string; error: unknown }

export interface OrderDeps {
  stateDir: string
  client: Pick<ApiClient, 'create' | 'call' | 'learnIdempotency'>
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  signal: AbortSignal
  onEvent(event: OrderEvent): Promise<void> | void
  batches: LookDeps['batches']
}

/** What became of waiting for an accepted order. */
export interface Ending {
  /** Nothing more is to come: the next command of this content is a new order. */
  ended: boolean
  problem: Error | null
}

/**
 * Asks the server for something at most once. The request is on the disk before a byte leaves, so the same command
 * again knows of it: what was accepted is gone on with, what is unknown is found out, or told as `unknown_outcome`.
 * Nothing that may have had an effect is sent again, unless the server honours Idempotency-Key, or `again` orders
 * another.
 *
 * @param act waits for what was accepted and prints it; the order is at its end when it says so
 * @throws GdnError `run_busy` while another process has the same order under way, `data_dir` when nothing can be
 *   written down, `unknown_outcome`, and what `act` complains about
 */
export async function placeOrder(
  deps: OrderDeps,
  wanted: OrderRequest,
  act: (order: AcceptedOrder) => Promise<Ending>,
): Promise<void> {
  const files = new OrderFiles(deps.stateDir)
  const id = orderId(wanted)
  const { creates } = await loadEndpoint(wanted.endpoint)
  const release = await files.lock(id, wanted.note)
  let nothingLeft = false
  try {
    const order = await new Placing(deps, files, wanted, creates, id).accepted()
    const { ended, problem } = await act(order)
    if (ended) nothingLeft = await keep(deps, files.pathOf(id), () => files.tell(order, deps.now()))
    if (problem !== null) throw problem
  } finally {
    nothingLeft ||= (await files.read(id).catch(() => undefined)) === null
    await release(nothingLeft).catch(() => undefined)
  }
}

/** Writes down what has happened already. Where that fails it is told, and the command goes on: it can't be undone. */
async function keep({ onEvent }: OrderDeps, path: string, write: () => Promise<void>): Promise<boolean> {
  try {
    await write()
    return true
  } catch (error) {
    await onEvent({ type: 'not_kept', path, error })
    return false
  }
}

class Placing {
  readonly #deps: OrderDeps
  readonly #files: OrderFiles
  readonly #wanted: OrderRequest
  readonly #creates: Creation
  readonly #id: string

  constructor(deps: OrderDeps, files: OrderFiles, wanted: OrderRequest, creates: Creation, id: string) {
    this.#deps = deps
    this.#files = files
    this.#wanted = wanted
    this.#creates = creates
    this.#id = id
  }

  /** The order as the server took it: now, or earlier. */
  async accepted(): Promise<AcceptedOrder> {
    const { onEvent, now } = this.#deps
    const earlier = await this.#files.read(this.#id)
    if (earlier === null) return await this.#send(await this.#newOrder())
    refuseSilentBackend(this.#wanted.backend)
    if (this.#wanted.again) {
      const order = await this.#newOrder()
      await this.#files.setAside(earlier, now())
      await onEvent({ type: 'set_aside', order: earlier })
      return await this.#send(order)
    }
    const recorded = recordedBackend(earlier)
    refuseOtherBackend(`what was sent at ${timeOf(earlier.sent_at)}`, recorded, this.#wanted.backend)
    const restored = isRestored(recorded, this.#wanted.backend)
    if (!isAccepted(earlier)) return await this.#resolve(earlier, restored)
    if (restored && !(await isKnown(earlier, this.#creates, this.#deps))) {
      await onEvent({ type: 'lost', order: earlier })
      return await this.#lookFor({ ...earlier, state: 'unknown', reason: LOST, accepted: null })
    }
    if (await this.#isForgotten(earlier)) {
      await onEvent({ type: 'forgotten', order: earlier })
      // Under its key: should the server know of it after all, this is no second one.
      return await this.#send({ ...(await this.#newOrder()), key: earlier.key })
    }
    await onEvent({ type: 'going_on', order: earlier })
    return earlier
  }

  /** Only a server that honours Idempotency-Key shows at once what it accepted: others' lists lag. */
  async #isForgotten(order: AcceptedOrder): Promise<boolean> {
    const { client, signal } = this.#deps
    if (!this.#wanted.mayForget || (await isKnown(order, this.#creates, this.#deps))) return false
    return (await client.learnIdempotency({ signal })) === true
  }

  async #newOrder(): Promise<Order> {
    const { endpoint, origin, backend, blockchain, contract } = this.#wanted
    const { url, id, incarnation } = backend
    const body = JSON.stringify(await this.#wanted.request())
    refuseSilentBackend(backend)
    return {
      id: this.#id,
      endpoint,
      origin,
      backend: { url, id, incarnation },
      blockchain,
      contract,
      key: randomUUID(),
      body,
      state: 'sending',
      sent_at: 0,
      reason: null,
      before: await this.#idsBefore(),
      accepted: null,
    }
  }

  /**
   * The NFTs that are there already, where the server gives no other means to tell later whether a request arrived.
   * Null where it needs no look or allows none.
   */
  async #idsBefore(): Promise<string | null> {
    const { client, signal } = this.#deps
    const { contract, blockchain } = this.#wanted
    if (contract === null || blockchain === null || this.#creates.effect.in !== 'collection') return null
    // Unknown means that the server gave no answer: sending will tell that better.
    if ((await client.learnIdempotency({ signal })) !== false) return null
    try {
      const ids = await listIds({ client, signal }, { contractAddress: contract, blockchain })
      if (ids === null) throw signal.reason
      return IdSet.of(ids).toBytes().toString('base64')
    } catch (error) {
      if (error instanceof GdnError && NOT_LISTED.has(error.code)) return null
      throw error
    }
  }

  /** Finds out what became of an order that may have had an effect. */
  async #resolve(order: Order, restored: boolean): Promise<AcceptedOrder> {
    const { client, signal, onEvent } = this.#deps
    await onEvent({ type: 'in_doubt', order })
    // A restored backend may have lost the record of the key after it minted: it is looked for instead.
    if (!restored && (await client.learnIdempotency({ signal })) !== false) {
      return await this.#send({ ...order, state: 'unknown', reason: order.reason ?? ENDED_EARLY })
    }
    return await this.#lookFor(order)
  }

  /** Looks at the server for an order whose outcome is unknown; sends nothing. */
  async #lookFor(order: Order): Promise<AcceptedOrder> {
    const { onEvent } = this.#deps
    const all = await this.#files.all()
    const copiesAside = all.filter((one) => one.id === order.id && one.accepted === null).length - 1
    const looked = await lookForOrder(order, this.#creates, {
      ...this.#deps,
      copiesAside: Math.max(0, copiesAside),
      ordered: new Set(all.flatMap(({ accepted }) => accepted?.nfts.map(({ nft_gdn_id }) => nft_gdn_id) ?? [])),
      onLook: (look) =>
        onEvent('waitingMs' in look ? { type: 'looking_again', ...look } : { type: 'looking', ...look }),
    })
    if (looked.kind === 'unknown') throw unknownOutcome(order, this.#creates, looked.reason, looked.ids)
    const found = await this.#accept(order, looked.accepted)
    await onEvent({ type: 'found', order: found })
    return found
  }

  async #send(order: Order): Promise<AcceptedOrder> {
    const { client, signal, now } = this.#deps
    const inDoubt = order.state === 'unknown'
    let current = order
    const write = async (change: Partial<Order>) => {
      current = { ...current, ...change }
      await this.#files.write(current)
    }
    try {
      const response = await client.create(order.endpoint, Buffer.from(order.body), {
        idempotencyKey: order.key,
        signal,
        doubt: inDoubt ? (order.reason ?? ENDED_EARLY) : undefined,
        check: (response) => this.#creates.problem(JSON.parse(order.body), response),
        record: {
          sending: async () => {
            // Once in doubt, the next sending is the same one again.
            if (current.state !== 'unknown') await write({ state: 'sending', sent_at: now() })
          },
          noEffect: () => this.#files.remove(order.id).catch(() => undefined),
          // Where this can't be written, what stands there says as much: a byte may have left.
          unknown: (reason) => write({ state: 'unknown', reason }).catch(() => undefined),
        },
      })
      return await this.#accept(current, { ...this.#creates.accepted(response), by: 'answer', at: now() })
    } catch (error) {
      if (!(error instanceof GdnError) || error.code !== 'unknown_outcome') throw error
      throw unknownOutcome(current, this.#creates, reasonOf(error), [], error)
    }
  }

  async #accept(order: Order, accepted: Accepted): Promise<AcceptedOrder> {
    const { url, id, incarnation } = this.#wanted.backend
    const backend = { url, id, incarnation }
    const taken: AcceptedOrder = { ...order, backend, state: 'accepted', reason: null, before: null, accepted }
    await keep(this.#deps, this.#files.pathOf(order.id), () => this.#files.write(taken))
    return taken
  }
}

const LOST = 'the backend was restored from a backup and no longer knows it'
const ENDED_EARLY = 'gdn ended before the answer came'

/** Answers to getnftgdnids after which the collection can't be listed, and may well be minted in. */
const NOT_LISTED = new Set(['forbidden', 'refused', 'not_found', 'bad_answer'])

/** The backend that an order was sent to; one of an older gdn doesn't tell. */
const recordedBackend = ({ backend, origin }: Order): Backend => backend ?? { url: origin, id: null, incarnation: null }

const isAccepted = (order: Order): order is AcceptedOrder => order.accepted !== null

/** Seconds are enough for a person, and sort as text. */
export const timeOf = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')

/** Why nobody knows, without the sentence around it. */
const reasonOf = ({ details, message }: GdnError): string =>
  details !== null && typeof details === 'object' && 'reason' in details ? String(details.reason) : message

function unknownOutcome(
  order: Order,
  { hints }: Creation,
  reason: string,
  ids: readonly string[],
  cause?: unknown,
): GdnError {
  const { endpoint, sent_at, key, body } = order
  const seen = ids.length === 0 ? '' : ` (${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ', …' : ''})`
  return new GdnError(
    'unknown_outcome',
    `${endpoint} was sent at ${timeOf(sent_at)}, and whether it took effect is unknown: ${reason}${seen}`,
    {
      hint: `${hints.command}; --again orders another, and pays for it, whatever became of this one`,
      details: {
        endpoint,
        sent_at: timeOf(sent_at),
        idempotency_key: key,
        request: JSON.parse(body) as unknown,
        nft_gdn_ids: ids,
      },
      cause,
    },
  )
}
