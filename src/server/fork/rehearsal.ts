import { join } from 'node:path'
import { sql } from 'kysely'
import { checksumAddress } from '../../api/address.ts'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { hexQuantity } from '../../core/hex-quantity.ts'
import type { Secret } from '../../core/secret.ts'
import { formatCoins } from '../../core/units.ts'
import { computeDebt, parsePendingCall } from '../chain/evm/cost/debt.ts'
import { createSigner } from '../chain/evm/create-signer.ts'
import { randomEvmKey } from '../chain/evm/embedded/embedded-signers.ts'
import type { Signer } from '../chain/evm/evm-signer.ts'
import { sendAs } from '../chain/evm/fork/send-as.ts'
import { FORK_BLOCK_MS, type Fork, forkError, forkSettings, startFork } from '../chain/evm/fork/start-fork.ts'
import { type Hex, parseQuantity } from '../chain/evm/network.ts'
import { openAddressOnlySigners } from '../chain/evm/open-signer.ts'
import { encodeAuthorize, isOperator, readAdmin } from '../chain/evm/registry.ts'
import { createProviders } from '../chain/rpc/providers.ts'
import { copyCollection } from '../database/copy-collection.ts'
import { type BackendOptions, startBackend } from '../main.ts'
import { openDatabase, withDatabase } from '../open-database.ts'
import { newApiKey, registerApiKey } from '../services/authenticate.ts'
import type { DatabaseLocation } from '../settings/database.ts'
import { findCoinSymbol } from '../settings/networks.ts'
import { loadServerSettings, settingsPath } from '../settings/settings.ts'
import type { ChainSettings } from '../settings/types.ts'
import { AUTHORIZE_GAS } from '../setup/plan.ts'
import { type CollectionRow, findCollectionsByAddress } from '../store/collections.ts'
import type { Store } from '../store/open-store.ts'
import { listSignedTransactions } from '../store/transactions.ts'
import { type RealSigners, realSigners } from './real-signers.ts'

export interface RehearsalTarget {
  /** The backend whose drop is rehearsed. The rehearsal only reads its data, so the backend may be running. */
  place: DatabaseLocation
  blockchain: EvmBlockchain
  contract: string
}

/** A signer's balance on the network, and the amount that it spent in the rehearsal. Both are in wei. */
export interface SignerResult {
  address: Hex
  balance: bigint
  spent: bigint
}

/** The results of a rehearsal's transactions. */
export interface RehearsalResult {
  transactions: number
  /** Number of tokens that the transactions minted. */
  minted: number
  gas: bigint
  /** Cost of the transactions in wei. */
  cost: bigint
  /** Symbol of the network's coin; null if it isn't known. */
  currency: string | null
  signers: readonly SignerResult[]
  /** Number of blocks from the first transaction until the last transaction was confirmed. */
  blocks: number
  /** Additional time in milliseconds that these blocks take on the network, compared with the fork. */
  slowerMs: number
}

/** A temporary backend on a fork of a network, with a copy of one collection. */
export interface Rehearsal {
  url: string
  apiKey: Secret
  /** The block of the network that was forked. */
  block: number
  /** Replaces substitute signers with the real signers in messages from the backend. */
  realSigners: RealSigners
  /** Aborted with the reason when the network or the fork's node fails. */
  failureSignal: AbortSignal
  /**
   * Extends a message about missing funds with the amount by which the pending transactions of the real signers exceed
   * their balances.
   */
  addDebts(lack: string): string
  /** Returns why no further transaction will be signed. Returns null if signing may continue. */
  findHaltReason(): Promise<string | null>
  /** Closes the backend, and returns the results of its transactions. */
  end(): Promise<RehearsalResult>
  close(): Promise<void>
}

/** A signer that replaces a real one in the rehearsal, with its balance and nonce. The real signer's key isn't used. */
interface SubstituteSigner {
  real: Hex
  signer: Signer
  balance: bigint
  /** Amount in wei by which the maximum cost of the real signer's pending transactions exceeds its balance. */
  debt: bigint
}

/**
 * Starts a rehearsal of a collection on a fork of its network at the latest block. The fork contains the real factory
 * and the collection. Each real signer has a substitute with the same balance and nonce. Nothing is signed with a real
 * key, so no transaction of the rehearsal has an effect anywhere else.
 *
 * @param options the temporary backend, with an empty data directory
 * @throws GdnError `invalid_config` for an embedded chain, `not_found` for an unknown collection, `refused` if it has
 * pending transactions; errors of `startFork`
 */
