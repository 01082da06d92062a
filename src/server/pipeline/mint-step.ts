import { type Blockchain, type EvmBlockchain, isEvm } from '../../api/blockchains.ts'
import { newId } from '../../core/ids.ts'
import { shuffled } from '../../core/shuffled.ts'
import { encodeGrant, encodeMint, MAX_BATCH, type MintRun } from '../chain/evm/collection.ts'
import { grantGasLimit, mintGasLimit } from '../chain/evm/gas-limits.ts'
import type { Hex } from '../chain/evm/network.ts'
import type { AskSigning, Signer, Signing } from '../chain/evm/signers.ts'
import { assignToTransactions, failNftsOfCollection } from '../state/nfts.ts'
import { putBlocks } from '../store/block-table.ts'
import { type CollectionRow, findCollectionById, tryLockCollection, updateCollection } from '../store/collections.ts'
import { isBehind } from '../store/followers.ts'
import { collectionsWithMintable, listMintable } from '../store/nfts.ts'
import type { Store } from '../store/open-store.ts'
import type { Db } from '../store/schema.ts'
import { hasUnfinished } from '../store/transactions.ts'
import { openMintsOf } from '../store/unknown-mints.ts'
import type { Turn } from './loop.ts'
import { batchDirectory } from './metadata-file.ts'
import { type OnSigned, type SignedTransaction, signAndStore } from './sign.ts'
import { freeSigners, takeLane } from './signed-ahead.ts'

/** Gas of one batch at most. Networks cap a transaction at 16.78 million (EIP-7825). */
const MAX_BATCH_GAS = 10_000_000n
const SWEEP_MS = 5000
/** Whoever holds a collection at this moment signs for it, or has changed something about it: then it is looked at again. */
const TAKEN_MS = 50

export interface MintStepOptions {
  store: Store
  signing: AskSigning
  now: () => number
  onSigned: OnSigned
  /** Blockchains that this process works on; by default all. */
  serves?: (blockchain: EvmBlockchain) => boolean
  /** Whether the chain has tokens of the collection that the database doesn't know; by default never. */
  isAhead?: (collection: CollectionRow) => Promise<boolean>
}

export interface MintStep {
  turn: Turn
  /** NFTs of this collection may be waiting. */
  mark(collectionId: string): void
}

type Mintable = Awaited<ReturnType<typeof listMintable>>[number]

/** What is signed for at once. */
interface Batch {
  nfts: readonly Mintable[]
  kind: 'mint' | 'grant'
  startId: bigint
  directory: string
  data: Hex
  blocks: Parameters<typeof putBlocks>[1]
}

interface Minting {
  transaction: SignedTransaction
  /** Whose NFTs it creates. */
  requests: readonly string[]
}

class LostRace extends Error {}

/**
 * Group commit: whatever waits in a collection goes into one transaction, any number of requests and receivers. NFTs
 * that are transferred in the same step need another call, for one sender at a time: a batch ends where the kind or the
 * sender changes, so that all of a collection are created in the order of acceptance.
 * An idle collection is signed for at once; requests gather only behind a transaction that is under way.
 */
