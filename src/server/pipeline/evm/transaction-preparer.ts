import type { EvmBlockchain } from '../../../api/blockchains.ts'
import { newId } from '../../../core/ids.ts'
import type { Chains } from '../../chain/chains.ts'
import { collectionInit } from '../../chain/evm/collection-init.ts'
import { readCollectionState } from '../../chain/evm/collection-reads.ts'
import { currentFees } from '../../chain/evm/cost/cached-fees.ts'
import type { Signer, SigningTerms } from '../../chain/evm/evm-signer.ts'
import { encodeDeployFactory, encodeMake, factoryAddress } from '../../chain/evm/factory.ts'
import { deployFactoryGasLimit, makeGasLimit } from '../../chain/evm/gas-limits.ts'
import type { EvmNetwork, Hex } from '../../chain/evm/network.ts'
import type { Log } from '../../log.ts'
import { listAttempts } from '../../store/attempts.ts'
import { type CollectionRow, lockCollection, updateCollection } from '../../store/collections.ts'
import { lockUntilCommit } from '../../store/dialect.ts'
import { isBehind } from '../../store/followers.ts'
import type { Store } from '../../store/open-store.ts'
import { hasLimitedRuns } from '../../store/run-costs.ts'
import type { Db } from '../../store/schema.ts'
import { countMintableTokens } from '../../store/supply.ts'
import { findFactoryTransaction, readUnfinished, requireNonce } from '../../store/transactions.ts'
import { addUnknownMints, listLostMints, nextKnownTokenId } from '../../store/unknown-mints.ts'
import type { DriverOptions, OnSigned, PreparedTransactions, TransactionPreparer } from '../driver.ts'
import { readAtFinality } from './judge-reverted-call.ts'
import { computeFeesWithinLimits, resolveSigningFees } from './limit-fees.ts'
import { findLimitedRunOfEachRow, requireUnlimited } from './limited-runs.ts'
import { MAX_BUNDLE_GAS, nextBundle } from './mint-bundle.ts'
import { signAndStore, type TransactionDraft } from './sign-and-store.ts'
import { lockSigner, openSignerPool } from './signer-pool.ts'

const FACTORY_WAIT_MS = 25
/** Delay in milliseconds if every signer has its maximum number of pending transactions. */
const SIGNERS_WAIT_MS = 100
/** Delay in milliseconds if the run that pays for the deployment of a collection waits for lower fees. */
const FEES_WAIT_MS = 3000

export interface EvmPreparerOptions extends DriverOptions<EvmBlockchain> {
  chains: Pick<Chains, 'signing' | 'network' | 'remote'>
  log: Log
  onSigned: OnSigned
}

/**
 * Prepares transactions for an EVM chain. Each transaction is assigned its signer's next nonce, and each mint its
 * collection's next token IDs. All pending mints of a collection therefore have the same signer, so that their nonces
 * are in the order of the token IDs.
 */