export async function openRehearsal(
  options: BackendOptions,
  { place, blockchain, contract }: RehearsalTarget,
  signal: AbortSignal,
): Promise<Rehearsal> {
  const real = await readChainSettings(place, blockchain)
  const { chainId, rpcUrls: urls, requestLimits, finality: depth, confirmations } = real
  const fork = await startFork({
    blockchain,
    chainId,
    urls,
    providers: createProviders(requestLimits),
    depth,
    signal,
    folder: join(options.dataDir, '..', 'fork'),
  })
  try {
    const addresses = openAddressOnlySigners(real.operators).map(({ address }) => checksumAddress(address) as Hex)
    const { apiKey, factory, owed } = await copyFrom(place, options.dataDir, { blockchain, contract, addresses, fork })
    const substitutes = await substitute(fork, factory, addresses, owed)
    const first = Number(await fork.call<Hex>('eth_blockNumber'))
    fork.startMining()
    const settings: ChainSettings = { ...real, ...forkSettings(fork), isTestNetwork: true, operators: [] }
    const signers = substitutes.map(({ signer }) => signer)
    const backend = await startBackend({ ...options, only: [blockchain], fork: { settings, signers } })
    let closed: Promise<void> | undefined
    const closeBackend = () => (closed ??= backend.close())
    return {
      url: backend.url,
      apiKey,
      block: fork.block,
      realSigners: realSigners(substitutes.map(({ real, signer }) => ({ real, copy: signer.address }))),
      failureSignal: fork.failureSignal,
      addDebts(lack) {
        const unit = findCoinSymbol(chainId) ?? 'coins'
        const debts = substitutes.filter(({ signer, debt }) => debt > 0n && lack.includes(signer.address))
        const texts = debts.map(
          ({ signer, debt }) =>
            `; the balance of ${signer.address} is also ${formatCoins(debt, 'up')} ${unit} too low for its pending transactions`,
        )
        return `${lack}${texts.join('')}`
      },
      async findHaltReason() {
        if (!fork.isIdle()) return null
        const response = await fetch(`${backend.url}/readyz`, { signal })
        const { problems, warnings } = (await response.json()) as { problems: string[]; warnings: string[] }
        const reason = [...problems, ...warnings].find((text) => text.startsWith(`${blockchain}: `))
        return fork.isIdle() ? (reason?.slice(blockchain.length + 2) ?? null) : null
      },
      async end() {
        await closeBackend()
        const spent = await Promise.all(substitutes.map((signer) => readSpending(fork, signer)))
        const { last, ...sums } = await summarizeTransactions(options.dataDir, signers)
        const blocks = last === null ? 0 : last - first + confirmations - 1
        return {
          ...sums,
          cost: spent.reduce((sum, signer) => sum + signer.spent, 0n),
          signers: spent,
          blocks,
          currency: findCoinSymbol(chainId),
          slowerMs: Math.max(0, blocks * (fork.networkBlockMs - FORK_BLOCK_MS)),
        }
      },
      async close() {
        await closeBackend()
        await fork.close()
      },
    }
  } catch (error) {
    await fork.close()
    throw forkError(blockchain, fork.failureSignal, error)
  }
}

async function readChainSettings(
  { dataDir, settingsFile }: DatabaseLocation,
  blockchain: EvmBlockchain,
): Promise<ChainSettings> {
  const chain = (await loadServerSettings(dataDir, settingsFile)).chains.get(blockchain)
  if (chain !== undefined) return chain
  throw new GdnError(
    'invalid_config',
    `${blockchain} has no RPC URL in the configuration, so there is no network to fork`,
    {
      place: { file: settingsPath(dataDir, settingsFile) },
      hint: 'Specify the configuration of the backend with --config, or its data directory with --data-dir.',
    },
  )
}

interface CopyContext {
  blockchain: EvmBlockchain
  contract: string
  addresses: readonly Hex[]
  fork: Fork
}

interface CopiedState {
  apiKey: Secret
  factory: Hex
  /** Maximum cost of each signer's pending transactions, in wei. */
  owed: ReadonlyMap<Hex, bigint>
}

