import type { Blockchain, EvmBlockchain } from '../../../../api/blockchains.ts'
import { count } from '../../../../core/count.ts'
import { GdnError } from '../../../../core/errors.ts'
import type { Log } from '../../../log.ts'
import type { ChainSettings, NetworkSettings } from '../../../settings/types.ts'
import { findChain } from '../../../store/chains.ts'
import { markBehind } from '../../../store/followers.ts'
import { listWaitingMints } from '../../../store/nfts.ts'
import type { Db } from '../../../store/schema.ts'
import { findFactoryTransaction, raiseNonce, readNextNonces } from '../../../store/transactions.ts'
import type { Shortage } from '../../missing-funds.ts'
import type { Providers, RpcOutcome } from '../../rpc/providers.ts'
import { rememberFor } from '../../rpc/remember-for.ts'
import type { NetworkProblem } from '../../rpc/watch-network.ts'
import { watchNetworks } from '../../rpc/watch-networks.ts'
import { readPendingCalls } from '../cost/replacements.ts'
import { computeWaitingFunds } from '../cost/waiting-funds.ts'
import { closeSigners, type FindSigner, findSignerByAddress, type GetSigningTerms, type Signer } from '../evm-signer.ts'
import type { Fees, Hex } from '../network.ts'
import { explainFeeCapWait } from './fees.ts'
import { type NewestBlock, watchNewestBlock } from './newest-block.ts'
import { type OperatorState, type Operators, watchOperators } from './operators.ts'
import { createRemoteNetwork, type RemoteNetwork } from './remote-network.ts'

/** The networks with an RPC URL. */
export interface RemoteChains {
  has(blockchain: EvmBlockchain): boolean
  /** Returns whether the coins of a network have value. */
  hasValue(blockchain: EvmBlockchain): boolean
  network(blockchain: EvmBlockchain): RemoteNetwork
  readonly signing: GetSigningTerms
  readonly findSigner: FindSigner
  /** Returns the factory's address. Rejects if the blockchain isn't set up. */
  getFactoryAddress(db: Db, blockchain: EvmBlockchain): Promise<Hex>
  /**
   * Returns why nothing can be signed for a blockchain; null if no problem is known. If the work is already signed,
   * returns a problem only while a signer can't pay for its next pending transaction.
   */
  problem(blockchain: EvmBlockchain, isSigned: boolean): string | null
  /** Returns the reason why no node of the blockchain responds; null if one does. */
  silenceReason(blockchain: EvmBlockchain): string | null
  /** Returns the newest block, at most a few seconds old; null until a node has responded. */
  newestBlock(blockchain: EvmBlockchain): Promise<NewestBlock | null>
  /** Returns the signer with the most funds as of the last check; null if none is known. */
  findBestFunded(blockchain: EvmBlockchain): OperatorState | null
  /** Returns the funds that the signers lack for all accepted requests; null if they lack none. */
  shortage(blockchain: EvmBlockchain): Promise<Shortage | null>
  /**
   * Returns the networks that can't be used, with the reason: no node responds, a node belongs to another chain, or no
   * signer can sign. The result is up to a few seconds old. The first call waits for a result.
   */
  unreachable(): Promise<readonly ({ blockchain: EvmBlockchain } & NetworkProblem)[]>
  /** Returns the signers' balances as of the last check. */
  signerBalances(): { blockchain: EvmBlockchain; address: string; coins: number }[]
  readonly blockchains: readonly EvmBlockchain[]
  /** Returns the URL of a blockchain's block explorer; null if none is configured. */
  blockExplorerUrl(blockchain: EvmBlockchain): string | null
  close(): Promise<void>
}

export interface RemoteChainsOptions {
  db: Db
  settings: NetworkSettings
  openSigners: (settings: ChainSettings) => Promise<readonly Signer[]>
  now: () => number
  log: Log
  /**
   * The rate limits of the providers, and the pauses between requests to them. All requests of this process share them.
   */
  providers: Providers
  /** Called for each request to a provider. */
  onRequest?: (blockchain: Blockchain, host: string, outcome: RpcOutcome) => void
}

