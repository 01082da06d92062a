import { parseTransaction } from 'viem'
import type { EvmBlockchain } from '../../../../api/blockchains.ts'
import { messageOf } from '../../../../core/errors.ts'
import { readNetworkFees } from '../../../chain/evm/cost/network-fees.ts'
import { limitFees } from '../../../chain/evm/cost/run-fee.ts'
import type { EvmNetwork, Fees, Hex, PublicNetwork } from '../../../chain/evm/network.ts'
import type { FindSigner, SignedBytes } from '../../../chain/evm/signers.ts'
import type { Log } from '../../../log.ts'
import { type AttemptRow, insertAttempts } from '../../../store/attempts.ts'
import type { Store } from '../../../store/open-store.ts'
import { delaysOthers, lockRunOf, nonceOf, type TransactionRow, updateSigned } from '../../../store/transactions.ts'
import { maxFeeOf, mayReplace } from '../limit-fees.ts'

/** Maximum multiple of the network's usual fees for automatic increases. */
const FAR_ABOVE = 4n

export interface BumperOptions {
  store: Store
  findSigner: FindSigner
  now: () => number
  log: Log
  /** The most that an increase offers for a unit of gas, in wei. Default: no limit apart from that of the network. */
  maxFee?: bigint | undefined
}

type BumpNetwork = Pick<EvmNetwork, 'chainId' | 'request'> & { publicNetwork: PublicNetwork }

export interface Bumper {
  /** Signs stuck transactions again. Resolves with their IDs. */
  bump(
    network: BumpNetwork,
    missing: readonly TransactionRow[],
    attempts: ReadonlyMap<string, readonly AttemptRow[]>,
  ): Promise<Set<string>>
}

/**
 * Raises the fees of a stuck transaction. It keeps the nonce and the call, so only one of its signings can ever be
 * mined. Only a signer's next transaction can be stuck; the others wait for it, and those that offer too little are
 * raised with it.
 */
