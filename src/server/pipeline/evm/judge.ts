import { getContractAddress, numberToHex, parseTransaction } from 'viem'
import { GdnError } from '../../../core/errors.ts'
import { MAX_TOKENS_PER_CALL } from '../../chain/evm/collection.ts'
import { type CollectionAtBlock, readCollectionState } from '../../chain/evm/collection-reads.ts'
import type { EvmNetwork, Hex } from '../../chain/evm/network.ts'
import type { Log } from '../../log.ts'
import { type CollectionRow, findCollectionById } from '../../store/collections.ts'
import { maxReverts } from '../../store/nfts.ts'
import type { TransactionKind } from '../../store/schema.ts'
import {
  isMint,
  isTransfer,
  isUpdate,
  requireNonce,
  type TransactionRow,
  transactionFollowsUnfinal,
} from '../../store/transactions.ts'
import { nextKnownTokenId } from '../../store/unknown-mints.ts'
import type { OutcomeVerdict, TransactionOutcome } from '../driver.ts'
import {
  type Call,
  isRefusedAtFinality,
  judgeRevertedCall,
  MAX_TEMPORARY_REVERTS,
  readAtFinality,
} from './judge-reverted-call.ts'
import { type ChangeJudgeContext, judgeTransfer } from './judge-transfer.ts'
import { judgeUpdate } from './judge-update.ts'

export interface JudgeContext extends ChangeJudgeContext {
  log: Log
}

const CANCELED_BY_OPERATOR_ERROR = 'the operator of this backend canceled its transaction'

/** Decides what the outcome of a transaction on an EVM chain means. */
export async function judge(context: JudgeContext): Promise<OutcomeVerdict> {
  const { transaction, outcome } = context
  if (outcome.state === 'lost') return judgeLost(context)
  if (outcome.state === 'cancelled') {
    const next = await readNextTokenId(context)
    return outcome.shouldSignAgain
      ? { kind: 'again', ...next }
      : { kind: 'failed', error: CANCELED_BY_OPERATOR_ERROR, ...next }
  }
  if (isTransfer(transaction)) return judgeTransfer(context)
  if (isUpdate(transaction)) return judgeUpdate(context)
  if (outcome.state === 'reverted') return judgeReverted(context)
  return isMint(transaction) ? { kind: 'done', collection: { batch_limit: null } } : { kind: 'done' }
}

/**
 * Decides on a lost transaction. Another user of the signer's key has used the transaction's nonce. None of its signed
 * versions can therefore be mined, and its rows get a transaction with another nonce. If a lost deployment was mined
 * after all, the second deployment reverts, and the collection counts as deployed.
 */
async function judgeLost(context: JudgeContext): Promise<OutcomeVerdict> {
  const { network, transaction, log } = context
  const { id, signer, kind } = transaction
  const nonce = requireNonce(transaction)
  if (
    kind === 'factory' &&
    (await hasCode(network, getContractAddress({ from: signer as Hex, nonce: BigInt(nonce) })))
  ) {
    throw new GdnError('unreachable', `${network.blockchain} has the factory, but no node returns its transaction`, {
      hint: 'Configure the RPC URL of a node that has all transactions.',
    })
  }
  log.error(
    { transaction: id, signer, nonce, kind },
    'an unknown transaction used the nonce of a transaction of this backend: the signer key is also used elsewhere',
  )
  return { kind: 'again', ...(await readNextTokenId(context)) }
}

/**
 * Returns whether an address has code. If it does, the deployment must not be repeated, even if a node lacks its
 * transaction.
 */
const hasCode = async (network: EvmNetwork, address: Hex): Promise<boolean> =>
  (await network.request('eth_getCode', [address, 'latest'])) !== '0x'

/** Returns the token ID that is minted next after a bundle had no effect. */
async function readNextTokenId({ store, network, transaction }: JudgeContext) {
  const { collection_id: collectionId, start_id } = transaction
  if (!isMint(transaction) || collectionId === null) return {}
  const collection = await findCollectionById(store.db, collectionId)
  const state = collection && (await readCollectionState(network, collection.contract_address as Hex))
  if (!state) throw new Error(`the node does not have the collection ${collectionId}`)
  const startId = BigInt(start_id ?? state.nextTokenId)
  const next = await nextKnownTokenId(store.db, { id: collectionId, startId }, state.nextTokenId)
  return { collection: { next_token_id: String(next), ...limitBundles(collection) } }
}

/** Limits a collection's bundles. With a limit, bundles are signed one at a time until one succeeds. */
const limitBundles = ({ batch_limit }: CollectionRow) => ({ batch_limit: batch_limit ?? MAX_TOKENS_PER_CALL })

/**
 * Decides on a reverted transaction based on the collection's state on chain. If rights were revoked, all pending NFTs
 * fail. If the bundle's start ID is used, the bundle is signed again. A bundle that exceeds the maximum supply is
 * truncated. Any other bundle is halved until only the failing NFT is left. On a network with reorgs, a bundle that
 * would succeed now is also signed again, because a reorg had placed it before a bundle that it depends on.
 */