/** Minimum interval between requests for fees, in milliseconds. */
const FEES_FRESH_MS = 2_000
const WEI_PER_COIN = 1e18

interface RemoteChain {
  settings: ChainSettings
  network: RemoteNetwork
  operators: Operators
  signers: readonly Signer[]
  fees(): Promise<Fees>
  newestBlock(): Promise<NewestBlock | null>
}

/** Opens the signers' keystores and the connections. */
export async function openRemoteChains({
  db,
  settings,
  openSigners,
  now,
  log,
  providers,
  onRequest,
}: RemoteChainsOptions): Promise<RemoteChains> {
  /**
   * The factory address of each blockchain. The addresses are cached, because every accepted request needs one and they
   * never change.
   */
  const factories = new Map<EvmBlockchain, Hex>()
  const getFactoryAddress = async (on: Db, blockchain: EvmBlockchain): Promise<Hex> => {
    const cached = factories.get(blockchain)
    if (cached !== undefined) return cached
    const chain = await findChain(on, blockchain)
    if (chain === null) {
      const newest = (await opened.get(blockchain)?.newestBlock())?.number ?? null
      throw networkNotSetUpError(blockchain, await readDeploymentState(on, get(blockchain).network, newest))
    }
    factories.set(blockchain, chain.factory_address as Hex)
    return chain.factory_address as Hex
  }
  const opened = new Map<EvmBlockchain, RemoteChain>()
  for (const [blockchain, chain] of settings) {
    const signers = await openSigners(chain)
    const network = createRemoteNetwork({
      ...chain,
      urls: chain.rpcUrls,
      providers,
      onRequest: (host, outcome) => onRequest?.(blockchain, host, outcome),
    })
    const fees = rememberFor(FEES_FRESH_MS, () => network.publicNetwork.suggestFees(), now)
    const operators = watchOperators({
      network,
      factory: () => getFactoryAddress(db, blockchain),
      signers,
      now,
      fundsOf: (mints, at, data) => computeWaitingFunds(db, mints, at, data),
      listUnsignedMints: () => listWaitingMints(db, blockchain),
      readPendingCalls: (signer, at) => readPendingCalls(db, network, signer, at),
    })
    const newestBlock = watchNewestBlock(network, now)
    opened.set(blockchain, { settings: chain, network, operators, signers, fees, newestBlock })
  }
  const get = (blockchain: EvmBlockchain): RemoteChain => {
    const openedChain = opened.get(blockchain)
    if (openedChain === undefined) throw new Error(`${blockchain} has no RPC URL`)
    return openedChain
  }

  const watch = watchNetworks(
    [...opened].map(([blockchain, { operators, fees }]) => ({
      blockchain,
      problem: () => operators.problem ?? operators.outage,
      async ask() {
        await operators.readStates(await fees())
        return operators.problem ?? operators.outage
      },
    })),
    log,
  )

  return {
    blockchains: [...opened.keys()],
    has: (blockchain) => opened.has(blockchain),
    hasValue: (blockchain) => !get(blockchain).settings.isTestNetwork,
    network: (blockchain) => get(blockchain).network,
    getFactoryAddress,
    blockExplorerUrl: (blockchain) => opened.get(blockchain)?.settings.blockExplorerUrl ?? null,
    problem: (blockchain, isSigned) =>
      opened.get(blockchain)?.operators[isSigned ? 'pendingProblem' : 'problem'] ?? null,
    silenceReason: (blockchain) => watch.silenceReason(blockchain),
    newestBlock: async (blockchain) => await get(blockchain).newestBlock(),
    findBestFunded: (blockchain) => opened.get(blockchain)?.operators.findBestFunded() ?? null,
    async shortage(blockchain) {
      const { network, operators } = get(blockchain)
      if (operators.problem === null) return null
      // Use current fees, like the other fields of getfees. After a fee peak, cached fees would overstate the shortage.
      return await operators.shortage(await network.publicNetwork.suggestFees())
    },
    unreachable: () => watch.unreachable(),
    signerBalances: () =>
      [...opened].flatMap(([blockchain, { operators }]) =>
        operators.lastStates.map(({ address, balance }) => ({
          blockchain,
          address,
          coins: Number(balance) / WEI_PER_COIN,
        })),
      ),

    async signing(blockchain) {
      const { settings: chain, network, operators, fees } = get(blockchain)
      // Reject at once if a network hangs. Otherwise each attempt would delay the network's collections and transfers
      // in turn.
      if (watch.isHanging(blockchain)) throw new GdnError('unreachable', `no node of ${blockchain} responds`)
      const offered = await fees()
      // A transaction signed at this fee would stay pending and block the signer's later transactions.
      const waitReason = explainFeeCapWait(offered, network.publicNetwork.feeCap)
      if (waitReason !== null) throw new GdnError('pending', `${blockchain}: ${waitReason}`)
      const signing = await operators.listSigningOperators(offered)
      const { lastStates: states } = operators
      const nonces = await readNextNonces(
        db,
        blockchain,
        states.map(({ address }) => address),
      )
      for (const { address, nextNonce } of states) {
        const storedNonce = nonces.get(address)
        if (storedNonce !== undefined && storedNonce >= nextNonce) continue
        // The chain has transactions of this backend that the database lacks, because the database was restored or a
        // failover lost commits.
        if (storedNonce !== undefined) await markBehind(db, blockchain, await network.publicNetwork.head())
        await raiseNonce(db, blockchain, address, nextNonce)
      }
      return {
        chainId: chain.chainId,
        signers: { admin: null, operators: signing.map(({ signer }) => signer) },
        fees: offered,
        affordable: new Map(signing.map(({ signer, gas }) => [signer.address, gas])),
      }
    },

    findSigner: async (blockchain, address) =>
      findSignerByAddress({ admin: null, operators: get(blockchain).signers }, address),

    async close() {
      watch.stop()
      await Promise.all(
        [...opened.values()].flatMap(({ network, signers }) => [network.close(), closeSigners(signers)]),
      )
    },
  }
}