/** Copies the collection to the data directory of the rehearsal. */
async function copyFrom(place: DatabaseLocation, dataDir: string, copying: CopyContext): Promise<CopiedState> {
  const { blockchain, contract, addresses, fork } = copying
  return await withDatabase(place, async ({ db }) => {
    const collection = await findCollection({ db }, blockchain, contract)
    const owed = new Map<Hex, bigint>()
    for (const address of addresses) {
      const calls = (await listSignedTransactions(db, blockchain, address)).map(({ raw }) =>
        parsePendingCall(raw as Hex),
      )
      owed.set(address, computeDebt(calls, await readNonce(fork, address)).owed)
    }
    const target = await openDatabase({ dataDir }, { createIfMissing: true })
    try {
      await copyCollection(db, target.db, collection)
      // The copied database already has all earlier events. Without these values, the backend would read all blocks
      // since the collection was created.
      const fresh = { start_block: fork.block + 1, behind_until: null, follower: null, follower_until: 0 }
      await target.db.updateTable('chains').set(fresh).execute()
      await target.db.updateTable('nfts').set({ lease_until: 0 }).where('lease_until', '>', 0).execute()
      const apiKey = newApiKey()
      const key = { key: apiKey, accountId: collection.account_id, name: 'rehearsal', now: Date.now() }
      await registerApiKey(target.db, key)
      return { apiKey, factory: collection.factory_address as Hex, owed }
    } finally {
      await target.close()
    }
  })
}

async function findCollection(
  { db }: Pick<Store, 'db'>,
  blockchain: EvmBlockchain,
  contract: string,
): Promise<CollectionRow> {
  const collections = await findCollectionsByAddress(db, checksumAddress(contract))
  const collection = collections.find((row) => row.blockchain === blockchain)
  if (collection === undefined) {
    throw new GdnError('not_found', `the backend has no collection ${contract} on ${blockchain}`, {
      hint: 'Specify another collection, or another backend with --data-dir.',
    })
  }
  const pending = await db
    .selectFrom('transactions')
    .select('hash')
    .where('collection_id', '=', collection.id)
    .where('state', '=', sql.lit('signed' as const))
    .executeTakeFirst()
  if (pending === undefined && collection.status === 'deployed') return collection
  throw new GdnError('refused', `the collection ${contract} has pending transactions`, {
    hint: 'Run `gdn tx list` to show the transactions, and rehearse after they are final.',
  })
}

const readNonce = async (fork: Fork, address: Hex) =>
  Number(parseQuantity(await fork.call('eth_getTransactionCount', [address, 'latest'])))
const readBalance = async (fork: Fork, address: Hex) =>
  parseQuantity(await fork.call('eth_getBalance', [address, 'latest']))

/**
 * Creates a substitute for each real signer, with the nonce and the available balance of the real signer. The factory
 * authorizes the substitute if it has authorized the real signer.
 */
async function substitute(
  fork: Fork,
  factory: Hex,
  addresses: readonly Hex[],
  owed: CopiedState['owed'],
): Promise<SubstituteSigner[]> {
  const network = { request: fork.call }
  const admin = await readAdmin(network, factory)
  if (admin === null) throw new GdnError('invalid_config', `the network has no gdn factory at ${factory}`)
  const substitutes: SubstituteSigner[] = []
  for (const real of addresses) {
    const signer = createSigner(randomEvmKey())
    const free = (await readBalance(fork, real)) - (owed.get(real) ?? 0n)
    const [balance, debt] = free > 0n ? [free, 0n] : [0n, -free]
    await fork.call('anvil_setBalance', [signer.address, hexQuantity(balance)])
    await fork.call('anvil_setNonce', [signer.address, hexQuantity(await readNonce(fork, real))])
    if (await isOperator(network, factory, real)) {
      await sendAs(fork, admin, { to: factory, data: encodeAuthorize(signer.address), gas: AUTHORIZE_GAS })
    }
    substitutes.push({ real, signer, balance, debt })
  }
  return substitutes
}

async function readSpending(fork: Fork, { real, signer, balance }: SubstituteSigner): Promise<SignerResult> {
  return { address: real, balance, spent: balance - (await readBalance(fork, signer.address)) }
}

async function summarizeTransactions(dataDir: string, signers: readonly Signer[]) {
  return await withDatabase({ dataDir }, async ({ db }) => {
    const rows = await db
      .selectFrom('transactions')
      .select(['state', 'token_count', 'gas_used', 'block_number'])
      .where(
        'signer',
        'in',
        signers.map(({ address }) => address),
      )
      .where('block_number', 'is not', null)
      .execute()
    const blocks = rows.map(({ block_number }) => Number(block_number))
    return {
      transactions: rows.length,
      minted: rows.reduce((sum, { state, token_count }) => sum + (state === 'final' ? token_count : 0), 0),
      gas: rows.reduce((sum, { gas_used }) => sum + BigInt(gas_used ?? 0), 0n),
      last: blocks.length === 0 ? null : Math.max(...blocks),
    }
  })
}