async function judgeReverted({ store, network, transaction, outcome }: JudgeContext): Promise<OutcomeVerdict> {
  const { kind, collection_id: collectionId, token_count: count, start_id } = transaction
  const { publicNetwork } = network
  if (kind === 'factory' || collectionId === null) return { kind: 'none' }
  const wait: OutcomeVerdict = { kind: 'wait', waitMs: publicNetwork?.pollMs ?? 0 }
  if (publicNetwork !== undefined && (await transactionFollowsUnfinal(store.db, transaction))) return wait
  const collection = await findCollectionById(store.db, collectionId)
  if (collection === null) return { kind: 'none' }
  // Read the state at the newest known block, because a lagging node may not have the collection or its latest rights.
  // A node without that block returns no state.
  const block = publicNetwork === undefined ? 'latest' : numberToHex(await publicNetwork.head())
  const state = await readCollectionState(network, collection.contract_address as Hex, block)

  if (kind === 'collection') {
    if (state !== null) return { kind: 'done' }
    return {
      kind: 'failed',
      error: `the collection could not be deployed: its transaction ${transaction.hash} reverted`,
    }
  }
  if (state === null) {
    if (collection.status === 'failed') return { kind: 'none' }
    if (publicNetwork !== undefined && collection.status === 'initiated') return wait
    // A call to an address without code can't revert, so the collection exists and this node lags.
    throw new Error(`the node does not have the collection ${collection.contract_address}`)
  }
  // The chain may have tokens that the database doesn't have. The recover step examines them before anything is signed
  // again.
  if (start_id !== null && state.nextTokenId > BigInt(start_id)) {
    const next = await nextKnownTokenId(store.db, { id: collectionId, startId: BigInt(start_id) }, state.nextTokenId)
    return { kind: 'again', collection: { next_token_id: String(next), ...limitBundles(collection) } }
  }
  const next_token_id = String(state.nextTokenId)
  const refusal = findMintRefusal(kind, state)
  if (refusal !== null) {
    if (!(await isMintRefusedAtFinality(network, collection, kind))) return wait
    return { kind: 'failed', ...refusal, collection: { next_token_id } }
  }
  if (next_token_id !== start_id) {
    return { kind: 'again', collection: { next_token_id, ...limitBundles(collection) } }
  }
  const call = decodeCall(transaction, outcome)
  const reverted = call === null ? 'never' : await judgeRevertedCall(network, call)
  if (reverted === 'wait') return wait
  if (reverted === 'again' && (await maxReverts(store.db, transaction.id)) < MAX_TEMPORARY_REVERTS) {
    return { kind: 'again', counted: true, collection: { next_token_id, ...limitBundles(collection) } }
  }
  const max_supply = await findExceededMaxSupply(network, collection, count)
  if (max_supply !== null) {
    return { kind: 'again', collection: { next_token_id, max_supply, ...limitBundles(collection) } }
  }
  if (count > 1) {
    const batch_limit = Math.max(1, Math.floor(count / 2))
    return { kind: 'again', collection: { next_token_id, batch_limit } }
  }
  const error = `the mint failed on the network: its transaction ${transaction.hash} reverted`
  return { kind: 'failed', error, collection: { next_token_id, batch_limit: 1 } }
}

/**
 * Returns why the owner of the collection no longer permits the service to create these NFTs. Returns null if the owner
 * still permits it.
 */
function findMintRefusal(kind: TransactionKind, state: CollectionAtBlock) {
  const all = 'all of the collection' as const
  if (state.revoked) return { fails: all, error: "the collection's owner has revoked the service's right to mint" }
  if (!state.enableApi) {
    return { fails: all, error: "the collection's owner has disabled minting through the API" }
  }
  if (kind !== 'grant' || state.enableTransfer) return null
  const error = "the collection's owner has disabled transfers of NFTs through the API"
  return { fails: 'grants of the collection' as const, error }
}

/** Returns whether the service's right to create these NFTs is missing in the newest final state. */
const isMintRefusedAtFinality = (
  network: EvmNetwork,
  { contract_address }: CollectionRow,
  kind: TransactionKind,
): Promise<boolean> =>
  isRefusedAtFinality(network, async (block) => {
    const state = await readCollectionState(network, contract_address as Hex, block)
    return state !== null && findMintRefusal(kind, state) !== null
  })

/**
 * Returns the final maximum supply of a collection if `count` more tokens exceed it; otherwise null. Stores it in the
 * database, because the follower may not have read the owner's change yet. Keeps the stored maximum if it is lower and
 * not final yet.
 */
async function findExceededMaxSupply(
  network: EvmNetwork,
  { contract_address, max_supply }: CollectionRow,
  count: number,
): Promise<string | null> {
  const { publicNetwork } = network
  const read = (block?: Hex) => readCollectionState(network, contract_address as Hex, block)
  const state = publicNetwork === undefined ? await read() : await readAtFinality(publicNetwork, read)
  const { maxSupply = 0n, nextTokenId = 1n } = state ?? {}
  if (maxSupply === 0n || nextTokenId - 1n + BigInt(count) <= maxSupply) return null
  return max_supply !== null && BigInt(max_supply) < maxSupply ? max_supply : String(maxSupply)
}

/**
 * Returns the reverted call from the signed version that is in the block. A later version may be an empty transaction
 * that was sent too late to cancel the call. Returns null if the bytes can't be decoded.
 */
function decodeCall({ raw, signer }: TransactionRow, { seen }: TransactionOutcome): Call | null {
  try {
    const { to, data = '0x', gas = 0n } = parseTransaction((seen.raw ?? raw) as Hex)
    return to ? { from: signer as Hex, to, data, gas } : null
  } catch {
    return null
  }
}