export function createBumper({ store, findSigner, now, log, maxFee: approved }: BumperOptions): Bumper {
  /** Warnings that were logged, so that each is logged once and not on every poll. */
  const warned = new Set<string>()
  const warnOnce = (transaction: TransactionRow, what: string) => {
    const { id, nonce, signer } = transaction
    if (warned.has(`${id} ${what}`)) return
    warned.add(`${id} ${what}`)
    log.warn({ transaction: id, nonce, signer }, what)
  }
  /** By signer: our next nonce, and since when it has been next. */
  const next = new Map<string, { nonce: number; since: number }>()

  const isNextFor = async (publicNetwork: PublicNetwork, transaction: TransactionRow): Promise<number> => {
    const { signer } = transaction
    const nonce = nonceOf(transaction)
    const onChain = await publicNetwork.nextNonce(signer as Hex)
    // A lagging node returns an earlier nonce, so the responses of other nodes count.
    if (onChain < nonce) return 0
    if (onChain > nonce) next.delete(signer)
    else if (next.get(signer)?.nonce !== nonce || timeSince(next.get(signer)?.since ?? now()) === null) {
      next.set(signer, { nonce, since: now() })
    }
    return timeSince(next.get(signer)?.since ?? now()) ?? 0
  }

  /** Null for a time in the future: the clock was set back since. */
  const timeSince = (then: number): number | null => (then > now() ? null : now() - then)

  const signAgain = async (
    { chainId, publicNetwork, request }: BumpNetwork,
    transaction: TransactionRow,
    earlier: readonly AttemptRow[],
    action: TransactionRow['requested_action'] | 'free',
  ): Promise<boolean> => {
    const { id, raw } = transaction
    const isEmpty = action === 'cancel' || action === 'free'
    // Also if it can't pay for anything new: the stuck transaction may reserve its funds.
    const signer = await findSigner(transaction.blockchain as EvmBlockchain, transaction.signer)
    if (signer === null) {
      warnOnce(transaction, 'a transaction is stuck and the key of its signer is missing')
      return false
    }
    const call = parseTransaction(raw as Hex)
    const original = feesOf(call)
    const cancels = action === 'cancel' ? 1 : action === 'free' ? 2 : (earlier.at(-1)?.cancels ?? 0)
    const atLimit = async () => {
      warnOnce(transaction, 'a transaction is stuck and the limit of its run allows no higher fees')
      if (action !== null || cancels > 0 || !(await delaysOthers(store.db, transaction))) return false
      // An empty transaction costs less than what it replaces. The NFTs are signed for again when the limit allows it.
      return await signAgain({ chainId, publicNetwork, request }, transaction, earlier, 'free')
    }
    // Freeing a nonce isn't limited: other work waits for it.
    const maxFee = cancels > 0 ? null : await maxFeeOf(store.db, transaction)
    const suggested = limitFees(await publicNetwork.suggestFees(), maxFee)
    const fees = raiseFees(highest(original, earlier), suggested)
    if (maxFee !== null && fees.maxFeePerGas > BigInt(maxFee)) return await atLimit()
    if (approved !== undefined && fees.maxFeePerGas > approved) return false
    if (fees.maxFeePerGas > publicNetwork.feeCap) {
      warnOnce(transaction, 'a transaction is stuck and its fees are at the cap')
      return false
    }
    if (action === null && isFarAbove(fees, suggested)) {
      warnOnce(
        transaction,
        'a transaction is stuck though its fees are far above the usual ones: raise them with gdn tx bump',
      )
      return false
    }
    const { data = '0x', gas = 0n, to = null } = isEmpty ? emptyCall(signer.address) : call
    // No node accepts it, and each signing would make it more expensive once the funds are back.
    if ((await publicNetwork.balance(signer.address)) < gas * fees.maxFeePerGas) {
      warnOnce(transaction, 'a transaction is stuck and its signer has too little funds')
      return false
    }
    let signed: SignedBytes
    try {
      signed = await signer.sign({ chainId, nonce: nonceOf(transaction), to, data, gas, fees })
    } catch (error) {
      warnOnce(transaction, `a transaction is stuck and can't be signed again: ${messageOf(error)}`)
      return false
    }
    const attempt = (number: number, one: { raw: string; hash: string }, of: Fees, created_at: number) => ({
      transaction_id: id,
      number,
      raw: one.raw,
      hash: one.hash,
      max_fee_per_gas: String(of.maxFeePerGas),
      max_priority_fee_per_gas: String(of.maxPriorityFeePerGas),
      created_at,
      cancels: number > 0 ? cancels : 0,
    })
    // Stored before it is sent, so that any mined signing is watched.
    const current = transaction.run === null ? null : await readNetworkFees({ request, publicNetwork })
    let isOverLimit = false
    const stored = await store.transaction(async (db) => {
      const { raw, hash } = signed
      // Its run may have got a limit since it was read, and counts the new signing only with that.
      if (transaction.run === null && (await lockRunOf(db, transaction)) !== null) return false
      isOverLimit = !(await mayReplace(
        db,
        current,
        transaction,
        [transaction.raw, ...earlier.map((one) => one.raw)],
        raw,
      ))
      if (isOverLimit) return false
      if (!(await updateSigned(db, transaction, { raw, hash, next_attempt_at: now(), requested_action: null })))
        return false
      await insertAttempts(db, [
        ...(earlier.length === 0 ? [attempt(0, transaction, original, transaction.created_at)] : []),
        attempt(Math.max(1, earlier.length), signed, fees, now()),
      ])
      return true
    })
    if (isOverLimit) return await atLimit()
    if (stored) {
      for (const one of warned) if (one.startsWith(id)) warned.delete(one)
      const { maxFeePerGas } = fees
      const facts = { transaction: id, nonce: transaction.nonce, maxFeePerGas: String(maxFeePerGas) }
      log.info(facts, isEmpty ? 'an empty transaction was signed for its nonce' : 'fees were raised')
    }
    return stored
  }

  return {
    async bump(network, missing, attempts) {
      const { publicNetwork } = network
      const bumped = new Set<string>()
      const firsts = new Map<string, TransactionRow>()
      for (const transaction of missing) {
        const { id, requested_action } = transaction
        // Nodes accept a replacement of any pending transaction, not only the next one.
        if (
          requested_action !== null &&
          (await signAgain(network, transaction, attempts.get(id) ?? [], requested_action))
        ) {
          bumped.add(id)
        }
        if (!firsts.has(transaction.signer)) firsts.set(transaction.signer, transaction)
      }
      const left = [...firsts.values()].filter(({ id }) => !bumped.has(id))
      const waiting = await Promise.all(left.map((transaction) => isNextFor(publicNetwork, transaction)))
      for (const [index, transaction] of left.entries()) {
        const waits = waiting[index] ?? 0
        const earlier = attempts.get(transaction.id) ?? []
        const signedAt = earlier.at(-1)?.created_at ?? transaction.created_at
        const stuckFor = Math.min(timeSince(signedAt) ?? waits, waits)
        if (stuckFor < publicNetwork.stuckMs || !(await signAgain(network, transaction, earlier, null))) continue
        bumped.add(transaction.id)
        // Those behind it that offer too little would be stuck one after the other.
        const suggested = await publicNetwork.suggestFees()
        for (const behind of missing) {
          if (behind.signer !== transaction.signer || bumped.has(behind.id)) continue
          const signings = attempts.get(behind.id) ?? []
          if (!isTooLow(highest(feesOf(parseTransaction(behind.raw as Hex)), signings), suggested)) continue
          if (await signAgain(network, behind, signings, null)) bumped.add(behind.id)
        }
      }
      return bumped
    },
  }
}