export async function openEvmPreparer(options: EvmPreparerOptions): Promise<TransactionPreparer> {
  const { store, blockchain, chains, now } = options
  const terms = await chains.signing(blockchain)
  const isFollowerBehind = await isBehind(store.db, blockchain)
  const pool = await openSignerPool(store.db, blockchain, terms.signers.operators)
  const free = pool.listFreeSigners()
  /** The current fees. Null if no run has a limit. */
  const current = (await hasLimitedRuns(store.db)) ? await currentFees(chains, blockchain) : null
  /** Total gas of the bundles that this preparer has already prepared for other collections. */
  let reservedGas = 0n
  const payableGas = ({ address }: Signer): bigint => {
    const gas = terms.affordable?.get(address)
    return gas === undefined ? MAX_BUNDLE_GAS : gas - reservedGas
  }

  /** Signs with one of the given signers, in the caller's commit. */
  const signWith = async (
    db: Db,
    [first, ...otherSigners]: readonly Signer[],
    draft: Omit<TransactionDraft, keyof SigningFields>,
    fees = terms.fees,
  ) => {
    if (first === undefined) throw new Error(`${blockchain} has no signer`)
    const common: SigningFields = { blockchain, chainId: terms.chainId, fees }
    const signer = await lockSigner(db, blockchain, [first, ...otherSigners])
    pool.recordUse(signer)
    return [await signAndStore(db, signer, { ...common, ...draft }, now())]
  }

  return {
    preparesMintInCommit: store.postgres !== null,

    async prepareCollection(collection): Promise<PreparedTransactions | { waitMs: number } | { error: string }> {
      const to = collection.factory_address as Hex
      const factory = await ensureFactory(options, terms, to)
      if (factory !== null) return factory
      if (free.length === 0) return { waitMs: SIGNERS_WAIT_MS }
      const init = collectionInit(collection)
      const [run = null] = await findLimitedRunOfEachRow(store.db, collection.id, [collection])
      const call = { kind: 'collection', to, data: encodeMake(init), gas: makeGasLimit(init), run } as const
      const reservedCall = { ...call, changes: [collection.id] }
      if (run !== null) {
        if (current === null) return { waitMs: FACTORY_WAIT_MS }
        if ((await computeFeesWithinLimits(store.db, run, reservedCall, terms.fees, current)) === null)
          return { waitMs: FEES_WAIT_MS }
      }
      return {
        blocks: [],
        async sign(db) {
          if (run === null) await requireUnlimited(db, collection.id, [collection])
          const fees = await resolveSigningFees(db, run, reservedCall, terms.fees, current)
          return await signWith(db, free, { ...call, collectionId: collection.id }, fees)
        },
      }
    },

    async findMintDelay(collection) {
      // Wait until the follower has read the unknown tokens. The next sweep checks the collection again.
      if (isFollowerBehind || (await isChainAhead(options, collection))) return 'idle'
      if (countMintableTokens(collection) === 0) return (await findMaxSupplyError(options, collection)) ?? 'idle'
      return pool.listFreeSigners().length === 0 ? 'full' : null
    },

    async prepareMint(db, collection) {
      const { unminedCount, signers } = (await readUnfinished(db, [collection.id]))(collection.id)
      const usableSigners = () =>
        pool.listFreeSigners().filter(({ address }) => signers.length === 0 || signers.includes(address))
      let maxPayableGas = 0n
      for (const signer of usableSigners()) if (payableGas(signer) > maxPayableGas) maxPayableGas = payableGas(signer)
      const bundle = await nextBundle(db, collection, { payableGas: maxPayableGas, fees: terms.fees, current })
      // Don't send a bundle that isn't full while mints of the collection are pending, because each transaction costs
      // 60,000 gas.
      if (bundle === null || (unminedCount > 0 && !bundle.isFull)) return 'idle'
      const { nfts, kind, startId, data, gas, isFull, run } = bundle
      if (run !== null && current === null) return 'soon'
      const payingSigners = usableSigners().filter((signer) => payableGas(signer) >= gas)
      // Bundles that were prepared earlier may have used the remaining funds and slots.
      if (payingSigners.length === 0 || !pool.tryReserveSlot()) return 'soon'
      reservedGas += gas
      const { cid: directory, blocks } = bundle.directory
      const [id, collectionId, count] = [newId(), collection.id, nfts.length]
      const draft = { id, kind, data, gas, collectionId, to: collection.contract_address as Hex, run }
      return {
        blocks,
        assignments: nfts.map(({ seq }, index) => ({ seq, transactionId: id, index })),
        requests: [...new Set(nfts.map(({ request_id }) => request_id))],
        tokenIds: { first: startId, next: startId + BigInt(count) },
        hasMore: isFull,
        async sign(on) {
          const freeSigners = pool.listFreeSigners()
          const signers = payingSigners.filter((signer) => freeSigners.includes(signer))
          if (run === null) await requireUnlimited(on, collectionId, nfts)
          const fees = await resolveSigningFees(on, run, bundle, terms.fees, current)
          const signed = { ...draft, bundle: { startId, count, directory } }
          return await signWith(on, signers.length > 0 ? signers : payingSigners, signed, fees)
        },
      }
    },
  }
}

type SigningFields = Pick<TransactionDraft, 'blockchain' | 'chainId' | 'fees'>

/**
 * Returns null if the factory is final, or if this process doesn't deploy it. Otherwise, signs the factory's deployment
 * unless it is already signed, and returns a delay. Returns an error if the deployment failed.
 */
