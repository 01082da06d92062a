import { type Blockchain, type EvmBlockchain, isEvm } from '../../api/blockchains.ts'
import type { NftMetadata } from '../../api/metadata.ts'
import { encodeGrant, encodeMint, MAX_BATCH, type MintRun } from '../chain/evm/collection.ts'
import { grantGasLimit, mintGasLimit } from '../chain/evm/gas-limits.ts'
import type { Hex } from '../chain/evm/network.ts'
import type { AskSigning, Signer, Signing } from '../chain/signers.ts'
import { buildDirectory } from '../storage/directory.ts'
import { putBlocks } from '../store/block-table.ts'
import { type CollectionRow, findCollectionById, lockCollection, updateCollection } from '../store/collections.ts'
import { assignToTransaction, collectionsWithMintable, failNftsOfCollection, listMintable } from '../store/nfts.ts'
import type { Store } from '../store/open-store.ts'
import { hasUnfinished } from '../store/transactions.ts'
import type { Turn } from './loop.ts'
import { metadataFile } from './metadata-file.ts'
import { type OnSigned, type SignedTransaction, signAndStore } from './sign.ts'
import { freeSigner } from './signed-ahead.ts'

/** Gas of one batch at most. Networks cap a transaction at 16.78 million (EIP-7825). */
const MAX_BATCH_GAS = 10_000_000n
const SWEEP_MS = 5000

export interface MintStepOptions {
  store: Store
  signing: AskSigning
  now: () => number
  onSigned: OnSigned
  /** Blockchains that this process works on; by default all. */
  serves?: (blockchain: EvmBlockchain) => boolean
}

export interface MintStep {
  turn: Turn
  /** NFTs of this collection may be waiting. */
  mark(collectionId: string): void
}

type Mintable = Awaited<ReturnType<typeof listMintable>>[number]

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
export function createMintStep({ store, signing, now, onSigned, serves = () => true }: MintStepOptions): MintStep {
  const marked = new Set<string>()
  /** Found every lane full: looked at again when any transaction is finished. */
  const parked = new Set<string>()
  let sweptAt = 0

  /** Null where nothing was to be signed. */
  const sign = async (collection: CollectionRow, operator: Signer, terms: Signing): Promise<Minting | null> => {
    const rows = await listMintable(store.db, collection.id, collection.batch_limit ?? MAX_BATCH)
    const batch = fitIntoGas(ofOneKind(rows), collection.is_locked === 1)
    const [first] = batch
    if (first === undefined) return null
    const { cid, digest, blocks } = await buildDirectory(
      batch.map((nft, index) => ({
        name: `${index}.json`,
        bytes: metadataFile(JSON.parse(nft.metadata) as NftMetadata, JSON.parse(nft.files ?? '{}')),
      })),
    )
    const blockchain = collection.blockchain as EvmBlockchain
    const startId = BigInt(collection.next_token_id)
    const data = encodeBatch({ batch, sender: first.sender, startId, digest })
    return store.transaction(async (db) => {
      // Read again under the transaction: another worker may have signed for this collection meanwhile.
      const current = await lockCollection(db, collection.id)
      if (current?.status !== 'deployed' || current.next_token_id !== collection.next_token_id) return null
      if (await hasUnfinished(db, collection.id)) return null
      const transaction = await signAndStore(
        db,
        operator,
        {
          ...{ blockchain, chainId: terms.chainId, fees: terms.fees },
          kind: first.sender === null ? 'mint' : 'grant',
          to: collection.contract_address as Hex,
          data,
          gas: gasOf(batch, collection.is_locked === 1),
          collectionId: collection.id,
          batch: { startId, count: batch.length, directory: cid },
        },
        now(),
      )
      const seqs = batch.map((nft) => nft.seq)
      if ((await assignToTransaction(db, seqs, transaction.id)) !== batch.length) throw new LostRace()
      await updateCollection(db, collection.id, { next_token_id: String(startId + BigInt(batch.length)) })
      await putBlocks(db, blocks, store.publishTo)
      return { transaction, requests: [...new Set(batch.map((nft) => nft.request_id))] }
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
      const ids = [...marked]
      for (const id of ids) {
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
        if (collection.status !== 'deployed' || !serves(collection.blockchain as EvmBlockchain)) continue
        if (await hasUnfinished(store.db, id)) continue
        const blockchain = collection.blockchain as EvmBlockchain
        const terms = await signing(blockchain)
        const operator = await freeSigner(store.db, blockchain, terms.signers.operators)
        if (operator === null) {
          parked.add(id)
          continue
        }
        try {
          const signed = await sign(collection, operator, terms)
          if (signed !== null) onSigned(blockchain, signed.transaction, signed.requests)
        } catch (error) {
          marked.add(id)
          if (!(error instanceof LostRace)) throw error
        }
      }
      return marked.size > 0 ? 0 : null
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

function fitIntoGas(rows: readonly Mintable[], locked: boolean): readonly Mintable[] {
  let batch = rows
  while (batch.length > 1 && gasOf(batch, locked) > MAX_BATCH_GAS) {
    batch = batch.slice(0, Math.ceil(batch.length * 0.9) - 1)
  }
  return batch
}
