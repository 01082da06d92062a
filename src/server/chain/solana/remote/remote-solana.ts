import * as z from 'zod'
import type { SolanaBlockchain } from '../../../../api/blockchains.ts'
import { GdnError, messageOf } from '../../../../core/errors.ts'
import { clusterName } from '../../../settings/solana-clusters.ts'
import { connectRemote } from '../../evm/remote/json-rpc.ts'
import { createProviders, type Providers, type RpcOutcome } from '../../rpc/providers.ts'
import { remembered } from '../../rpc/remembered.ts'
import { isNoAnswer, RpcError } from '../../rpc/rpc-answer.ts'
import { TOKEN_2022 } from '../mint-address.ts'
import type { Lifetime, SendOutcome, SignatureStatus, SolanaAccount, SolanaNetwork } from '../network.ts'
import { createFeeMarket } from './fee-market.ts'

export interface RemoteSolanaOptions {
  blockchain: SolanaBlockchain
  /** That every node has to tell before anything else is asked of it. */
  genesisHash: string
  /** Nodes of this cluster, the one to prefer first. */
  urls: readonly string[]
  /** What counts as done. */
  commitment: 'finalized' | 'confirmed'
  pollMs: number
  /** Micro-lamports for a compute unit at most. */
  priceCap: bigint
  timeoutMs?: number
  tries?: number
  retryMs?: number
  providers?: Providers
  onRequest?: (host: string, outcome: RpcOutcome) => void
}

/** A Solana cluster behind RPC URLs. */
export interface RemoteSolana extends SolanaNetwork {
  readonly pollMs: number
  computeUnitPrice(options?: { urgent?: boolean }): Promise<bigint>
  /** Lamports of an account, as of the newest block that a majority has voted for. */
  balance(address: string): Promise<bigint>
  /** Cuts what is under way. */
  close(): Promise<void>
}

const TIMEOUT_MS = 10_000
const TRIES = 4
const RETRY_MS = 200
/** What one getSignatureStatuses takes. */
const STATUSES_AT_ONCE = 256
/** What one getMultipleAccounts takes. */
const ACCOUNTS_AT_ONCE = 100
const SENT_AT_ONCE = 16
/** The same bytes are handed in again after so many looks: networks drop transactions, and nodes bound how often we ask. */
const POLLS_BETWEEN_SENDS = 3
/** A blockhash is good for a minute, of which this takes little. */
const BLOCKHASH_FRESH_MS = 2000
const RENT_FRESH_MS = 60 * 60_000
/** Between two of these sizes rent grows evenly. */
const RENT_SIZES = [0, 1000] as const

const slots = z.int().nonnegative()
// More than 2^53 of them is rounded, which is far beyond what any signer has.
const lamports = z.number().nonnegative().refine(Number.isInteger)
const context = z.object({ slot: slots })
const epochInfo = z.object({ absoluteSlot: slots, blockHeight: slots })
const latest = z.object({ value: z.object({ blockhash: z.string(), lastValidBlockHeight: slots }) })
const status = z.object({
  slot: slots,
  err: z.unknown(),
  confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullish(),
})
const statusList = z.object({ context, value: z.array(status.nullable()) })
const account = z.object({
  value: z.object({ owner: z.string(), lamports, data: z.tuple([z.string(), z.literal('base64')]) }).nullable(),
})
const owners = z.object({ value: z.array(z.object({ owner: z.string() }).nullable()) })
const signatures = z.array(z.object({ signature: z.string(), err: z.unknown() }))
const balanceOf = z.object({ value: lamports })
const fees = z.array(z.object({ prioritizationFee: lamports }))

/** One that a node has executed already is refused by some of these words. */
const ALREADY = /already (been )?processed|AlreadyProcessed/i

/**
 * A Solana cluster that is reached by RPC URL. What decides whether a transaction can still come (the height of the
 * newest final block) and what became of it must not be told by a node that is behind: no answer counts that is older
 * than the newest final block any of the nodes has told of.
 */