export function createMintStep(options: MintStepOptions): MintStep {
  const { store, signing, now, onSigned, serves = () => true, isAhead = async () => false } = options
  const marked = new Set<string>()
  /** Found every lane full: looked at again when any transaction is finished. */
  const parked = new Set<string>()
  let sweptAt = 0

  /** @param payable gas that can be paid for */
  const prepare = async (db: Db, collection: CollectionRow, payable: bigint): Promise<Batch | null> => {
    const rows = await listMintable(db, collection.id, collection.batch_limit ?? MAX_BATCH)
    const nfts = fitIntoGas(ofOneKind(rows), payable, collection.is_locked === 1)
    const [first] = nfts
    if (first === undefined) return null
    const { cid, digest, blocks } = await batchDirectory(nfts)
    const startId = BigInt(collection.next_token_id)
    const data = encodeBatch({ batch: nfts, sender: first.sender, startId, digest })
    return { nfts, kind: first.sender === null ? 'mint' : 'grant', startId, directory: cid, data, blocks }
  }

  /**
   * Null where nothing was to be signed. Where processes share a database, whoever has locked the collection prepares its
   * batch, and the others pass by. Measured with four workers: prepared by each of them and then thrown away by all but
   * one, the batches took 3.7 times the work, and were signed at a tenth of the pace.
   */
  const sign = async (
    collection: CollectionRow,
    operators: readonly [Signer, ...Signer[]],
    terms: Signing,
  ): Promise<Minting | null | 'taken'> => {
    const payable = ({ address }: Signer) => terms.affordable?.get(address) ?? MAX_BATCH_GAS
    let most = 0n
    for (const operator of operators) if (payable(operator) > most) most = payable(operator)
    // A process that is alone keeps its one writer free meanwhile.
    const ahead = store.postgres === null ? await prepare(store.db, collection, most) : undefined
    if (ahead === null) return null
    const blockchain = collection.blockchain as EvmBlockchain
    return store.transaction(async (db) => {
      const current = await tryLockCollection(db, collection.id)
      if (current === null) return 'taken'
      // Another process may have signed for it a moment ago.
      if (current.status !== 'deployed' || (await hasUnfinished(db, collection.id))) return null
      const batch = ahead ?? (await prepare(db, current, most))
      if (batch === null || String(batch.startId) !== current.next_token_id) return null
      const { nfts, kind, startId, directory, data, blocks } = batch
      const id = newId()
      const assignments = nfts.map(({ seq }, index) => ({ seq, transactionId: id, index }))
      if ((await assignToTransactions(db, assignments)) !== nfts.length) throw new LostRace()
      await updateCollection(db, collection.id, { next_token_id: String(startId + BigInt(nfts.length)) })
      await putBlocks(db, blocks, store.publishTo)
      const gas = gasOf(nfts, collection.is_locked === 1)
      const [first = operators[0], ...others] = operators.filter((operator) => payable(operator) >= gas)
      // The last: whoever holds a lane has everybody else wait who wants its next nonce.
      const transaction = await signAndStore(
        db,
        await takeLane(db, blockchain, [first, ...others]),
        {
          ...{ id, blockchain, chainId: terms.chainId, fees: terms.fees },
          ...{ kind, data, to: collection.contract_address as Hex },
          gas,
          collectionId: collection.id,
          batch: { startId, count: nfts.length, directory },
        },
        now(),
      )
      return { transaction, requests: [...new Set(nfts.map((nft) => nft.request_id))] }
    })
  }

  return {
    mark(collectionId) {
      marked.add(collectionId)
      for (const id of parked) marked.add(id)
      parked.clear()
    },

    async turn() {
      if (now() - sweptAt >= SWEEP_MS || now() < sweptAt) {
        sweptAt = now()
        for (const id of await collectionsWithMintable(store.db)) marked.add(id)
      }
      const taken = new Set<string>()
      /** Of what fails the others are signed for all the same. Where nobody can sign at all, one is enough to know it. */
      const failures: unknown[] = []
      const away = new Set<EvmBlockchain>()
      // Each process in an order of its own, so that they seldom meet.
      for (const id of shuffled(marked)) {
        marked.delete(id)
        const collection = await findCollectionById(store.db, id)
        // Solana's waiting NFTs are its own pipeline's.
        if (collection === null || !isEvm(collection.blockchain as Blockchain)) continue
        if (collection.status === 'failed') {
          // Accepted in the moment in which the collection failed: nothing else would ever end their waiting.
          const reason = collection.error ?? 'the collection failed'
          await store.transaction((db) => failNftsOfCollection(db, id, reason))
          continue
        }
        const blockchain = collection.blockchain as EvmBlockchain
        if (collection.status !== 'deployed' || !serves(blockchain)) continue
        if (away.has(blockchain)) {
          marked.add(id)
          continue
        }
        if (await hasUnfinished(store.db, id)) continue
        // Looked into by the recovery step, which marks the collection again.
        if ((await openMintsOf(store.db, id)).length > 0) continue
        try {
          const terms = await signing(blockchain).catch((error: unknown) => {
            away.add(blockchain)
            throw error
          })
          // The follower is about to read what is unknown. The sweep comes back to it.
          if ((await isBehind(store.db, blockchain)) || (await isAhead(collection))) continue
          const [operator, ...others] = await freeSigners(store.db, blockchain, terms.signers.operators)
          if (operator === undefined) {
            parked.add(id)
            continue
          }
          const signed = await sign(collection, [operator, ...others], terms)
          if (signed === 'taken') taken.add(id)
          else if (signed !== null) onSigned(blockchain, signed.transaction, signed.requests)
        } catch (error) {
          marked.add(id)
          if (!(error instanceof LostRace)) failures.push(error)
        }
      }
      const waiting = marked.size > 0 ? 0 : taken.size > 0 ? TAKEN_MS : null
      for (const id of taken) marked.add(id)
      if (failures.length > 0) throw failures[0]
      return waiting
    },
  }
}

/** Neighbours with the same receiver, as the contract wants them. */
export function toRuns(batch: readonly Pick<Mintable, 'receiver'>[]): MintRun[] {
  const runs: MintRun[] = []
  for (const { receiver } of batch) {
    const last = runs.at(-1)
    if (last?.receiver === receiver) last.count += 1
    else runs.push({ receiver: receiver as Hex, count: 1 })
  }
  return runs
}

/** What stands at the front and goes into one call: NFTs that are only minted, or those with one first owner. */
export function ofOneKind<Row extends Pick<Mintable, 'sender'>>(rows: readonly Row[]): readonly Row[] {
  const end = rows.findIndex((row) => row.sender !== rows[0]?.sender)
  return end === -1 ? rows : rows.slice(0, end)
}

function encodeBatch(call: { batch: readonly Mintable[]; sender: string | null; startId: bigint; digest: Hex }): Hex {
  const { batch, sender, startId, digest } = call
  if (sender === null) return encodeMint({ startId, runs: toRuns(batch), digest })
  return encodeGrant({ startId, sender: sender as Hex, receivers: receiversOf(batch), digest })
}

const receiversOf = (batch: readonly Mintable[]) => batch.map(({ receiver }) => receiver as Hex)

function gasOf(batch: readonly Mintable[], locked: boolean): bigint {
  const granted = batch.some(({ sender }) => sender !== null)
  return granted ? grantGasLimit(receiversOf(batch)) : mintGasLimit(toRuns(batch), locked)
}

function fitIntoGas(rows: readonly Mintable[], payable: bigint, locked: boolean): readonly Mintable[] {
  const most = payable < MAX_BATCH_GAS ? payable : MAX_BATCH_GAS
  let batch = rows
  while (batch.length > 1 && gasOf(batch, locked) > most) {
    batch = batch.slice(0, Math.ceil(batch.length * 0.9) - 1)
  }
  return batch
}