/**
 * Returns the progress of a factory's deployment, as the end of a sentence.
 *
 * @param newest the number of the newest block; null if it isn't known
 */
export async function readDeploymentState(
  db: Db,
  { blockchain, publicNetwork }: Pick<RemoteNetwork, 'blockchain' | 'publicNetwork'>,
  newest: number | null,
): Promise<{ state: string; hasBegun: boolean }> {
  const deployment = await findFactoryTransaction(db, blockchain)
  const { state = 'lost', block_number: block = null, watched = 0 } = deployment ?? {}
  if (state !== 'signed' && state !== 'final') return { state: 'its factory is not deployed', hasBegun: false }
  if (state === 'signed' && block === null) {
    return { state: 'the deployment of its factory is not in a block yet', hasBegun: true }
  }
  const blocksLeft = newest === null || block === null ? null : block + publicNetwork.finality - 1 - newest
  if ((state === 'final' && watched === 0) || (blocksLeft !== null && blocksLeft <= 0)) {
    return { state: 'its factory is deployed, but the setup is not complete', hasBegun: true }
  }
  const blocks = blocksLeft === null ? '' : ` (${count(blocksLeft, 'block')} left)`
  return { state: `the deployment of its factory is not final yet${blocks}`, hasBegun: true }
}

export const networkNotSetUpError = (
  blockchain: EvmBlockchain,
  { state, hasBegun }: Awaited<ReturnType<typeof readDeploymentState>>,
  setup = `gdn chain setup ${blockchain} --admin-keystore admin.json`,
): GdnError =>
  new GdnError('invalid_config', `${blockchain} is not set up: ${state}`, {
    hint: hasBegun
      ? `Wait until \`${setup}\` finishes, or run it again to resume.`
      : `Run \`${setup} --dry-run\` with the admin keystore to show the cost.`,
  })