export function createRemoteSolana(options: RemoteSolanaOptions): RemoteSolana {
  const { blockchain, genesisHash, urls, commitment, pollMs, priceCap } = options
  const { timeoutMs = TIMEOUT_MS, tries = TRIES, retryMs = RETRY_MS, onRequest = () => {} } = options
  const identity = {
    method: 'getGenesisHash',
    problem: (told: unknown) =>
      told === genesisHash
        ? null
        : `is of the cluster ${clusterName(String(told)).slice(0, 60)}, not of ${clusterName(genesisHash)}`,
  }
  const providers = options.providers ?? createProviders()
  const rpc = connectRemote({ urls, identity, timeoutMs, tries, retryMs, providers, onRequest })
  /** The newest final slot that was told. */
  let finalSlot = 0
  const sentAt = new Map<string, number>()

  const ask = async <Schema extends z.ZodType>(
    schema: Schema,
    method: string,
    params: readonly unknown[],
  ): Promise<z.output<Schema>> => {
    const parsed = schema.safeParse(await rpc.call(method, params))
    if (parsed.success) return parsed.data
    throw new GdnError('unreachable', `a node of ${blockchain} answered ${method} oddly`, {
      hint: 'try again, or give another RPC URL',
    })
  }

  const market = createFeeMarket({
    cap: priceCap,
    async recent() {
      const told = await ask(fees, 'getRecentPrioritizationFees', [[]]).catch((error: unknown) => {
        // Not every provider knows it.
        if (error instanceof RpcError) return []
        throw error
      })
      return told.map(({ prioritizationFee }) => BigInt(prioritizationFee))
    },
  })

  // Hundreds may be signed at a time.
  const latestBlockhash = remembered(Math.min(pollMs, BLOCKHASH_FRESH_MS), async (): Promise<Lifetime> => {
    return (await ask(latest, 'getLatestBlockhash', [{ commitment: 'confirmed' }])).value
  })

  const rent = remembered(RENT_FRESH_MS, async () => {
    const [least, more] = await Promise.all(
      RENT_SIZES.map((bytes) => ask(lamports, 'getMinimumBalanceForRentExemption', [bytes])),
    )
    if (least === undefined || more === undefined) throw new Error('rent was not told')
    return { least, perByte: (more - least) / (RENT_SIZES[1] - RENT_SIZES[0]) }
  })

  const sendOne = async (raw: string): Promise<SendOutcome> => {
    const now = performance.now()
    const last = sentAt.get(raw)
    if (last !== undefined && now - last < POLLS_BETWEEN_SENDS * pollMs) return { outcome: 'accepted' }
    try {
      // It is judged by what becomes of it: one that fails in a simulation would be sent again for ever.
      await rpc.call('sendTransaction', [raw, { encoding: 'base64', skipPreflight: true, maxRetries: 0 }])
      sentAt.set(raw, now)
      return { outcome: 'accepted' }
    } catch (error) {
      const reason = messageOf(error)
      if (error instanceof RpcError && ALREADY.test(reason)) return { outcome: 'known' }
      if (isNoAnswer(error)) {
        return { outcome: 'rejected', reason }
      }
      throw error
    }
  }

  /** Of those sent long ago nothing is to be known any more. */
  const forget = () => {
    const longAgo = performance.now() - 10 * POLLS_BETWEEN_SENDS * pollMs
    for (const [raw, at] of sentAt) if (at < longAgo) sentAt.delete(raw)
  }

  // A failure ends a request for good: it counts only where no fork can drop it.
  const isDone = ({ confirmationStatus, err }: z.output<typeof status>) =>
    confirmationStatus === 'finalized' ||
    (commitment === 'confirmed' && confirmationStatus === 'confirmed' && (err ?? null) === null)

  return {
    blockchain,
    pollMs,

    latestBlockhash,

    async blockHeight() {
      const { absoluteSlot, blockHeight } = await ask(epochInfo, 'getEpochInfo', [{ commitment: 'finalized' }])
      if (absoluteSlot < finalSlot) throw behind(blockchain)
      finalSlot = absoluteSlot
      return blockHeight
    },

    async minimumBalance(bytes) {
      const { least, perByte } = await rent()
      return BigInt(Math.ceil(least + bytes * perByte))
    },

    async send(raws) {
      const outcomes: SendOutcome[] = []
      for (let at = 0; at < raws.length; at += SENT_AT_ONCE) {
        outcomes.push(...(await Promise.all(raws.slice(at, at + SENT_AT_ONCE).map(sendOne))))
      }
      forget()
      return outcomes
    },

    async statuses(signatures) {
      const found: (SignatureStatus | null)[] = []
      for (let at = 0; at < signatures.length; at += STATUSES_AT_ONCE) {
        const some = signatures.slice(at, at + STATUSES_AT_ONCE)
        const told = await ask(statusList, 'getSignatureStatuses', [some])
        if (told.context.slot < finalSlot || told.value.length !== some.length) throw behind(blockchain)
        for (const one of told.value) found.push(one === null || !isDone(one) ? null : statusOf(one))
      }
      return found
    },

    async account(address): Promise<SolanaAccount | null> {
      const params = [address, { encoding: 'base64', commitment: 'finalized', minContextSlot: finalSlot }]
      const { value } = await ask(account, 'getAccountInfo', params)
      if (value === null) return null
      const { owner, lamports: balance, data } = value
      return { owner, lamports: BigInt(balance), data: Buffer.from(data[0], 'base64') }
    },

    async mintsExist(addresses) {
      const found: boolean[] = []
      for (let at = 0; at < addresses.length; at += ACCOUNTS_AT_ONCE) {
        const some = addresses.slice(at, at + ACCOUNTS_AT_ONCE)
        const dataSlice = { offset: 0, length: 0 }
        const params = [some, { encoding: 'base64', commitment: 'finalized', minContextSlot: finalSlot, dataSlice }]
        const { value } = await ask(owners, 'getMultipleAccounts', params)
        if (value.length !== some.length) throw behind(blockchain)
        for (const one of value) found.push(one?.owner === TOKEN_2022)
      }
      return found
    },

    async creationOf(address) {
      // Newest first. A mint that gdn makes has few transactions.
      const told = await ask(signatures, 'getSignaturesForAddress', [address, { commitment: 'finalized' }])
      return told.findLast(({ err }) => err === null)?.signature ?? null
    },

    computeUnitPrice: (urgency) => market.price(urgency),

    async balance(address) {
      return BigInt((await ask(balanceOf, 'getBalance', [address, { commitment: 'confirmed' }])).value)
    },

    close: () => rpc.close(),
  }
}

const behind = (blockchain: SolanaBlockchain) =>
  new GdnError('unreachable', `a node of ${blockchain} is behind`, { hint: 'try again, or give another RPC URL' })

/** The system program's "that account hasn't so many lamports", whichever instruction asked it. */
const POOR = /"Custom":1\b|InsufficientFundsForRent/

function statusOf({ slot, err }: z.output<typeof status>): SignatureStatus {
  if (err === null || err === undefined) return { slot, error: null }
  const error = JSON.stringify(err)
  return { slot, error, ...(POOR.test(error) ? { unpaid: true } : {}) }
}
