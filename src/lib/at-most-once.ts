import { v5 } from 'uuid'
import type { Blockchain } from '../api/blockchains.ts'
import { findMisspelledKey } from '../api/misspelled-key.ts'
import { formatPath } from '../api/validate.ts'
import { encode } from '../client/codec.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { listSome } from '../core/list-some.ts'
import { rejectOnAbort } from '../core/or-aborted.ts'
import { terminalText } from '../core/terminal-text.ts'
import { sleep } from '../core/time.ts'
import { DEFAULT_WAIT_MS } from '../operations/defaults.ts'
import { operate } from '../operations/operate.ts'
import { runOrigin } from '../operations/run-origin.ts'
import type { AcceptedOperation } from '../operations/types.ts'
import {
  createMintedCheck,
  type NftWait,
  waitForCollection,
  waitForNfts,
  waitForTransfer,
} from '../operations/waiting.ts'
import { type KnownCollection, listKnownCollections, storeKnownCollection } from '../state/known-collections.ts'
import { openState, type State } from '../state/open-state.ts'
import { findServerOrigin, readOperation } from '../state/operations.ts'
import type { ClientConnection, IdentifiedClient } from './connection.ts'
import { findDifferences } from './differences.ts'
import type {
  CollectionRequest,
  CreatedCollection,
  Minted,
  MintRequest,
  Nft,
  OperationOptions,
  TransferRequest,
  Transferred,
  WaitOptions,
} from './types.ts'

/** The namespace of operation IDs. It must never change, so that a key always maps to the same ID. */
const NAMESPACE = '5b1f0f0a-6c7e-4f0b-9a53-5d0c1e9b7a42'
const MAX_KEY_LENGTH = 255
/** Milliseconds between two checks of whether another process has finished. */
const BUSY_MS = 100

/** Returns the operation ID for an idempotency key. */
export const toOperationId = (idempotencyKey: string): string => v5(idempotencyKey, NAMESPACE)

/** The state and the identified backend, which concurrent calls share. */
interface Session extends IdentifiedClient {
  state: State
}

/** Sends requests at most once for each idempotency key. Each request is an operation in the state database. */
export class AtMostOnce {
  readonly #connection: ClientConnection
  #session: Promise<Session> | undefined
  readonly #callsPerSession = new Map<Promise<Session>, number>()

  constructor(connection: ClientConnection) {
    this.#connection = connection
  }

