import type { EvmBlockchain } from '../../../api/blockchains.ts'
import { BURN_GAS_LIMIT } from '../../chain/evm/gas-limits.ts'
import type { AskSigning, Signer } from '../../chain/evm/signers.ts'
import { endTransfer } from '../../state/transfers.ts'
import { isBehind } from '../../store/followers.ts'
import { assignTransfers, hasUnsigned, listUnsigned, lockForSigning } from '../../store/transfers.ts'
import type { DriverOptions, OnSigned, SignedTransaction } from '../driver.ts'
import type { Turn } from '../loop.ts'
import { commitSigned } from './commit-signed.ts'
import { type Draft, signAndStoreAll } from './sign.ts'
import { LEFT_FREE, roomOfSigners } from './signers.ts'
import { transferCall } from './transfer-call.ts'

/** How long a burn waits before its mint is looked at again. */
const UNFINAL_MS = 1000
/** Enough gas for any signer. */
const MANY = 1_000_000_000n

/** A reorg removed a token, and its new mint has failed. */
const NEVER_AGAIN = { status: 'failed', error: 'the NFT failed, so it has no token to transfer' } as const

export interface TransferStepOptions extends DriverOptions<EvmBlockchain> {
  signing: AskSigning
  onSigned: OnSigned
  /** Assigns transactions that are already on chain to their transfers. Resolves with the IDs of those. */
  recover?: (transfers: readonly Unsigned[]) => Promise<ReadonlySet<string>>
}

type Unsigned = Awaited<ReturnType<typeof listUnsigned>>[number]
type Terms = Pick<Draft, 'blockchain' | 'chainId' | 'fees'>

/** Signs the accepted transfers of a blockchain, each as its own transaction: tokens are transferred independently. */
export function createTransferStep(options: TransferStepOptions): Turn {
  const { store, blockchain, signing, now, onSigned, recover = async () => new Set<string>() } = options

  /** Signs with one key, in one commit. @returns how many were signed */
  const sign = async (terms: Terms, operator: Signer, transfers: readonly Unsigned[]): Promise<number> => {
    const signed = await commitSigned(store, async (db): Promise<[SignedTransaction, string][]> => {
      // Before nonces are reserved, which others wait for until this transaction ends. Transfers that others have
      // signed are skipped.
      const ours = await lockForSigning(
        db,
        transfers.map(({ id }) => id),
      )
      const mine = transfers.filter(({ id }) => ours.has(id))
      const [first, ...others] = mine.map(
        (transfer): Draft => ({ ...terms, ...transferCall(transfer), kind: transfer.kind }),
      )
      if (first === undefined) return []
      const transactions = await signAndStoreAll(db, operator, [first, ...others], now())
      const assigned = mine.map(({ id }, index) => ({ id, transactionId: transactions[index]?.id ?? '' }))
      if ((await assignTransfers(db, assigned)) !== mine.length) throw new Error('a transfer was signed twice')
      return transactions.map((transaction, index) => [transaction, mine[index]?.request_id ?? ''])
    })
    for (const [transaction, request] of signed) onSigned([transaction], [request])
    return signed.length
  }

  /** A transfer that can't be signed doesn't block the others. */
  const signAsFarAsPossible = async (terms: Terms, operator: Signer, transfers: readonly Unsigned[]) => {
    if (transfers.length === 0) return { signed: 0, failure: undefined }
    try {
      return { signed: await sign(terms, operator, transfers), failure: undefined }
    } catch (error) {
      if (transfers.length === 1) return { signed: 0, failure: error }
    }
    let signed = 0
    let failure: unknown
    for (const transfer of transfers) {
      await sign(terms, operator, [transfer]).then(
        (count) => {
          signed += count
        },
        (error) => {
          failure ??= error
        },
      )
    }
    return { signed, failure }
  }

  return async () => {
    if (!(await hasUnsigned(store.db, blockchain))) return null
    const { chainId, signers, fees, affordable } = await signing(blockchain)
    if (await isBehind(store.db, blockchain)) return null
    // A burn needs more than a transfer.
    const paidFor = ({ address }: Signer) => Number((affordable?.get(address) ?? MANY) / BURN_GAS_LIMIT)
    const rooms = (await roomOfSigners(store.db, blockchain, signers.operators)).map(({ signer, room }) => ({
      signer,
      room: Math.min(Math.max(0, room - LEFT_FREE), paidFor(signer)),
    }))
    const places = rooms.reduce((sum, { room }) => sum + room, 0)
    if (places === 0) return null
    const transfers: Unsigned[] = []
    const unsigned = await listUnsigned(store.db, blockchain, places)
    const recovered = await recover(unsigned)
    for (const transfer of unsigned) {
      if (recovered.has(transfer.id)) continue
      if (transfer.nft_status === 'failed') await store.transaction((db) => endTransfer(db, transfer.id, NEVER_AGAIN))
      else transfers.push(transfer)
    }
    const terms = { blockchain, chainId, fees }
    let at = 0
    const outcomes = await Promise.all(
      rooms.map(({ signer, room }) => {
        at += room
        return signAsFarAsPossible(terms, signer, transfers.slice(at - room, at))
      }),
    )
    for (const { failure } of outcomes) if (failure !== undefined) throw failure
    // Transfers without capacity are signed when an earlier transaction is final. Burns wait for the mint.
    return (await hasUnsigned(store.db, blockchain)) ? UNFINAL_MS : null
  }
}
