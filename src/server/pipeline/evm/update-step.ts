import { numberToHex } from 'viem'
import type { EvmBlockchain } from '../../../api/blockchains.ts'
import { newId } from '../../../core/ids.ts'
import { shuffleItems } from '../../../core/shuffle-items.ts'
import type { Chains } from '../../chain/chains.ts'
import { MAX_TOKENS_PER_CALL } from '../../chain/evm/collection.ts'
import { type BlockReference, readProvenance } from '../../chain/evm/collection-reads.ts'
import { encodeCommitProvenance, encodeFreeze, encodeUpdate } from '../../chain/evm/collection-updates.ts'
import { currentFees } from '../../chain/evm/cost/cached-fees.ts'
import type { SigningTerms } from '../../chain/evm/evm-signer.ts'
import { COMMIT_PROVENANCE_GAS_LIMIT, freezeGasLimit, updateGasLimit } from '../../chain/evm/gas-limits.ts'
import type { EvmNetwork, Hex } from '../../chain/evm/network.ts'
import { assignUpdates, deployCommitment, failUpdates } from '../../state/updates.ts'
import { putBlocks } from '../../store/block-table.ts'
import { type CollectionRow, findCollectionById, lockCollection, updateCollection } from '../../store/collections.ts'
import { isBehind } from '../../store/followers.ts'
import {
  collectionsToUpdate,
  hasUnfinalUpdate,
  hasUpdateInFlight,
  listSignableUpdates,
  type UpdateWithNft,
} from '../../store/updates.ts'
import { type DriverOptions, LostRaceError, type OnSigned } from '../driver.ts'
import type { Turn } from '../loop.ts'
import { buildUpdateDirectory } from '../metadata-file.ts'
import { signForEach } from '../sign-for-each.ts'
import type { FileSources } from '../store-files-again.ts'
import { findUpdateError } from '../update-reason.ts'
import { commitSigned } from './commit-signed.ts'
import { readAtFinality } from './judge-reverted-call.ts'
import { computeFeesWithinLimits, resolveSigningFees } from './limit-fees.ts'
import { type RowsOfRun, requireUnlimited, takeRowsOfOneRun } from './limited-runs.ts'
import { recoverUpdate } from './recovery/recover-update.ts'
import { signAndStore, type TransactionDraft } from './sign-and-store.ts'
import { lockSigner, RESERVED_SLOTS, readSignerCapacities } from './signer-pool.ts'
import { findUpdateRefusal, isUpdateRefusedAtFinality, readUpdateTerms, type UpdateTerms } from './update-refusal.ts'

/** Delay in milliseconds before a freeze checks again whether the mints of its NFTs are final. */
const FINALITY_RETRY_MS = 1000
/** Delay in milliseconds before fees are compared with the limit of a run again. */
const FEES_WAIT_MS = 3000

export interface EvmUpdateStepOptions extends DriverOptions<EvmBlockchain>, FileSources {
  chains: Pick<Chains, 'signing' | 'network' | 'remote'>
  onSigned: OnSigned
}

/**
 * Signs accepted updates, freezes and commitments of a blockchain. A collection has at most one such transaction in
 * flight, with as many updates as fit. A transaction with updates contains a sequence number, so executing it a second
 * time has no effect.
 */
export function createEvmUpdateStep(options: EvmUpdateStepOptions): Turn {
  const { store, blockchain, chains } = options
  return async () => {
    const ids = await collectionsToUpdate(store.db, blockchain)
    if (ids.length === 0 || (await isBehind(store.db, blockchain))) return null
    const [terms, network] = await Promise.all([chains.signing(blockchain), chains.network(blockchain)])
    const turn: UpdateTurn = { ...options, terms, network, isWaiting: false }
    const more = await signForEach(shuffleItems(ids), async (id) => {
      const collection = await findCollectionById(store.db, id)
      if (collection?.status === 'failed') await failCollectionUpdates(options, collection)
      // After a reorg, wait until the collection is deployed again.
      return collection?.status === 'deployed' && (await signUpdates(turn, collection))
    })
    if (more) return 0
    // Freezes wait for the mints of their NFTs.
    if ((await collectionsToUpdate(store.db, blockchain)).length === 0) return null
    return turn.isWaiting ? FEES_WAIT_MS : FINALITY_RETRY_MS
  }
}

