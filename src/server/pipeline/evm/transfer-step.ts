import type { EvmBlockchain } from '../../../api/blockchains.ts'
import type { Chains } from '../../chain/chains.ts'
import { currentFees } from '../../chain/evm/cost/cached-fees.ts'
import type { Signer } from '../../chain/evm/evm-signer.ts'
import { BURN_GAS_LIMIT } from '../../chain/evm/gas-limits.ts'
import type { Fees } from '../../chain/evm/network.ts'
import type { CurrentFees } from '../../chain/fees.ts'
import { endTransfer } from '../../state/transfers.ts'
import { isBehind } from '../../store/followers.ts'
import { hasLimitedRuns, type LimitedRun, type RunKey } from '../../store/run-costs.ts'
import {
  assignTransfers,
  hasUnsignedTransfers,
  listUnsignedTransfers,
  lockTransfersForSigning,
} from '../../store/transfers.ts'
import { type DriverOptions, LostRaceError, type OnSigned, type SignedTransaction } from '../driver.ts'
import type { Turn } from '../loop.ts'
import { commitSigned } from './commit-signed.ts'
import { computeFeesWithinLimits, resolveSigningFees } from './limit-fees.ts'
import { findLimitedRunOfEachRow, requireUnlimited } from './limited-runs.ts'
import { signAndStoreAll, type TransactionDraft } from './sign-and-store.ts'
import { RESERVED_SLOTS, readSignerCapacities } from './signer-pool.ts'
import { transferCall } from './transfer-call.ts'

/** Delay in milliseconds before a burn checks again whether the mint of its NFT is final. */
const FINALITY_RETRY_MS = 1000
/** Amount of gas that exceeds any call, for signers on an embedded chain, whose funds aren't limited. */
const UNLIMITED_GAS = 1_000_000_000n

/** The outcome of a transfer whose token was removed by a reorg and couldn't be minted again. */
const FAILED_NFT_OUTCOME = { status: 'failed', error: 'the NFT failed, so it has no token to transfer' } as const

export interface TransferStepOptions extends DriverOptions<EvmBlockchain> {
  chains: Pick<Chains, 'signing' | 'network' | 'remote'>
  onSigned: OnSigned
  /** Assigns transactions that are already on chain to pending transfers. Resolves with the IDs of these transfers. */
  recover?: (transfers: readonly UnsignedTransfer[]) => Promise<ReadonlySet<string>>
}

type UnsignedTransfer = Awaited<ReturnType<typeof listUnsignedTransfers>>[number]
type ChainFees = Pick<TransactionDraft, 'blockchain' | 'chainId' | 'fees'>

/** The cost-limited run of a transfer, with the current fees. */
interface LimitedRunFees {
  run: LimitedRun
  current: CurrentFees
}

/**
 * Signs accepted transfers and burns of a blockchain. Each of them has its own transaction, because tokens are
 * transferred independently.
 */
export function createTransferStep(options: TransferStepOptions): Turn {
  const { store, blockchain, chains, recover = async () => new Set<string>() } = options

  /** Signs transfers together. If that fails, signs them one by one, so that one failure doesn't block the others. */
  const signAsFarAsPossible = async (
    terms: ChainFees,
    operator: Signer,
    transfers: readonly UnsignedTransfer[],
    limited: ReadonlyMap<string, LimitedRunFees>,
  ) => {
    const free = transfers.filter(({ id }) => !limited.has(id))
    let failure: unknown
    const individualTransfers = transfers.filter(({ id }) => limited.has(id))
    if (free.length > 0) await sign(options, terms, operator, free).catch(() => individualTransfers.push(...free))
    for (const transfer of individualTransfers) {
      await sign(options, terms, operator, [transfer], limited.get(transfer.id)).catch((error: unknown) => {
        // A lost race isn't a failure: the run's limit no longer allows the fees, so the transfer waits.
        if (!(error instanceof LostRaceError)) failure ??= error
      })
    }
    return { failure }
  }

  return async () => {
    if (!(await hasUnsignedTransfers(store.db, blockchain))) return null
    const { chainId, signers, fees, affordable } = await chains.signing(blockchain)
    if (await isBehind(store.db, blockchain)) return null
    // Returns the number of burns for which a signer can pay. A burn needs more gas than a transfer.
    const countPayableBurns = ({ address }: Signer) =>
      Number((affordable?.get(address) ?? UNLIMITED_GAS) / BURN_GAS_LIMIT)
    const free = await readSignerCapacities(store.db, blockchain, signers.operators)
    const capacities = free.map(({ signer, capacity }) => {
      return { signer, capacity: Math.min(Math.max(0, capacity - RESERVED_SLOTS), countPayableBurns(signer)) }
    })
    const totalCapacity = capacities.reduce((sum, { capacity }) => sum + capacity, 0)
    if (totalCapacity === 0) return null
    const transfers: UnsignedTransfer[] = []
    const { unsigned, limited } = await findUnsignedTransfers(options, totalCapacity, fees)
    const recovered = await recover(unsigned)
    for (const transfer of unsigned) {
      if (recovered.has(transfer.id)) continue
      if (transfer.nft_status === 'failed')
        await store.transaction((db) => endTransfer(db, transfer.id, FAILED_NFT_OUTCOME))
      else transfers.push(transfer)
    }
    const terms = { blockchain, chainId, fees }
    let at = 0
    const outcomes = await Promise.all(
      capacities.map(({ signer, capacity }) => {
        at += capacity
        return signAsFarAsPossible(terms, signer, transfers.slice(at - capacity, at), limited)
      }),
    )
    for (const { failure } of outcomes) if (failure !== undefined) throw failure
    // Transfers for which no signer has capacity wait until an earlier transaction is in a block. Burns wait until
    // their mint is final.
    return (await hasUnsignedTransfers(store.db, blockchain)) ? FINALITY_RETRY_MS : null
  }
}

