import { chunksOf } from '../../../core/chunks-of.ts'
import { GdnError } from '../../../core/errors.ts'
import type { EvmSignedBytes, Signer, UnsignedTransaction } from '../../chain/evm/evm-signer.ts'
import type { Store } from '../../store/open-store.ts'
import type { Db } from '../../store/schema.ts'

/** Maximum number of attempts of a commit. The number is high, because many processes may use the same signer. */
const MAX_ATTEMPTS = 40
/** Maximum number of concurrent requests to a remote signer. */
const MAX_CONCURRENT_SIGNATURES = 8

/**
 * Thrown to roll back a database transaction if a remote signer must first sign the bytes that the transaction would
 * store.
 */
class SignaturesNeededError extends Error {
  readonly signer: Signer
  readonly transactions: readonly UnsignedTransaction[]

  constructor(signer: Signer, transactions: readonly UnsignedTransaction[]) {
    super(`the signatures of ${signer.address} are needed first`)
    this.signer = signer
    this.transactions = transactions
  }
}

/**
 * Ensures that only one commit at a time signs with a remote signer. Two concurrent commits would use the same nonce.
 */
interface Queue {
  last: Promise<void> | null
  /** The bytes that the signer has signed for the current commit. */
  signed: Map<string, EvmSignedBytes>
}

const queues = new WeakMap<Signer, Queue>()

function getSigningQueue(signer: Signer): Queue {
  const existing = queues.get(signer)
  if (existing !== undefined) return existing
  const queue = { last: null, signed: new Map<string, EvmSignedBytes>() }
  queues.set(signer, queue)
  return queue
}

const transactionKey = (transaction: UnsignedTransaction): string =>
  JSON.stringify(transaction, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))

/** Signs in the caller's database transaction. For a remote signer, `commitSigned` must run that transaction. */
export async function signInCommit(
  signer: Signer,
  transactions: readonly UnsignedTransaction[],
): Promise<EvmSignedBytes[]> {
  if (signer.remote !== true) return await Promise.all(transactions.map((transaction) => signer.sign(transaction)))
  const { signed } = getSigningQueue(signer)
  const signedBytes = transactions.flatMap((transaction) => signed.get(transactionKey(transaction)) ?? [])
  if (signedBytes.length === transactions.length) return signedBytes
  throw new SignaturesNeededError(signer, transactions)
}

/**
 * Runs work as one database transaction that may sign. The transaction never waits for a remote signer, because that
 * would block all other requests. Instead, it is rolled back, the signer signs the bytes to store, and the work runs
 * again. If the second run needs other bytes, for example with another nonce, these are signed in the same way.
 *
 * Signatures that aren't stored are discarded. Nothing is sent before its bytes are committed.
 */
export async function commitSigned<Result>(
  store: Pick<Store, 'transaction'>,
  work: (db: Db) => Promise<Result>,
): Promise<Result> {
  let turn: SigningTurn | null = null
  try {
    for (let attempt = 1; ; attempt++) {
      const result = await store.transaction(work).catch((error: unknown) => {
        if (error instanceof SignaturesNeededError) return error
        throw error
      })
      if (!(result instanceof SignaturesNeededError)) return result
      const { signer, transactions } = result
      if (attempt === MAX_ATTEMPTS) {
        throw new GdnError('unreachable', `other processes used the nonce of ${signer.address} ${attempt} times`)
      }
      if (turn?.signer !== signer) {
        turn?.end()
        turn = await takeTurn(signer)
        // Another commit has used the nonce in the meantime.
        if (turn.hasWaited) continue
      }
      await signAll(signer, transactions)
    }
  } finally {
    turn?.end()
  }
}

interface SigningTurn {
  signer: Signer
  hasWaited: boolean
  end(): void
}

async function takeTurn(signer: Signer): Promise<SigningTurn> {
  const queue = getSigningQueue(signer)
  const before = queue.last
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  queue.last = promise
  await before
  return {
    signer,
    hasWaited: before !== null,
    end() {
      queue.signed.clear()
      if (queue.last === promise) queue.last = null
      resolve()
    },
  }
}

async function signAll(signer: Signer, transactions: readonly UnsignedTransaction[]): Promise<void> {
  const { signed } = getSigningQueue(signer)
  for (const chunk of chunksOf(transactions, MAX_CONCURRENT_SIGNATURES)) {
    const results = await Promise.allSettled(chunk.map((transaction) => signer.sign(transaction)))
    for (const [index, result] of results.entries()) {
      const transaction = chunk[index]
      if (result.status === 'rejected') throw result.reason
      if (transaction !== undefined) signed.set(transactionKey(transaction), result.value)
    }
  }
}
