import type { Blockchain, EvmBlockchain } from '../../../../api/blockchains.ts'
import { GdnError } from '../../../../core/errors.ts'
import type { Log } from '../../../log.ts'
import type { ChainSettings, Networks } from '../../../settings/types.ts'
import { findChain } from '../../../store/chains.ts'
import { markBehind } from '../../../store/followers.ts'
import { waitingMints } from '../../../store/nfts.ts'
import type { Db } from '../../../store/schema.ts'
import { listSignedOf, nextNoncesOf, raiseNonce } from '../../../store/transactions.ts'
import type { Providers, RpcOutcome } from '../../rpc/providers.ts'
import { remembered } from '../../rpc/remembered.ts'
import type { Hindrance } from '../../rpc/watch-network.ts'
import { watchNetworks } from '../../rpc/watch-networks.ts'
import type { Fees, Hex } from '../network.ts'
import { type AskSigning, closeSigners, type FindSigner, type Signer, signerAt } from '../signers.ts'
import { waitingFor } from './fees.ts'
import { type Operators, watchOperators } from './operators.ts'
import { createRemoteNetwork, type RemoteNetwork } from './remote-network.ts'

/** The networks that a backend reaches by RPC URL. */
export interface RemoteChains {
  has(blockchain: EvmBlockchain): boolean
  /** Whether the coins of a network have value. */
  hasValue(blockchain: EvmBlockchain): boolean
  network(blockchain: EvmBlockchain): RemoteNetwork
  readonly signing: AskSigning
  readonly findSigner: FindSigner
  /** Returns the factory's address; rejects if the blockchain isn't set up. */
  factory(db: Db, blockchain: EvmBlockchain): Promise<Hex>
  /** Returns why nothing can be signed for a blockchain, as far as known; null if nothing prevents it. */
  problem(blockchain: EvmBlockchain): string | null
  /**
   * Returns networks that can't be used, with the reason: no node responds, one is of another chain, no signer can
   * sign. The result is a few seconds old; the first call waits for it.
   */
  unreachable(): Promise<readonly ({ blockchain: EvmBlockchain } & Hindrance)[]>
  /** Returns the signers' balances as of the last check. */
  signers(): { blockchain: EvmBlockchain; address: string; coins: number }[]
  readonly blockchains: readonly EvmBlockchain[]
  /** Returns the block explorer's URL of a blockchain; null if the configuration has none. */
  blockExplorerUrl(blockchain: EvmBlockchain): string | null
  close(): Promise<void>
}

export interface RemoteChainsOptions {
  db: Db
  settings: Networks
  openSigners: (settings: ChainSettings) => Promise<readonly Signer[]>
  now: () => number
  log: Log
  /** Rate limits and pauses of the providers, shared with other users of the same URLs. */
  providers: Providers
  /** Called for each request to a provider. */
  onRequest?: (blockchain: Blockchain, host: string, outcome: RpcOutcome) => void
}

/** Minimum interval between requests for fees. */
const FEES_FRESH_MS = 2_000
const WEI_IN_COIN = 1e18

interface Opened {
  settings: ChainSettings
  network: RemoteNetwork
  operators: Operators
  signers: readonly Signer[]
  fees(): Promise<Fees>
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
  /** Each is read once: every accepted request needs it, and it never changes. */
  const factories = new Map<EvmBlockchain, Hex>()
  const factory = async (on: Db, blockchain: EvmBlockchain): Promise<Hex> => {
    const known = factories.get(blockchain)
    if (known !== undefined) return known
    const chain = await findChain(on, blockchain)
    if (chain === null) throw notSetUp(blockchain)
    factories.set(blockchain, chain.factory_address as Hex)
    return chain.factory_address as Hex
  }
  const opened = new Map<EvmBlockchain, Opened>()
  for (const [blockchain, chain] of settings) {
    const signers = await openSigners(chain)
    const network = createRemoteNetwork({
      ...chain,
      urls: chain.rpcUrls,
      providers,
      onRequest: (host, outcome) => onRequest?.(blockchain, host, outcome),
    })
    const fees = remembered(FEES_FRESH_MS, () => network.publicNetwork.suggestFees(), now)
    const operators = watchOperators({
      network,
      factory: () => factory(db, blockchain),
      signers,
      now,
      waitingMints: () => waitingMints(db, blockchain),
      waiting: async (signer) => (await listSignedOf(db, blockchain, signer)) as Hex[],
    })
    opened.set(blockchain, { settings: chain, network, operators, signers, fees })
  }
  const get = (blockchain: EvmBlockchain): Opened => {
    const found = opened.get(blockchain)
    if (found === undefined) throw new Error(`${blockchain} has no RPC URL`)
    return found
  }

  const watch = watchNetworks(
    [...opened].map(([blockchain, { operators, fees }]) => ({
      blockchain,
      problem: () => operators.problem ?? operators.outage,
      async ask() {
        await operators.look(await fees())
        return operators.problem ?? operators.outage
      },
    })),
    log,
  )

  return {
    blockchains: [...opened.keys()],
    has: (blockchain) => opened.has(blockchain),
    hasValue: (blockchain) => !get(blockchain).settings.testNetwork,
    network: (blockchain) => get(blockchain).network,
    factory,
    blockExplorerUrl: (blockchain) => opened.get(blockchain)?.settings.blockExplorerUrl ?? null,
    problem: (blockchain) => opened.get(blockchain)?.operators.problem ?? null,
    unreachable: () => watch.unreachable(),
    signers: () =>
      [...opened].flatMap(([blockchain, { operators }]) =>
        operators.seen.map(({ address, balance }) => ({ blockchain, address, coins: Number(balance) / WEI_IN_COIN })),
      ),

    async signing(blockchain) {
      const { settings: chain, network, operators, fees } = get(blockchain)
      // If a network hangs, each attempt would delay its collections and transfers in turn.
      if (watch.hangs(blockchain)) throw new GdnError('unreachable', `no node of ${blockchain} responds`)
      const offered = await fees()
      // A transaction signed now would wait with a nonce, and all later ones with it.
      const waiting = waitingFor(offered, network.publicNetwork.feeCap)
      if (waiting !== null) throw new GdnError('pending', `${blockchain}: ${waiting}`)
      const able = await operators.able(offered)
      const { seen } = operators
      const nonces = await nextNoncesOf(
        db,
        blockchain,
        seen.map(({ address }) => address),
      )
      for (const { address, nextNonce } of seen) {
        const known = nonces.get(address)
        if (known !== undefined && known >= nextNonce) continue
        // Our transactions that the database doesn't have: it was restored, or a failover lost commits.
        if (known !== undefined) await markBehind(db, blockchain, await network.publicNetwork.head())
        await raiseNonce(db, blockchain, address, nextNonce)
      }
      return {
        chainId: chain.chainId,
        signers: { admin: null, operators: able.map(({ signer }) => signer) },
        fees: offered,
        affordable: new Map(able.map(({ signer, gas }) => [signer.address, gas])),
      }
    },

    findSigner: async (blockchain, address) => signerAt({ admin: null, operators: get(blockchain).signers }, address),

    async close() {
      watch.stop()
      await Promise.all(
        [...opened.values()].flatMap(({ network, signers }) => [network.close(), closeSigners(signers)]),
      )
    },
  }
}

export const notSetUp = (
  blockchain: EvmBlockchain,
  setup = `gdn chain setup ${blockchain} --admin-keystore admin.json`,
): GdnError =>
  new GdnError('invalid_config', `${blockchain} is not set up: its factory is not deployed`, {
    hint: `Run \`${setup} --dry-run\` with the keystore of its admin to show what that costs.`,
  })
