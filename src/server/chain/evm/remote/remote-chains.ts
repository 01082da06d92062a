import type { Blockchain, EvmBlockchain } from '../../../../api/blockchains.ts'
import { GdnError } from '../../../../core/errors.ts'
import type { ChainSettings, Networks } from '../../../settings/types.ts'
import { findChain } from '../../../store/chains.ts'
import { markBehind } from '../../../store/followers.ts'
import type { Db } from '../../../store/schema.ts'
import { listSignedOf, nextNonceOf, raiseNonce } from '../../../store/transactions.ts'
import type { Providers, RpcOutcome } from '../../rpc/providers.ts'
import { remembered } from '../../rpc/remembered.ts'
import type { Hindrance } from '../../rpc/watch-network.ts'
import { watchNetworks } from '../../rpc/watch-networks.ts'
import type { Fees, Hex } from '../network.ts'
import { type AskSigning, type FindSigner, type Signer, signerAt } from '../signers.ts'
import { type Operators, watchOperators } from './operators.ts'
import { createRemoteNetwork, type RemoteNetwork } from './remote-network.ts'

/** The networks that a backend reaches by RPC URL. */
export interface RemoteChains {
  has(blockchain: EvmBlockchain): boolean
  network(blockchain: EvmBlockchain): RemoteNetwork
  readonly signing: AskSigning
  readonly findSigner: FindSigner
  /** Where a blockchain's factory is; rejects where none was set up. */
  factory(db: Db, blockchain: EvmBlockchain): Promise<Hex>
  /** Why nothing can be signed for a blockchain now, as far as is known; null where nothing is in the way. */
  problem(blockchain: EvmBlockchain): string | null
  /**
   * Networks that can't be worked on, and why: no node answers, one is of another chain, nobody can sign. As it was seen
   * a few seconds ago; the first time it is found out.
   */
  unreachable(): Promise<readonly ({ blockchain: EvmBlockchain } & Hindrance)[]>
  /** What was seen last of the signers' funds. */
  signers(): { blockchain: EvmBlockchain; address: string; coins: number }[]
  readonly blockchains: readonly EvmBlockchain[]
  /** URL of the block explorer of a blockchain; null where the settings name none. */
  blockExplorerUrl(blockchain: EvmBlockchain): string | null
  close(): Promise<void>
}

export interface RemoteChainsOptions {
  db: Db
  settings: Networks
  openSigners: (settings: ChainSettings) => Promise<readonly Signer[]>
  now: () => number
  /** What is known of those who answer at the URLs: others may ask them as well. */
  providers: Providers
  /** Told of each request to a provider. */
  onRequest?: (blockchain: Blockchain, host: string, outcome: RpcOutcome) => void
}

/** Fees are asked for at most so often. */
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
  providers,
  onRequest,
}: RemoteChainsOptions): Promise<RemoteChains> {
  /** Read once each: every request that is accepted asks for it, and it never becomes another. */
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
      ...{ ...chain, urls: chain.rpcUrls, providers },
      onRequest: (host, outcome) => onRequest?.(blockchain, host, outcome),
    })
    const fees = remembered(FEES_FRESH_MS, () => network.publicNetwork.suggestFees(), now)
    const operators = watchOperators({
      ...{ network, factory: () => factory(db, blockchain), signers, now },
      waiting: async (signer) => (await listSignedOf(db, blockchain, signer)) as Hex[],
    })
    opened.set(blockchain, { settings: chain, network, operators, signers, fees })
  }
  const get = (blockchain: EvmBlockchain): Opened => {
    const found = opened.get(blockchain)
    if (found === undefined) throw new Error(`${blockchain} is not reached by RPC URL`)
    return found
  }

  const watch = watchNetworks(
    [...opened].map(([blockchain, { operators, fees }]) => ({
      blockchain,
      problem: () => operators.problem,
      async ask() {
        await operators.look(await fees())
        return operators.problem
      },
    })),
  )

  return {
    blockchains: [...opened.keys()],
    has: (blockchain) => opened.has(blockchain),
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
      // Each try on a network that hangs would keep its collections and transfers waiting in turn.
      if (watch.hangs(blockchain)) throw new GdnError('unreachable', `no node of ${blockchain} answers`)
      const offered = await fees()
      const able = await operators.able(offered)
      for (const { address, nextNonce } of operators.seen) {
        const known = await nextNonceOf(db, blockchain, address)
        if (known !== null && known >= nextNonce) continue
        // Transactions of ours that the database doesn't know: it was restored, or a fail-over lost commits.
        if (known !== null) await markBehind(db, blockchain, await network.publicNetwork.head())
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
      await Promise.all([...opened.values()].map(({ network }) => network.close()))
    },
  }
}

export const notSetUp = (blockchain: EvmBlockchain): GdnError =>
  new GdnError('invalid_config', `${blockchain} is not set up: its factory isn't deployed`, {
    hint: `gdn chain setup ${blockchain} --dry-run shows what that costs`,
  })
