import { sameAddress } from '../../../api/same-address.ts'
import { statusOf } from '../../../client/answers.ts'
import { GdnError } from '../../../core/errors.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import type { Connection, Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import type { DataRecord } from '../../render/cells.ts'
import { hasFailed, isFinal, poll } from '../../request/waiting.ts'

export interface AcceptedTransfer {
  nftGdnId: string
  sender: string
  receiver: string
  /** Null if the transfer was found to be complete without a response. */
  transactionId: string | null
}

export interface WaitedForTransfer {
  /** What was read about the transfer, with the API's field names. */
  seen: DataRecord
  ended: boolean
  problem: GdnError | null
}

/** Waits until the owner changed and, if the server returns transactions, the transaction is final. */
export async function waitForTransfer(
  deps: Deps,
  { client, server }: Pick<Connection, 'client' | 'server'>,
  { nftGdnId, sender, receiver, transactionId }: AcceptedTransfer,
  timeoutMs: number,
): Promise<WaitedForTransfer> {
  const options = { signal: deps.signals.signal }
  let seen: DataRecord = {}
  let isFollowed = transactionId !== null
  const progress = await deps.io.progress('Waiting for the transfer')

  /** Whether the transaction is final, or the server returns no transactions. */
  const isThrough = async (): Promise<boolean> => {
    if (!isFollowed || transactionId === null || isFinal(String(seen.status ?? ''))) return true
    try {
      const { transactions } = await client.call('gettransactions', { transaction_gdn_ids: [transactionId] }, options)
      const found = transactions.find((one) => one.transaction_gdn_id === transactionId)
      if (found === undefined) return false
      const { status, transaction_hash, gas_used, error } = found
      seen = { status, transaction_hash, gas_used, error }
      return isFinal(status)
    } catch (error) {
      if (statusOf(error) !== 404 && statusOf(error) !== 405) throw error
      isFollowed = false
      return true
    }
  }
  const hasMoved = async (): Promise<boolean> => {
    if (sameAddress(sender, receiver)) return true
    const { nfts } = await client.call('getnfts', { nft_gdn_ids: [nftGdnId] }, options)
    const owner = nfts.find((nft) => nft.nft_gdn_id === nftGdnId)?.receiver_wallet_address
    return typeof owner === 'string' && !sameAddress(owner, sender)
  }
  try {
    const ended = await poll(deps, timeoutMs, async () => {
      if (!(await isThrough())) return undefined
      if (hasFailed(String(seen.status ?? ''))) return 'failed'
      return (await hasMoved()) ? 'moved' : undefined
    })
    if (ended === undefined) {
      return { seen, ended: false, problem: pending(nftGdnId, timeoutMs, serverFlag(server)) }
    }
    if (ended === 'failed') return { seen, ended: true, problem: failed(seen.error) }
    return { seen: { ...seen, status: 'deployed' }, ended: true, problem: null }
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return { seen, ended: false, problem: error }
  } finally {
    progress.stop()
  }
}

const pending = (id: string, timeoutMs: number, flag: string) =>
  new GdnError('pending', `the transfer is still pending after ${timeoutMs / 1000} s`, {
    hint: `Run \`gdn nft show ${safe(id)}${flag}\` later to check the owner.`,
    details: { nft_gdn_id: id },
  })

const failed = (reason: unknown) =>
  new GdnError('refused', `the transfer failed: ${reason ?? 'the server returned no reason'}`, {
    hint: 'The NFT was not transferred. Fix the cause, then run the command again.',
  })