/**
 * Returns fees that replace a transaction: nodes require an increase of both by an eighth, or more if the network's
 * fees are higher.
 */
export function raiseFees(before: Fees, suggested: Fees): Fees {
  const raise = (fee: bigint, suggestion: bigint) => {
    const least = (fee * 9n + 7n) / 8n
    return suggestion > least ? suggestion : least
  }
  return {
    maxFeePerGas: raise(before.maxFeePerGas, suggested.maxFeePerGas),
    maxPriorityFeePerGas: raise(before.maxPriorityFeePerGas, suggested.maxPriorityFeePerGas),
    ...(before.legacy ? { legacy: true } : {}),
  }
}

/**
 * The limit stops a transaction that is stuck for another reason, such as a halted network, before it reaches the cap.
 */
const isFarAbove = (fees: Fees, suggested: Fees): boolean => fees.maxFeePerGas > FAR_ABOVE * suggested.maxFeePerGas

/** Whether no block takes a transaction. The suggested fee is twice the base fee, plus the tip. */
const isTooLow = (fees: Fees, suggested: Fees): boolean =>
  2n * fees.maxFeePerGas < suggested.maxFeePerGas || fees.maxPriorityFeePerGas < suggested.maxPriorityFeePerGas

/** Returns a call that uses a nonce without an effect: it sends nothing to the signer itself. */
export const emptyCall = (signer: Hex) => ({ to: signer, data: '0x' as Hex, gas: 21_000n })

/** Returns the highest fees of all signings: those of the last one. */
export function highest(original: Fees, attempts: readonly AttemptRow[]): Fees {
  const last = attempts.at(-1)
  if (last === undefined) return original
  return {
    ...original,
    maxFeePerGas: BigInt(last.max_fee_per_gas),
    maxPriorityFeePerGas: BigInt(last.max_priority_fee_per_gas),
  }
}

export function feesOf({ type, gasPrice = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n }: ParsedFees): Fees {
  if (type !== 'legacy') return { maxFeePerGas, maxPriorityFeePerGas }
  return { maxFeePerGas: gasPrice, maxPriorityFeePerGas: gasPrice, legacy: true }
}

interface ParsedFees {
  type?: string | undefined
  gasPrice?: bigint | undefined
  maxFeePerGas?: bigint | undefined
  maxPriorityFeePerGas?: bigint | undefined
}