async function ensureFactory(
  { store, blockchain, now, onSigned }: EvmPreparerOptions,
  { chainId, signers: { admin, operators }, fees }: SigningTerms,
  factory: Hex,
): Promise<{ waitMs: number } | { error: string } | null> {
  const deployment = await findFactoryTransaction(store.db, blockchain)
  // Ignore the transaction of another factory. An operator may configure a new factory after a deployment without
  // effect.
  if (deployment !== null && factoryAddress(deployment.signer as Hex, requireNonce(deployment)) === factory) {
    const { state, hash, watched } = deployment
    const failed = `the factory of ${blockchain} could not be deployed: `
    if (state === 'reverted') return { error: `${failed}its transaction ${hash} reverted` }
    if (state === 'lost') return { error: `${failed}the admin's key was used for another transaction first` }
    return state === 'final' && watched === 0 ? null : { waitMs: FACTORY_WAIT_MS }
  }
  // A process with the admin's key deploys the factory before any collection is accepted.
  if (admin === null) return null
  const signed = await store.transaction(async (db) => {
    await lockUntilCommit(db, `factory ${blockchain}`)
    if ((await findFactoryTransaction(db, blockchain)) !== null) return null
    if (factoryAddress(admin.address) !== factory)
      throw new Error(`no configured key can deploy the factory ${factory}`)
    const addresses = operators.map(({ address }) => address)
    const call = { to: null, data: encodeDeployFactory(addresses), gas: deployFactoryGasLimit(addresses) }
    return await signAndStore(db, admin, { blockchain, chainId, fees, kind: 'factory', ...call }, now())
  })
  if (signed !== null) onSigned([signed], [])
  return { waitMs: FACTORY_WAIT_MS }
}

/** Returns whether the chain has tokens of the collection that the database doesn't have. */
async function isChainAhead(
  { store, blockchain, chains, log }: EvmPreparerOptions,
  { id, contract_address, next_token_id }: CollectionRow,
): Promise<boolean> {
  // An embedded chain is stored in the database itself, so it can't be ahead.
  if (!chains.remote.has(blockchain)) return false
  const network = await chains.network(blockchain)
  const state = await readCollectionState(network, contract_address as Hex)
  const startId = BigInt(next_token_id)
  if (state === null || state.nextTokenId <= startId) return false
  const nextKnown = await nextKnownTokenId(store.db, { id, startId }, state.nextTokenId)
  if (nextKnown > startId) {
    await store.transaction(async (db) => {
      const current = await lockCollection(db, id)
      if (current?.next_token_id === next_token_id) await updateCollection(db, id, { next_token_id: String(nextKnown) })
    })
    return true
  }
  const logFields = { blockchain, collection: id, next: next_token_id, nextOnChain: String(state.nextTokenId) }
  log.warn(
    logFields,
    'the chain has tokens that are not in the database: minting is paused until gdn has examined them',
  )
  await recordLostMints(store, network, id)
  return true
}

/**
 * Returns the error for NFTs that exceed a collection's maximum supply and can therefore never be minted. Returns null
 * while a reorg can remove minted tokens or the limit. Also returns null if the chain has a token after the database's
 * last one, because that token may be one of these NFTs.
 */
async function findMaxSupplyError(
  { chains, blockchain }: EvmPreparerOptions,
  { contract_address, next_token_id }: CollectionRow,
): Promise<{ error: string } | null> {
  const network = await chains.network(blockchain)
  const read = (block?: Hex) => readCollectionState(network, contract_address as Hex, block)
  const { publicNetwork } = network
  const state = publicNetwork === undefined ? await read() : await readAtFinality(publicNetwork, read)
  if (state === null || state.maxSupply === 0n || state.nextTokenId <= state.maxSupply) return null
  if (String(state.nextTokenId) !== next_token_id) return null
  return { error: `the collection already has its maximum supply of ${state.maxSupply} NFTs` }
}

/** Records mints of a collection that counted as lost because no node had returned them, although they are on chain. */
async function recordLostMints(store: Store, network: EvmNetwork, id: string): Promise<void> {
  const { blockchain } = network
  const lost = await listLostMints(store.db, id)
  if (lost.length === 0) return
  const ids = lost.map((row) => row.id)
  const attempts = await listAttempts(store.db, ids)
  const signings = lost.flatMap((row) => (attempts.get(row.id) ?? [row]).map(({ hash }) => ({ ...row, hash })))
  const receipts = await network.receipts(signings.map(({ hash }) => hash as Hex))
  const mints = signings.flatMap(({ hash, start_id, token_count }, index) => {
    const receipt = receipts[index]
    if (start_id === null || receipt?.status !== 'success') return []
    const block_number = Number(receipt.blockNumber)
    return [{ collection_id: id, hash, blockchain, block_number, start_id, token_count }]
  })
  await store.transaction((db) => addUnknownMints(db, mints))
}
