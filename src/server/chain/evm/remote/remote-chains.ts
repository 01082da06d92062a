import type { EvmBlockchain } from '../../../../api/blockchains.ts'
import { GdnError, messageOf } from '../../../../core/errors.ts'
import type { ChainSettings } from '../../../settings/types.ts'
import { findChain } from '../../../store/chains.ts'
import type { Db } from '../../../store/schema.ts'
import { alignLane } from '../../../store/transactions.ts'
import type { RemoteChains, RemoteChainsOptions } from '../../remote-chains.ts'
import { createProviders } from '../../rpc/providers.ts'
import type { Signer } from '../../signers.ts'
import type { Fees, Hex } from '../network.ts'
import { type Operators, watchOperators } from './operators.ts'
import { createRemoteNetwork, type RemoteNetwork } from './remote-network.ts'

/** Fees are asked for at most so often. */
const FEES_FRESH_MS = 2_000
/** Signers are looked at so often, also while nothing is signed. */
const LOOK_EVERY_MS = 15_000
/** Whoever asks whether a network is there gets an answer that isn't older, but for what the network takes. */
const AWAY_FRESH_MS = 3_000
/** A network that is asked for so long counts as away before it has failed. */
const SILENT_MS = 10_000

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
  onRequest,
}: RemoteChainsOptions): Promise<RemoteChains> {
  const providers = createProviders([...settings.values()].flatMap(({ requestLimits }) => [...requestLimits]))
  const factory = async (on: Db, blockchain: EvmBlockchain): Promise<Hex> => {
    const chain = await findChain(on, blockchain)
    if (chain === null) throw notSetUp(blockchain)
    return chain.factory_address as Hex
  }
  const opened = new Map<EvmBlockchain, Opened>()
  for (const [blockchain, chain] of settings) {
    const signers = await openSigners(chain)
    const network = createRemoteNetwork({
      ...{ ...chain, urls: chain.rpcUrls, providers },
      onRequest: (host, outcome) => onRequest?.(blockchain, host, outcome),
    })
    const operators = watchOperators({ network, factory: () => factory(db, blockchain), signers, now })
    opened.set(blockchain, { settings: chain, network, operators, signers, fees: cachedFees(network, now) })
  }
  /** Lanes whose next nonce was compared with the network's. */
  const aligned = new Set<string>()
  const get = (blockchain: EvmBlockchain): Opened => {
    const found = opened.get(blockchain)
    if (found === undefined) throw new Error(`${blockchain} is not reached by RPC URL`)
    return found
  }

  const watches = [...opened].map(([blockchain, { operators, fees }]) =>
    watchNetwork(async () => {
      await operators.look(await fees())
      return { blockchain, reason: operators.problem }
    }, blockchain),
  )
  const lookAll = () => watches.map((watch) => watch.look())
  const looking = setInterval(lookAll, LOOK_EVERY_MS).unref()
  lookAll()

  return {
    blockchains: [...opened.keys()],
    has: (blockchain) => opened.has(blockchain),
    network: (blockchain) => get(blockchain).network,
    factory,
    explorerUrl: (blockchain) => opened.get(blockchain)?.settings.explorerUrl?.replace(/\/+$/, '') ?? null,
    problem: (blockchain) => opened.get(blockchain)?.operators.problem ?? null,
    async away() {
      const seen = await Promise.all(watches.map((watch) => watch.seen()))
      return seen.flatMap(({ blockchain, reason }) => (reason === null ? [] : [{ blockchain, reason }]))
    },
    operators: () => [...opened].map(([blockchain, { operators }]) => ({ blockchain, states: operators.seen })),

    async signing(blockchain) {
      const { settings: chain, network, operators, fees } = get(blockchain)
      const offered = await fees()
      const able = await operators.able(offered)
      for (const { address } of able) {
        const lane = `${blockchain} ${address}`
        if (aligned.has(lane)) continue
        await alignLane(db, blockchain, address, await network.shared.nextNonce(address))
        aligned.add(lane)
      }
      return { chainId: chain.chainId, signers: { admin: null, operators: able }, fees: offered }
    },

    async close() {
      clearInterval(looking)
      await Promise.all([...opened.values()].map(({ network }) => network.close()))
    },
  }
}

interface Seen {
  blockchain: EvmBlockchain
  /** Why nothing can be done there; null where it can. */
  reason: string | null
}

/** What was seen last of a network, looked at by one at a time. */
function watchNetwork(ask: () => Promise<Seen>, blockchain: EvmBlockchain) {
  let last: Seen | null = null
  let lastAt = 0
  let asking: { since: number; seen: Promise<Seen> } | null = null
  const begin = () => {
    const seen = ask()
      .catch((error: unknown): Seen => ({ blockchain, reason: messageOf(error) }))
      .then((result) => {
        last = result
        lastAt = performance.now()
        asking = null
        return result
      })
    asking = { since: performance.now(), seen }
    return asking
  }
  return {
    /** Finds out how things are; what keeps it from knowing is what is seen. */
    look(): void {
      asking ??= begin()
    },
    async seen(): Promise<Seen> {
      const now = performance.now()
      if (last === null) return await (asking ?? begin()).seen
      if (asking !== null && now - asking.since > SILENT_MS) return { blockchain, reason: 'no node answers' }
      if (now - lastAt > AWAY_FRESH_MS) asking ??= begin()
      return last
    },
  }
}

function cachedFees({ shared }: RemoteNetwork, now: () => number): () => Promise<Fees> {
  let asked: { at: number; fees: Promise<Fees> } | null = null
  return () => {
    if (asked === null || now() < asked.at || now() - asked.at >= FEES_FRESH_MS) {
      const fees = shared.suggestFees()
      asked = { at: now(), fees }
      fees.catch(() => {
        asked = null
      })
    }
    return asked.fees
  }
}

export const notSetUp = (blockchain: EvmBlockchain): GdnError =>
  new GdnError('invalid_config', `${blockchain} is not set up: its factory isn't deployed`, {
    hint: `gdn chain setup ${blockchain} --dry-run shows what that costs`,
  })
