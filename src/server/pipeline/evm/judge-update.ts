import { numberToHex, parseTransaction } from 'viem'
import { readMetadataState, readProvenance } from '../../chain/evm/collection-reads.ts'
import { decodeUpdate } from '../../chain/evm/collection-updates.ts'
import type { Hex } from '../../chain/evm/network.ts'
import { findCollectionById } from '../../store/collections.ts'
import { findCollectionOfUpdates, listUpdatesOfTransaction, updatesFollowUnfinal } from '../../store/updates.ts'
import type { OutcomeVerdict } from '../driver.ts'
import { judgeRevertedCall, MAX_TEMPORARY_REVERTS } from './judge-reverted-call.ts'
import type { ChangeJudgeContext } from './judge-transfer.ts'
import { findUpdateRefusal, isUpdateRefusedAtFinality, readUpdateTerms } from './update-refusal.ts'

/**
 * Decides what the outcome of a transaction with updates, a freeze or a commitment means. After a revert, the sequence
 * number in the transaction shows whether another transaction has already used that number. Updates of tokens that
 * can't be updated fail. The others are signed again.
 */
export async function judgeUpdate({
  store,
  network,
  transaction,
  outcome,
}: ChangeJudgeContext): Promise<OutcomeVerdict> {
  const isFinal = outcome.state === 'final'
  const { id, blockchain, kind, update_sequence: sequence, hash, signer, raw } = transaction
  const { publicNetwork } = network
  const wait: OutcomeVerdict = { kind: 'wait', waitMs: publicNetwork?.pollMs ?? 0 }
  const updates = await listUpdatesOfTransaction(store.db, id)
  const { to, data = '0x', gas = 0n } = parseTransaction((outcome.seen.raw ?? raw) as Hex)
  const calledTokenIds = decodeUpdate(data)?.tokenIds
  // After a reorg, an NFT may have been minted as a different token. The update step examines the effect of this
  // transaction on the old token.
  const hasMoved = updates.some(
    ({ token_id }) => token_id !== null && calledTokenIds?.includes(BigInt(token_id)) === false,
  )
  if (hasMoved) return { kind: 'again' }
  if (isFinal && kind !== 'provenance') return { kind: 'done' }
  const collectionId = await findCollectionOfUpdates(store.db, id)
  const collection = collectionId && (await findCollectionById(store.db, collectionId))
  if (!collection) return { kind: 'none' }
  if (
    !isFinal &&
    publicNetwork !== undefined &&
    (await updatesFollowUnfinal(store.db, { id, blockchain, collectionId: collection.id }))
  )
    return wait
  // A reorg has removed a mint that can't be mined again. The update step marks the update as failed, or waits for
  // another mint.
  if (updates.some(({ nft_status }) => nft_status !== null && nft_status !== 'deployed')) return { kind: 'again' }
  // Read the state at the newest known block, because a lagging node may not have the latest update. A node without
  // that block returns no state.
  const block = publicNetwork === undefined ? 'latest' : numberToHex(await publicNetwork.head())
  const terms = await readUpdateTerms(network, collection, block)
  if (terms === null) return wait
  const contract = collection.contract_address as Hex
  for (const { metadata } of kind === 'provenance' ? updates : []) {
    const firstToken = await readProvenance(network, contract, metadata as Hex, block)
    if (isFinal && firstToken !== 0n) return { kind: 'done', firstTokenId: String(firstToken) }
    // A reorg can place a commitment before the deployment of its collection, where it has no effect. If another
    // transaction has made the commitment, the update step finds it.
    if (isFinal || firstToken !== 0n) return { kind: 'again' }
  }
  const refusal = findUpdateRefusal(terms, kind)
  if (refusal !== null) {
    return (await isUpdateRefusedAtFinality(network, collection, kind)) ? { kind: 'failed', error: refusal } : wait
  }
  if (sequence !== null && terms.lifecycle.updateCount + 1 !== sequence) return { kind: 'again' }
  const fails: { seq: number; error: string }[] = []
  for (const { seq, token_id } of kind === 'update' ? updates : []) {
    const token = await readMetadataState(network, contract, BigInt(token_id ?? 0), block)
    if (token.frozen) fails.push({ seq, error: 'the metadata of the NFT is frozen' })
    else if (!token.dynamic) fails.push({ seq, error: 'the NFT is not dynamic' })
  }
  if (fails.length > 0) return { kind: 'again', fails }
  const reverted = to ? await judgeRevertedCall(network, { from: signer as Hex, to, data, gas }) : 'never'
  if (reverted === 'wait') return wait
  const reverts = Math.max(0, ...updates.map(({ attempts }) => attempts))
  if (reverted === 'again' && reverts < MAX_TEMPORARY_REVERTS) return { kind: 'again', counted: true }
  return { kind: 'failed', error: `the ${kind} failed on the network: its transaction ${hash} reverted` }
}
