import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { MintSpec } from '../../chain/solana/mint-instructions.ts'
import { type SolanaSignedBytes, signMint } from '../../chain/solana/sign-mint.ts'
import type { SolanaChains } from '../../chain/solana/solana-chains.ts'
import { addTransactions, type NewTransaction } from '../../state/transactions.ts'
import { buildDirectory } from '../../storage/directory.ts'
import { findCollectionById } from '../../store/collections.ts'
import { findNftOfTransaction, listMintable } from '../../store/nfts.ts'
import type { Db } from '../../store/schema.ts'
import { countUnfinished, type TransactionRow } from '../../store/transactions.ts'
import type { DriverOptions, OutcomeVerdict, TransactionPreparer } from '../driver.ts'
import { buildMintDirectory } from '../metadata-file.ts'
import { checkGroup } from './group-members.ts'
import { buildCollectionSpec, buildNftSpec, collectionFile } from './mint-specs.ts'

/** Number of NFTs whose metadata files share a directory and are stored in one commit. */
const GROUP_SIZE = 100
/**
 * Maximum number of pending transactions per collection. Transactions that expire together are signed again together.
 */
export const MAX_PENDING_PER_COLLECTION = 400
/**
 * Time in milliseconds, since the previous group, for which a group smaller than `GROUP_SIZE` waits for more NFTs while
 * transactions of the collection are pending. If each request has one NFT, this wait saves 10 % of the work, and adds
 * no delay on networks with slow blocks.
 */
const BATCH_WINDOW_MS = 100

export interface SolanaPreparerOptions extends DriverOptions<SolanaBlockchain> {
  solana: Pick<SolanaChains, 'signer' | 'network' | 'affordable'>
  /** The time when the last group of each collection was prepared, by collection ID. */
  preparedAt: Map<string, number>
}

/**
 * Creates a preparer of Solana transactions. Each token has its own transaction, because two tokens don't fit into a
 * packet. A token's address is derived from the ID of its row. Transactions therefore need no order, and a collection
 * can have many pending ones.
 */
export async function openSolanaPreparer(options: SolanaPreparerOptions): Promise<TransactionPreparer> {
  const { store, blockchain, solana, now, preparedAt } = options
  const payableCount = await countPayableTokens(options)

  return {
    preparesMintInCommit: false,

    async prepareCollection(collection) {
      if (payableCount < 1) {
        throw new GdnError(
          'unreachable',
          `the funds of the signer of ${blockchain} are needed for pending transactions`,
        )
      }
      const { cid: directory, blocks } = await buildDirectory([collectionFile(collection)])
      const place = { collectionId: collection.id, directory }
      const row = await (await openMintSigning(options))(buildCollectionSpec(collection, directory), place)
      return { blocks, sign: (db) => storeSignedRows(db, [row]) }
    },

    findMintDelay: async () => null,

    async prepareMint(db, collection) {
      const { id } = collection
      const pending = await countUnfinished(db, { collectionId: id })
      const capacity = Math.min(MAX_PENDING_PER_COLLECTION - pending, payableCount)
      const nfts = capacity <= 0 ? [] : await listMintable(db, id, Math.min(GROUP_SIZE, capacity))
      if (nfts.length === 0) return 'idle'
      const since = now() - (preparedAt.get(id) ?? 0)
      if (pending > 0 && nfts.length < GROUP_SIZE && since >= 0 && since < BATCH_WINDOW_MS) return 'soon'
      const members = await checkGroup(store, await solana.network(blockchain), collection)
      if (members !== 'known') return members === 'unclear' ? 'soon' : 'unknown'
      const { cid: directory, blocks } = await buildMintDirectory(nfts)
      const sign = await openMintSigning(options)
      const rows = await Promise.all(
        nfts.map((nft, index) =>
          sign(buildNftSpec(collection, nft, { directory, index }), { collectionId: id, directory }),
        ),
      )
      preparedAt.set(id, now())
      return {
        blocks,
        assignments: nfts.map(({ seq }, index) => ({ seq, transactionId: rows[index]?.id ?? '', index })),
        requests: [...new Set(nfts.map(({ request_id }) => request_id))],
        tokenIds: null,
        hasMore: nfts.length === GROUP_SIZE,
        sign: (on) => storeSignedRows(on, rows),
      }
    },
  }
}

