import * as z from 'zod'
import type { SolanaBlockchain } from '../../../../api/blockchains.ts'
import { chunksOf } from '../../../../core/chunks-of.ts'
import { GdnError, messageOf } from '../../../../core/errors.ts'
import { clusterName } from '../../../settings/solana-clusters.ts'
import type { ClusterSettings } from '../../../settings/types.ts'
import { connectRemote } from '../../evm/remote/json-rpc.ts'
import type { RemoteNetworkOptions } from '../../evm/remote/remote-network.ts'
import { createProviders } from '../../rpc/providers.ts'
import { rememberFor } from '../../rpc/remember-for.ts'
import { isRpcFailure, RpcError } from '../../rpc/rpc-response.ts'
import { TOKEN_2022 } from '../key.ts'
import type { BlockhashLifetime, SendOutcome, SignatureStatus, SolanaAccount, SolanaNetwork } from '../network.ts'
import { SUPPLY_AT } from '../read-mint.ts'
import { createFeeMarket } from './fee-market.ts'

export interface RemoteSolanaOptions
  extends Pick<RemoteNetworkOptions, 'timeoutMs' | 'maxAttempts' | 'retryMs' | 'providers' | 'onRequest' | 'signal'>,
    Pick<ClusterSettings, 'blockchain' | 'genesisHash' | 'commitment' | 'pollMs' | 'priceCap'> {
  /** URLs of the cluster's nodes, the preferred one first. */
  urls: readonly string[]
}

/** A Solana cluster behind RPC URLs. */
export interface RemoteSolana extends SolanaNetwork {
  readonly pollMs: number
  computeUnitPrice(options?: { urgent?: boolean }): Promise<bigint>
  /** Returns the balance of an account in lamports, as of the newest confirmed block. */
  balance(address: string): Promise<bigint>
  /** Aborts requests in flight. */
  close(): Promise<void>
}

/** Maximum number of signatures in one getSignatureStatuses call. */
const STATUSES_PER_BATCH = 256
/** Maximum number of accounts in one getMultipleAccounts call. */
const ACCOUNTS_PER_BATCH = 100
const MAX_CONCURRENT_SENDS = 16
const SUPPLY_BYTES = 8
/** Number of polls between two submissions of the same bytes. Networks drop transactions, and nodes limit requests. */
const POLLS_BETWEEN_SENDS = 3
/** Time in milliseconds for which a blockhash is reused. The network accepts a blockhash for a minute. */
const BLOCKHASH_FRESH_MS = 2000
const RENT_FRESH_MS = 60 * 60_000
/**
 * Account sizes in bytes for which the rent is requested. Rent is a linear function of the size, so two sizes determine
 * it.
 */
const RENT_SIZES = [0, 1000] as const

const slotSchema = z.int().nonnegative()
// JavaScript rounds amounts above 2^53, but no signer has that many lamports.
const lamportsSchema = z.number().nonnegative().refine(Number.isInteger)
const contextSchema = z.object({ slot: slotSchema })
const epochInfoSchema = z.object({ absoluteSlot: slotSchema, blockHeight: slotSchema })
const latestBlockhashSchema = z.object({ value: z.object({ blockhash: z.string(), lastValidBlockHeight: slotSchema }) })
const statusSchema = z.object({
  slot: slotSchema,
  err: z.unknown(),
  confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullish(),
})
const statusListSchema = z.object({ context: contextSchema, value: z.array(statusSchema.nullable()) })
const accountSchema = z.object({
  value: z
    .object({ owner: z.string(), lamports: lamportsSchema, data: z.tuple([z.string(), z.literal('base64')]) })
    .nullable(),
})
const dataSchema = z.tuple([z.string(), z.literal('base64')])
const accountPartsSchema = z.object({ value: z.array(z.object({ owner: z.string(), data: dataSchema }).nullable()) })
const signaturesSchema = z.array(z.object({ signature: z.string(), err: z.unknown() }))
const balanceSchema = z.object({ value: lamportsSchema })
const feesSchema = z.array(z.object({ prioritizationFee: lamportsSchema }))

/** Matches the error of a node that has already executed the transaction. */
const ALREADY_PROCESSED = /already (been )?processed|AlreadyProcessed/i

/**
 * Connects to a Solana cluster behind RPC URLs. Whether a transaction can still succeed depends on the height of the
 * newest final block and on the transaction's outcome. A lagging node would return outdated values of both. A response
 * therefore counts only if it is at least as new as the newest final block that any node has returned.
 */