  async createCollection(request: CollectionRequest, options: OperationOptions): Promise<CreatedCollection> {
    const { operation, operationId, body } = await this.#operate('createcollection', request, options)
    const { transaction_gdn_id, accepted_date } = operation.accepted
    // Only a response can show that a collection was accepted, because the API has no list of collections.
    if (transaction_gdn_id === null) throw new Error('a collection was accepted without an ID')
    const { blockchain } = body
    if (blockchain === undefined) throw new Error('a collection was accepted without a blockchain')
    const accepted = { transaction_gdn_id, accepted_date }
    const { name, wallet_address } = request
    const created_at = new Date(operation.accepted.at).toISOString()
    const recorded = { transaction_gdn_id, name, blockchain, wallet_address, created_at }
    await this.#remember({ ...recorded, contract_address: null })
    if (options.wait === false) return { operationId, collection: accepted }
    return await this.#waitForEffect(operationId, async () => {
      const { record, problem } = await waitForCollection(
        await this.#waitDeps(options),
        transaction_gdn_id,
        options.timeoutMs,
      )
      if (record?.contract_address) await this.#remember({ ...recorded, contract_address: record.contract_address })
      if (problem !== null)
        throw problem.withHint('Fix the cause, and create the collection with a new idempotency key.')
      const { transaction_gdn_ids: _, ...observed } = record ?? {}
      return { operationId, collection: { ...observed, ...accepted } }
    })
  }

  async mint(request: MintRequest, options: OperationOptions): Promise<Minted> {
    const endpoint = fieldOf(request, 'sender_wallet_address') === undefined ? 'createnft' : 'createnfttrans'
    const { operation, operationId, body } = await this.#operate(endpoint, request, options)
    const { nfts } = operation.accepted
    if (options.wait === false) return { operationId, nfts }
    const ids = nfts.map(({ nft_gdn_id }) => nft_gdn_id)
    const isDone = createMintedCheck(endpoint, body as { receiver_wallet_address: string })
    const records = await this.#waitForEffect(operationId, () => this.#wait(ids, options, { isDone, isAccepted: true }))
    return { operationId, nfts: nfts.map((nft, i) => ({ ...nft, ...records[i] })) }
  }

  async transfer(request: TransferRequest, options: OperationOptions): Promise<Transferred> {
    const { operation, operationId, wasSentBefore } = await this.#operate('transfernft', request, options)
    const { transaction_gdn_id, accepted_date } = operation.accepted
    const accepted = { transaction_gdn_id, accepted_date }
    if (options.wait === false) return { operationId, transaction: accepted }
    const { nft_gdn_id: nftGdnId, sender_wallet_address: sender, receiver_wallet_address: receiver } = request
    return await this.#waitForEffect(operationId, async () => {
      const { timeoutMs = DEFAULT_WAIT_MS } = options
      const transfer = { nftGdnId, sender, receiver, transactionId: transaction_gdn_id, wasSentBefore }
      const { seen: effect, problem } = await waitForTransfer(await this.#waitDeps(options), transfer, timeoutMs)
      if (problem?.code === 'refused')
        throw problem.withHint('Fix the cause, and transfer the NFT with a new idempotency key.')
      if (problem !== null) throw problem
      return { operationId, transaction: { ...accepted, ...effect } }
    })
  }

  async waitForNfts(ids: readonly string[], options: WaitOptions = {}): Promise<Nft[]> {
    return await this.#wait(ids, options, { mustExist: true })
  }

  async close(): Promise<void> {
    const session = this.#session
    this.#session = undefined
    if (session !== undefined && !this.#callsPerSession.has(session)) await closeState(session)
  }

  /** Records a collection for commands that list collections. Doesn't remove an address that was recorded before. */
  async #remember(collection: KnownCollection): Promise<void> {
    await this.#withSession(async ({ state, backend }) => {
      const { origin } = this.#connection
      const server = { origin: runOrigin({ isLoopback: backend.isLocal, origin }, backend), url: origin }
      await state.write((sql) => {
        const isKnown = listKnownCollections(sql).some(
          (stored) => stored.origin === server.origin && stored.transaction_gdn_id === collection.transaction_gdn_id,
        )
        if (!isKnown || collection.contract_address !== null) storeKnownCollection(sql, server, collection)
      })
    })
  }

  /**
   * Waits for the effect of an operation. After an error, the next call checks again whether the backend was restored.
   */
  async #waitForEffect<Result>(operationId: string, wait: () => Promise<Result>): Promise<Result> {
    try {
      return await withOperationId(operationId, wait)
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async #wait(
    ids: readonly string[],
    options: WaitOptions,
    until: Pick<NftWait, 'isDone' | 'isAccepted' | 'mustExist'>,
  ): Promise<Nft[]> {
    const { timeoutMs = DEFAULT_WAIT_MS } = options
    const { records, problem } = await waitForNfts(await this.#waitDeps(options), ids, { timeoutMs, ...until })
    if (problem !== null) throw problem
    return records
  }

  async #waitDeps({ signal = neverAborted() }: WaitOptions) {
    return { client: await this.#connection.client(), sleep, signal }
  }

  /** Sends the request for a key unless it was already sent. Returns the accepted operation. */
  async #operate(
    endpoint: CreationFunction,
    request: CollectionRequest | MintRequest | TransferRequest,
    options: OperationOptions,
  ): Promise<KeyedOperation & { operationId: string; body: KeyedRequest['body'] }> {
    const { idempotencyKey, timeoutMs = DEFAULT_WAIT_MS, signal = neverAborted() } = options
    checkKey(idempotencyKey)
    checkReferences(request)
    checkKeys(request)
    const operationId = toOperationId(idempotencyKey)
    const body = JSON.parse(
      Buffer.from(await encode(endpoint, request as never, this.#connection.apiVersion)).toString('utf8'),
    ) as KeyedRequest['body']
    const keyedRequest = { endpoint, idempotencyKey, operationId, body, signal }
    const keyed = await withOperationId(operationId, () =>
      inTurn(`${this.#connection.stateDir} ${operationId}`, signal, () => this.#whenFree(keyedRequest, timeoutMs)),
    )
    return { ...keyed, operationId, body }
  }

  /** Waits while another process works on the operation. Then returns the result of that operation. */
  async #whenFree(keyedRequest: KeyedRequest, timeoutMs: number): Promise<KeyedOperation> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      try {
        return await this.#withSession((session) => operateForKey(session, this.#connection, keyedRequest))
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error
      }
      await sleep(BUSY_MS * (0.5 + Math.random()), keyedRequest.signal)
    }
  }

  /**
   * Runs a call with the shared session. After an error, the next call opens the state and identifies the backend
   * again, because the state may have been replaced or the backend restored.
   */
  async #withSession<Result>(task: (session: Session) => Promise<Result>): Promise<Result> {
    this.#session ??= this.#open()
    const session = this.#session
    this.#callsPerSession.set(session, (this.#callsPerSession.get(session) ?? 0) + 1)
    try {
      return await task(await session)
    } catch (error) {
      if (this.#session === session && !isBusy(error)) this.#session = undefined
      throw error
    } finally {
      const calls = (this.#callsPerSession.get(session) ?? 1) - 1
      if (calls > 0) this.#callsPerSession.set(session, calls)
      else {
        this.#callsPerSession.delete(session)
        if (this.#session !== session) await closeState(session)
      }
    }
  }

  async #open(): Promise<Session> {
    const identified = await this.#connection.identify()
    return { ...identified, state: await openState(this.#connection.stateDir) }
  }
}

/** For each operation, the last call that is in progress in this process. */
const turns = new Map<string, Promise<unknown>>()

/** Runs the calls of one operation one after another. */
async function inTurn<Result>(name: string, signal: AbortSignal, task: () => Promise<Result>): Promise<Result> {
  const before = turns.get(name) ?? Promise.resolve()
  const turn = before.then(async () => {
    signal.throwIfAborted()
    return await task()
  })
  const ended = turn.catch(() => undefined)
  turns.set(name, ended)
  void ended.then(() => {
    if (turns.get(name) === ended) turns.delete(name)
  })
  return await rejectOnAbort(turn, signal)
}

/** The endpoints called by functions that accept an idempotency key, with each function's name for messages. */
const FUNCTION_BY_ENDPOINT = {
  createcollection: 'createCollection()',
  createnft: 'mint()',
  createnfttrans: 'mint()',
  transfernft: 'transfer()',
} as const

type CreationFunction = keyof typeof FUNCTION_BY_ENDPOINT

interface KeyedRequest {
  endpoint: CreationFunction
  idempotencyKey: string
  operationId: string
  /** The request. A request to create a collection has no `contract_address`. */
  body: { contract_address?: string; blockchain?: Blockchain }
  signal: AbortSignal
}

interface KeyedOperation {
  operation: AcceptedOperation
  /** Whether an earlier call sent the request. */
  wasSentBefore: boolean
}

async function operateForKey(
  { client, backend, state }: Session,
  { origin: serverOrigin }: ClientConnection,
  keyedRequest: KeyedRequest,
): Promise<KeyedOperation> {
  const { endpoint, idempotencyKey, operationId, body, signal } = keyedRequest
  const origin = runOrigin({ isLoopback: backend.isLocal, origin: serverOrigin }, backend)
  const { contract_address: contract = null, blockchain = null } = body
  let wasSentBefore = false
  try {
    const operation = await operate(
      {
        state,
        client,
        now: Date.now,
        sleep,
        signal,
        onEvent: (event) => {
          if (event.type === 'going_on' || event.type === 'found') wasSentBefore = true
          if (event.type !== 'not_kept') return
          // The next call with the key finds that the request was sent, and looks for the result.
          process.emitWarning(
            `the outcome of ${operationId} is not recorded in ${event.path}: ${messageOf(event.error)}`,
          )
        },
      },
      {
        endpoint,
        origin,
        backend,
        blockchain,
        contract,
        operationId,
        keptAs: idempotencyKey,
        // Include the key, so that requests with equal content are separate operations.
        content: { ...body, idempotency_key: idempotencyKey },
        note: FUNCTION_BY_ENDPOINT[endpoint],
        again: false,
        mayForget: backend.isLocal && backend.id === null,
        request: async () => body,
      },
      // Don't wait here, so that other calls can use the operation as soon as its acceptance is recorded.
      async () => ({ ended: true, state: null, problem: null }),
    )
    return { operation, wasSentBefore }
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    if (error.code === 'idempotency_key_reused') throw reusedElsewhereError(idempotencyKey, error)
    // This error means that an operation with this ID exists, but belongs to another request.
    throw error.code === 'usage' ? await reusedKeyError(state, origin, keyedRequest) : error
  }
}

/** Returns the error for a key that another machine, or an earlier state directory, used for another request. */
const reusedElsewhereError = (idempotencyKey: string, cause: GdnError): GdnError =>
  new GdnError(
    'idempotency_key_reused',
    `the idempotency key "${terminalText(idempotencyKey)}" was already used for another request on the server`,
    { hint: 'This request had no effect. Use a new key for a new request.', details: { differs: [] }, cause },
  )

/** Returns the error for a key that identifies another request. The error lists the fields that differ. */
async function reusedKeyError(
  state: State,
  origin: string,
  { endpoint, idempotencyKey, operationId, body }: KeyedRequest,
): Promise<GdnError> {
  const { earlier, server } = await state.read((sql) => ({
    earlier: readOperation(sql, operationId),
    server: findServerOrigin(sql, operationId),
  }))
  const differs = [
    ...(server === origin ? [] : ['server']),
    ...(earlier.kind === endpoint ? [] : ['endpoint']),
    ...(earlier.request === null ? [] : findDifferences(JSON.parse(earlier.request.body), body)),
  ]
  const shownFields = listSome(differs.slice(0, 3), differs.length)
  return new GdnError(
    'idempotency_key_reused',
    `the idempotency key "${terminalText(idempotencyKey)}" was already used for another request${shownFields === '' ? '' : `, which differs in ${shownFields}`}`,
    {
      hint: `Nothing was sent. Use a new key for a new request${server === origin ? '' : ', or another stateDir for another server'}.`,
      details: { differs },
    },
  )
}

function checkKey(key: unknown): void {
  if (typeof key === 'string' && key.length > 0 && key.length <= MAX_KEY_LENGTH && key.isWellFormed()) return
  const message = `must be a well-formed string of 1 to ${MAX_KEY_LENGTH} characters`
  throw new GdnError('invalid_input', `idempotencyKey ${message}`, {
    place: { field: 'idempotencyKey' },
    details: [{ field: 'idempotencyKey', message }],
    hint: 'Use an ID from your application, such as the ID of an order.',
  })
}

/** Reads a field of any value, because an untyped program may pass any value. The API contract rejects it later. */
const fieldOf = (request: unknown, field: string) => (request as Record<string, unknown> | null | undefined)?.[field]

function checkReferences(request: unknown): void {
  for (const field of ['reference_id', 'reference_ids']) {
    if (fieldOf(request, field) === undefined) continue
    throw new GdnError('invalid_input', `${field} can't be specified, because this call sets it`, {
      place: { field },
      hint: 'Omit this field. The ID of the operation is the reference ID.',
    })
  }
}

function checkKeys(request: unknown): void {
  const misspelled = findMisspelledKey(request)
  if (misspelled === null) return
  const { path, message } = misspelled
  const field = formatPath(path)
  throw new GdnError('invalid_input', `${field} ${message}`, {
    place: { field },
    details: [{ field, message }],
    hint: `Nothing was sent. ${misspelled.hint}`,
  })
}

const neverAborted = () => new AbortController().signal

const isBusy = (error: unknown) => error instanceof GdnError && error.code === 'run_busy'

async function closeState(session: Promise<Session>): Promise<void> {
  const opened = await session.catch(() => null)
  opened?.state.close()
}

const SAME_KEY_HINT = 'Repeat the call with the same idempotency key'

/** Hints for callers of the library. The usual hints name commands and flags. */
const HINT_BY_CODE: Partial<Record<GdnError['code'], string>> = {
  unknown_outcome: `${SAME_KEY_HINT}. The client first determines the outcome of the request.`,
  pending: `${SAME_KEY_HINT} to keep waiting.`,
  nft_failed: 'A failed NFT is not minted. Fix the cause, and mint it with a new idempotency key.',
  run_busy: `${SAME_KEY_HINT} to wait for the other process.`,
  backend_restored: `${SAME_KEY_HINT}. The client first checks which requests the backend still has.`,
  seems_minted:
    'The state directory may be a copy, so an earlier call may have minted these NFTs. Nothing was sent. Check the NFTs in `details`.',
}

/** Adds the operation ID to errors, with a hint for callers of the library. */
async function withOperationId<Result>(operationId: string, task: () => Promise<Result>): Promise<Result> {
  try {
    return await task()
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    throw error.with({ hint: HINT_BY_CODE[error.code] ?? error.hint, operationId })
  }
}