interface UpdateTurn extends EvmUpdateStepOptions {
  terms: SigningTerms
  network: EvmNetwork
  /** Whether a run waits for lower fees in this turn. */
  isWaiting: boolean
}

async function failCollectionUpdates(
  { store, blockchain }: EvmUpdateStepOptions,
  { id: collectionId }: CollectionRow,
): Promise<void> {
  const seqs = (await listSignableUpdates(store.db, { blockchain, collectionId }, MAX_TOKENS_PER_CALL)).map(
    ({ seq }) => seq,
  )
  await store.transaction((db) => failUpdates(db, seqs, 'the collection could not be created'))
}

/**
 * Signs updates of a collection.
 *
 * @returns whether there may be more to sign immediately
 */
async function signUpdates(turn: UpdateTurn, collection: CollectionRow): Promise<boolean> {
  const { store, network } = turn
  const { publicNetwork } = network
  const block = publicNetwork === undefined ? 'latest' : numberToHex(await publicNetwork.head())
  const terms = await readUpdateTerms(network, collection, block)
  // A lagging node doesn't have the collection yet.
  if (terms === null) return false
  const { updateCount } = terms.lifecycle
  if (updateCount > collection.update_count) return await recoverUpdate(turn, collection)
  // A reorg removed an earlier update, whose transaction becomes pending again. A new transaction would have the same
  // sequence number.
  if (updateCount < collection.update_count && (await hasUnfinalUpdate(store.db, collection))) return false
  return await signNextUpdates(turn, { collection, terms, block, skippedRuns: [] })
}

interface NextUpdates {
  collection: CollectionRow
  terms: UpdateTerms
  block: BlockReference
  /** Runs to skip, because they wait for lower fees. */
  skippedRuns: readonly string[]
}

/** Signs the first updates that don't wait for lower fees. */
async function signNextUpdates(turn: UpdateTurn, next: NextUpdates): Promise<boolean> {
  const { store, blockchain, network } = turn
  const { collection, terms, block, skippedRuns } = next
  const filter = { blockchain, collectionId: collection.id, except: skippedRuns }
  const rows = await failImpossibleUpdates(store, await listSignableUpdates(store.db, filter, MAX_TOKENS_PER_CALL))
  const { rows: updates, run } = await takeRowsOfOneRun(store.db, collection.id, nextUpdates(rows))
  const [first] = updates
  if (first === undefined) return false
  const { kind } = first
  if (kind === 'provenance') {
    const madeUpdate = await findMinedCommitment(network, collection, first.metadata as Hex, block)
    if (madeUpdate === 'wait') return false
    if (madeUpdate !== null) await store.transaction((db) => deployCommitment(db, first.seq, madeUpdate))
    if (madeUpdate !== null) return true
  }
  const refusal = findUpdateRefusal(terms, kind)
  if (refusal !== null) {
    if (!(await isUpdateRefusedAtFinality(network, collection, kind))) return false
    const seqs = updates.map(({ seq }) => seq)
    await store.transaction((db) => failUpdates(db, seqs, refusal))
    return true
  }
  const sequence = kind === 'update' ? terms.lifecycle.updateCount + 1 : null
  if ((await commit(turn, collection, { rows: updates, run }, sequence)) || run === null) return false
  turn.isWaiting = true
  return await signNextUpdates(turn, { ...next, skippedRuns: [...skippedRuns, run.run] })
}

/** Marks updates as failed if they can never be applied. Returns the other updates. */
async function failImpossibleUpdates(
  store: EvmUpdateStepOptions['store'],
  rows: readonly UpdateWithNft[],
): Promise<UpdateWithNft[]> {
  const signable: UpdateWithNft[] = []
  for (const row of rows) {
    const error = findUpdateError(row)
    if (error === null) signable.push(row)
    else await store.transaction((db) => failUpdates(db, [row.seq], error))
  }
  return signable
}

/**
 * Signs and stores a transaction for updates of a collection.
 *
 * @returns whether the limit of the run allows the current fees
 */