export type SignedRow = NewTransaction & Pick<TransactionRow, 'id' | 'hash' | 'signer' | 'nonce' | 'kind'>

/** Stores signed rows; Solana has no nonces to reserve. */
async function storeSignedRows(db: Db, rows: readonly SignedRow[]): Promise<readonly SignedRow[]> {
  await addTransactions(db, rows)
  return rows
}

/**
 * Returns how many more tokens the signer can pay for. Returns 0 while pending transactions need its funds.
 *
 * @throws GdnError `pending` if the funds are exhausted and nothing is pending; accepted requests wait until the signer
 *   has funds
 */
async function countPayableTokens({ store, solana, blockchain }: SolanaPreparerOptions): Promise<number> {
  // Count pending transactions before reading the balance. A transaction that is executed between the two reads counts
  // twice, but is never missed.
  const pending = await countUnfinished(store.db, { blockchain })
  const affordable = await solana.affordable(blockchain)
  if (affordable < 1 && pending === 0) {
    throw new GdnError('pending', `the signer of ${blockchain} does not have enough funds to pay for a token`, {
      hint: 'Send SOL to the signer. The backend then mints pending NFTs without a restart.',
    })
  }
  return Math.max(0, affordable - pending)
}

interface PreparationOptions {
  collectionId: string
  directory: string
  /**
   * Whether an earlier transaction for the same token had no effect. If so, the new transaction offers a higher fee.
   */
  urgent?: boolean
}

/** Prepares signing with a recent blockhash. The signed transactions expire together with the blockhash. */
async function openMintSigning({ blockchain, solana, now }: Omit<SolanaPreparerOptions, 'preparedAt'>) {
  const [signer, network] = await Promise.all([solana.signer(blockchain), solana.network(blockchain)])
  const lifetime = await network.latestBlockhash()
  return async (
    spec: MintSpec,
    { collectionId, directory, urgent = false }: PreparationOptions,
  ): Promise<SignedRow> => {
    const { mint, ...signed } = await signMint(signer, network, spec, lifetime, { urgent })
    const kind = spec.group === null ? 'collection' : 'mint'
    const content = {
      kind,
      collection_id: collectionId,
      mint,
      token_count: kind === 'mint' ? 1 : 0,
      directory,
    } as const
    return buildSignedRow({ blockchain, signer: signer.address, now: now() }, content, signed)
  }
}

type SignedContent = Pick<
  SignedRow,
  'kind' | 'collection_id' | 'mint' | 'token_count' | 'directory' | 'update_sequence'
>

export function buildSignedRow(
  { blockchain, signer, now }: { blockchain: SolanaBlockchain; signer: string; now: number },
  content: SignedContent,
  { raw, signature: hash, lastValidBlockHeight: last_valid_height }: SolanaSignedBytes,
): SignedRow {
  return {
    id: newId(),
    blockchain,
    signer,
    nonce: null,
    start_id: null,
    ...content,
    raw,
    hash,
    last_valid_height,
    block_number: null,
    block_hash: null,
    gas_used: null,
    created_at: now,
    next_attempt_at: now,
  }
}

/**
 * Signs a new transaction for the same token, because the previous one expired or its fee couldn't be paid. Address and
 * metadata stay the same, so the result is the same single token, regardless of which transaction is executed.
 */
export async function signAgain(
  options: Omit<SolanaPreparerOptions, 'preparedAt'>,
  lost: TransactionRow,
): Promise<OutcomeVerdict> {
  const { collection_id: collectionId, directory } = lost
  const spec = await buildSpec(options.store.db, lost)
  if (spec === null || collectionId === null || directory === null) return { kind: 'none' }
  const sign = await openMintSigning(options)
  return { kind: 'again', replacement: await sign(spec, { collectionId, directory, urgent: true }) }
}

/** Returns the specification of the token that a transaction mints, or null if it isn't needed anymore. */
async function buildSpec(db: Db, { id, kind, collection_id, directory }: TransactionRow): Promise<MintSpec | null> {
  const collection = collection_id === null ? null : await findCollectionById(db, collection_id)
  if (collection === null || directory === null) return null
  if (kind === 'collection') return buildCollectionSpec(collection, directory)
  const nft = await findNftOfTransaction(db, id)
  return nft === null || nft.batch_index === null
    ? null
    : buildNftSpec(collection, nft, { directory, index: nft.batch_index })
}