/** Signs transfers with one key in one commit. A transfer of a cost-limited run gets a separate commit. */
async function sign(
  { store, now, onSigned }: TransferStepOptions,
  terms: ChainFees,
  operator: Signer,
  transfers: readonly UnsignedTransfer[],
  limited: LimitedRunFees | null = null,
): Promise<void> {
  const signed = await commitSigned(store, async (db): Promise<[SignedTransaction, string][]> => {
    // Lock the transfers before reserving nonces, because other processes wait for nonces until this transaction ends.
    // Skip transfers that other processes have signed.
    const ids = transfers.map(({ id }) => id)
    const locked = await lockTransfersForSigning(db, ids)
    const lockedTransfers = transfers.filter(({ id }) => locked.has(id))
    const drafts: TransactionDraft[] = []
    for (const transfer of lockedTransfers) {
      const [call, { kind }, run] = [transferCall(transfer), transfer, limited?.run ?? null]
      if (run === null) await requireUnlimited(db, transfer.collection_id, [transfer])
      const reservedCall = { ...call, changes: [transfer.id] }
      const fees = await resolveSigningFees(db, run, reservedCall, terms.fees, limited?.current ?? null)
      drafts.push({ ...terms, ...call, kind, fees, run })
    }
    const [first, ...otherDrafts] = drafts
    if (first === undefined) return []
    const transactions = await signAndStoreAll(db, operator, [first, ...otherDrafts], now())
    const assigned = lockedTransfers.map(({ id }, index) => ({ id, transactionId: transactions[index]?.id ?? '' }))
    if ((await assignTransfers(db, assigned)) !== lockedTransfers.length) throw new Error('a transfer was signed twice')
    return transactions.map((transaction, index) => [transaction, lockedTransfers[index]?.request_id ?? ''])
  })
  for (const [transaction, request] of signed) onSigned([transaction], [request])
}

/** Returns unsigned transfers, except those of runs that wait for lower fees. */
async function findUnsignedTransfers(
  { store, blockchain, chains }: TransferStepOptions,
  limit: number,
  suggested: Fees,
) {
  const skippedRuns: RunKey[] = []
  for (;;) {
    const unsigned = await listUnsignedTransfers(store.db, blockchain, limit, skippedRuns)
    const limited = new Map<string, LimitedRunFees>()
    const current = (await hasLimitedRuns(store.db)) ? await currentFees(chains, blockchain) : null
    const waiting = skippedRuns.length
    for (const transfer of current === null ? [] : unsigned) {
      const [run = null] = await findLimitedRunOfEachRow(store.db, transfer.collection_id, [transfer])
      if (run === null || current === null || transfer.token_id === null) continue
      limited.set(transfer.id, { run, current })
      const isSame = (other: RunKey) => other.run === run.run && other.collection_id === run.collection_id
      if (skippedRuns.slice(waiting).some(isSame)) continue
      const reservedCall = { ...transferCall(transfer), changes: [transfer.id] }
      if ((await computeFeesWithinLimits(store.db, run, reservedCall, suggested, current)) === null)
        skippedRuns.push(run)
    }
    if (skippedRuns.length === waiting) return { unsigned, limited }
  }
}