export function createRemoteSolana(options: RemoteSolanaOptions): RemoteSolana {
  const { blockchain, genesisHash, urls, commitment, pollMs, priceCap } = options
  const { timeoutMs, maxAttempts, retryMs, onRequest = () => {}, signal } = options
  const identity = {
    method: 'getGenesisHash',
    problem: (reportedHash: unknown) =>
      reportedHash === genesisHash
        ? null
        : `belongs to the cluster ${clusterName(String(reportedHash)).slice(0, 60)}, not ${clusterName(genesisHash)}`,
  }
  const providers = options.providers ?? createProviders()
  const rpc = connectRemote({ urls, identity, timeoutMs, maxAttempts, retryMs, providers, onRequest, signal })
  /** The newest final slot that any node has returned. */
  let finalSlot = 0
  const sentAt = new Map<string, number>()

  const callNode = async <Schema extends z.ZodType>(
    schema: Schema,
    method: string,
    params: readonly unknown[],
  ): Promise<z.output<Schema>> => {
    const parsed = schema.safeParse(await rpc.call(method, params))
    if (parsed.success) return parsed.data
    throw invalidResponseError(blockchain, method)
  }

  const market = createFeeMarket({
    cap: priceCap,
    async recent() {
      const recentFees = await callNode(feesSchema, 'getRecentPrioritizationFees', [[]]).catch((error: unknown) => {
        // Return no prices, because not every provider supports this method.
        if (error instanceof RpcError) return []
        throw error
      })
      return recentFees.map(({ prioritizationFee }) => BigInt(prioritizationFee))
    },
  })

  // Cache the blockhash, because hundreds of transactions may be signed at once.
  const latestBlockhash = rememberFor(Math.min(pollMs, BLOCKHASH_FRESH_MS), async (): Promise<BlockhashLifetime> => {
    return (await callNode(latestBlockhashSchema, 'getLatestBlockhash', [{ commitment: 'confirmed' }])).value
  })

  const rent = rememberFor(RENT_FRESH_MS, async () => {
    const [least, more] = await Promise.all(
      RENT_SIZES.map((bytes) => callNode(lamportsSchema, 'getMinimumBalanceForRentExemption', [bytes])),
    )
    if (least === undefined || more === undefined) throw new Error('the node did not return the rent')
    return { least, perByte: (more - least) / (RENT_SIZES[1] - RENT_SIZES[0]) }
  })

  const sendOne = async (raw: string): Promise<SendOutcome> => {
    const now = performance.now()
    const last = sentAt.get(raw)
    if (last !== undefined && now - last < POLLS_BETWEEN_SENDS * pollMs) return { outcome: 'accepted' }
    try {
      // Skip the simulation. A transaction that fails in the simulation isn't executed and has no outcome, so gdn would
      // submit it again.
      await rpc.call('sendTransaction', [raw, { encoding: 'base64', skipPreflight: true, maxRetries: 0 }])
      sentAt.set(raw, now)
      return { outcome: 'accepted' }
    } catch (error) {
      const reason = messageOf(error)
      if (error instanceof RpcError && ALREADY_PROCESSED.test(reason)) return { outcome: 'known' }
      if (isRpcFailure(error)) {
        return { outcome: 'rejected', reason }
      }
      throw error
    }
  }

  /** Removes transactions that were submitted long ago. */
  const forget = () => {
    const longAgo = performance.now() - 10 * POLLS_BETWEEN_SENDS * pollMs
    for (const [raw, at] of sentAt) if (at < longAgo) sentAt.delete(raw)
  }

  /** Reads a part of each account as of the newest final block. */
  const readParts = async (addresses: readonly string[], dataSlice: { offset: number; length: number }) => {
    const accounts: z.output<typeof accountPartsSchema>['value'] = []
    for (const chunk of chunksOf(addresses, ACCOUNTS_PER_BATCH)) {
      const params = [chunk, { encoding: 'base64', commitment: 'finalized', minContextSlot: finalSlot, dataSlice }]
      const { value } = await callNode(accountPartsSchema, 'getMultipleAccounts', params)
      if (value.length !== chunk.length) throw laggingNodeError(blockchain)
      accounts.push(...value)
    }
    return accounts
  }

  // A failure is the final result of a request, so it counts only when no fork can revert it.
  const isDone = ({ confirmationStatus, err }: z.output<typeof statusSchema>) =>
    confirmationStatus === 'finalized' ||
    (commitment === 'confirmed' && confirmationStatus === 'confirmed' && (err ?? null) === null)

  return {
    blockchain,
    pollMs,

    latestBlockhash,

    async blockHeight() {
      const { absoluteSlot, blockHeight } = await callNode(epochInfoSchema, 'getEpochInfo', [
        { commitment: 'finalized' },
      ])
      if (absoluteSlot < finalSlot) throw laggingNodeError(blockchain)
      finalSlot = absoluteSlot
      return blockHeight
    },

    async minimumBalance(bytes) {
      const { least, perByte } = await rent()
      return BigInt(Math.ceil(least + bytes * perByte))
    },

    async send(raws) {
      const outcomes: SendOutcome[] = []
      for (const chunk of chunksOf(raws, MAX_CONCURRENT_SENDS)) {
        outcomes.push(...(await Promise.all(chunk.map(sendOne))))
      }
      forget()
      return outcomes
    },

    async statuses(signatures) {
      const statuses: (SignatureStatus | null)[] = []
      for (const chunk of chunksOf(signatures, STATUSES_PER_BATCH)) {
        const response = await callNode(statusListSchema, 'getSignatureStatuses', [chunk])
        if (response.context.slot < finalSlot || response.value.length !== chunk.length)
          throw laggingNodeError(blockchain)
        for (const signatureStatus of response.value)
          statuses.push(
            signatureStatus === null || !isDone(signatureStatus) ? null : toSignatureStatus(signatureStatus),
          )
      }
      return statuses
    },

    async account(address): Promise<SolanaAccount | null> {
      const params = [address, { encoding: 'base64', commitment: 'finalized', minContextSlot: finalSlot }]
      const { value } = await callNode(accountSchema, 'getAccountInfo', params)
      if (value === null) return null
      const { owner, lamports: balance, data } = value
      return { owner, lamports: BigInt(balance), data: Buffer.from(data[0], 'base64') }
    },

    async mintsExist(addresses) {
      return (await readParts(addresses, { offset: 0, length: 0 })).map((mint) => mint?.owner === TOKEN_2022)
    },

    async supplies(addresses) {
      const accounts = await readParts(addresses, { offset: SUPPLY_AT, length: SUPPLY_BYTES })
      return accounts.map((mint) => {
        if (mint?.owner !== TOKEN_2022) return null
        const bytes = Buffer.from(mint.data[0], 'base64')
        // Reject the response of a node that ignores `dataSlice`. Otherwise, tokens would seem to be burned.
        if (bytes.length !== SUPPLY_BYTES) throw invalidResponseError(blockchain, 'getMultipleAccounts')
        return bytes.readBigUInt64LE(0)
      })
    },

    async findCreationSignature(address) {
      // The list is sorted from newest to oldest. A mint that gdn creates has few transactions.
      const transactions = await callNode(signaturesSchema, 'getSignaturesForAddress', [
        address,
        { commitment: 'finalized' },
      ])
      return transactions.findLast(({ err }) => err === null)?.signature ?? null
    },

    computeUnitPrice: (urgency) => market.price(urgency),

    async balance(address) {
      return BigInt((await callNode(balanceSchema, 'getBalance', [address, { commitment: 'confirmed' }])).value)
    },

    close: () => rpc.close(),
  }
}

const invalidResponseError = (blockchain: SolanaBlockchain, method: string) =>
  new GdnError('unreachable', `a node of ${blockchain} returned an invalid response to ${method}`, {
    hint: 'Try again, or configure another RPC URL.',
  })

const laggingNodeError = (blockchain: SolanaBlockchain) =>
  new GdnError('unreachable', `a node of ${blockchain} lags behind the network`, {
    hint: 'Try again, or configure another RPC URL.',
  })

/** Matches the system program's error for a balance that is too low, regardless of which instruction caused it. */
const INSUFFICIENT_FUNDS = /"Custom":1\b|InsufficientFundsForRent/

function toSignatureStatus({ slot, err }: z.output<typeof statusSchema>): SignatureStatus {
  if (err === null || err === undefined) return { slot, error: null }
  const error = JSON.stringify(err)
  return { slot, error, ...(INSUFFICIENT_FUNDS.test(error) ? { unpaid: true } : {}) }
}