async function commit(
  { store, blockchain, chains, now, onSigned, terms }: UpdateTurn,
  { id: collectionId, contract_address, update_count }: CollectionRow,
  { rows: updates, run }: RowsOfRun<UpdateWithNft>,
  sequence: number | null,
): Promise<boolean> {
  const { chainId, fees: suggested, signers, affordable } = terms
  const tokenIds = updates.flatMap(({ token_id }) => (token_id === null ? [] : BigInt(token_id)))
  const directory = sequence === null ? null : await buildUpdateDirectory(updates)
  const call = encodeCall(updates, tokenIds, sequence, directory)
  const [signer, ...otherSigners] = (await readSignerCapacities(store.db, blockchain, signers.operators))
    .filter(
      ({ capacity, signer }) => capacity > RESERVED_SLOTS && (affordable?.get(signer.address) ?? call.gas) >= call.gas,
    )
    .map(({ signer }) => signer)
  if (signer === undefined) return true
  const current = run === null ? null : await currentFees(chains, blockchain)
  const reservedCall = { ...call, changes: updates.map(({ id }) => id) }
  if (
    run !== null &&
    current !== null &&
    (await computeFeesWithinLimits(store.db, run, reservedCall, suggested, current)) === null
  )
    return false
  const update = { sequence, count: tokenIds.length, directory: directory?.cid ?? null }
  const draft = { id: newId(), blockchain, chainId, to: contract_address as Hex, ...call, run, update }
  const signed = await commitSigned(store, async (db) => {
    const locked = await lockCollection(db, collectionId)
    if (locked?.update_count !== update_count || (await hasUpdateInFlight(db, collectionId))) return null
    const seqs = updates.map(({ seq }) => seq)
    if (run === null) await requireUnlimited(db, collectionId, updates)
    // Compute the fees before the updates are assigned, because the amount that is reserved for the updates pays for
    // the transaction.
    const fees = await resolveSigningFees(db, run, reservedCall, suggested, current)
    if ((await assignUpdates(db, seqs, draft.id)) !== updates.length) throw new LostRaceError()
    if (sequence !== null) await updateCollection(db, collectionId, { update_count: sequence })
    await putBlocks(db, directory?.blocks ?? [], store.publishTo)
    return await signAndStore(
      db,
      await lockSigner(db, blockchain, [signer, ...otherSigners]),
      { ...draft, fees },
      now(),
    )
  })
  if (signed !== null) onSigned([signed], [...new Set(updates.map(({ request_id }) => request_id))])
  return true
}

/** Returns the contract call for the updates, the freeze or the commitment. */
function encodeCall(
  [first]: readonly UpdateWithNft[],
  tokenIds: readonly bigint[],
  sequence: number | null,
  directory: { digest: Hex } | null,
): Pick<TransactionDraft, 'kind' | 'data' | 'gas'> {
  if (first?.kind === 'provenance') {
    const data = encodeCommitProvenance(first.metadata as Hex)
    return { kind: 'provenance', data, gas: COMMIT_PROVENANCE_GAS_LIMIT }
  }
  if (sequence === null || directory === null) {
    return { kind: 'freeze', data: encodeFreeze(tokenIds), gas: freezeGasLimit(tokenIds) }
  }
  const data = encodeUpdate({ sequence, tokenIds, digest: directory.digest })
  return { kind: 'update', data, gas: updateGasLimit(tokenIds) }
}

/**
 * Checks whether the collection was committed to a hash by a transaction that isn't in the database. If so, returns the
 * ID that the next token had at that time. Returns null if there is no commitment, and `wait` while a reorg can remove
 * it.
 */
async function findMinedCommitment(
  network: EvmNetwork,
  { contract_address }: CollectionRow,
  hash: Hex,
  block: BlockReference,
): Promise<string | 'wait' | null> {
  const read = (at: BlockReference) => readProvenance(network, contract_address as Hex, hash, at)
  const firstToken = await read(block)
  if (firstToken === 0n) return null
  const { publicNetwork } = network
  return publicNetwork !== undefined && (await readAtFinality(publicNetwork, read)) === 0n ? 'wait' : String(firstToken)
}

/**
 * Returns the updates for the next transaction: one update per NFT, or all NFTs of one freeze. After a reorg, an NFT
 * may have several pending updates, which are applied in order.
 */
function nextUpdates(rows: readonly UpdateWithNft[]): UpdateWithNft[] {
  const [first] = rows
  const seenSubjects = new Set<string>()
  return rows.filter(({ kind, id, nft_id }) => {
    const subject = nft_id ?? id
    const isNext = !seenSubjects.has(subject)
    seenSubjects.add(subject)
    return isNext && kind === first?.kind && (kind === 'update' || id === first.id)
  })
}
