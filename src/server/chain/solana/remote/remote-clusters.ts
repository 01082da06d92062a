import type { Blockchain, SolanaBlockchain } from '../../../../api/blockchains.ts'
import { GdnError } from '../../../../core/errors.ts'
import type { ClusterSettings, Clusters } from '../../../settings/types.ts'
import { findChain } from '../../../store/chains.ts'
import type { Db } from '../../../store/schema.ts'
import type { Providers, RpcOutcome } from '../../rpc/providers.ts'
import type { Hindrance } from '../../rpc/watch-network.ts'
import { watchNetworks } from '../../rpc/watch-networks.ts'
import { tokenCosts } from '../costs.ts'
import type { SolanaSigner } from '../signer.ts'
import { createRemoteSolana, type RemoteSolana } from './remote-solana.ts'

/** The Solana clusters that a backend reaches by RPC URL. */
export interface RemoteClusters {
  has(blockchain: SolanaBlockchain): boolean
  readonly blockchains: readonly SolanaBlockchain[]
  network(blockchain: SolanaBlockchain): RemoteSolana
  /** Of who signs, from which the addresses of tokens follow; rejects where the cluster wasn't set up. */
  address(blockchain: SolanaBlockchain): Promise<string>
  /** Rejects in a process that never signs, and where the cluster wasn't set up. */
  signer(blockchain: SolanaBlockchain): Promise<SolanaSigner>
  /** Number of tokens that the signer can pay for, not counting pending transactions. */
  affordable(blockchain: SolanaBlockchain): Promise<number>
  /** Why nothing can be paid for now, as it was seen last; null where nothing is in the way. */
  problem(blockchain: SolanaBlockchain): string | null
  /** Those that can't be worked on, and why. */
  unreachable(): Promise<readonly ({ blockchain: SolanaBlockchain } & Hindrance)[]>
  /** What was seen last of the signers' funds. */
  signers(): { blockchain: SolanaBlockchain; address: string; coins: number }[]
  /** URL of the block explorer of a blockchain; null where the settings name none. */
  blockExplorerUrl(blockchain: SolanaBlockchain): string | null
  close(): Promise<void>
}

export interface RemoteClustersOptions {
  db: Db
  settings: Clusters
  /** Null in a process that never signs. */
  openSigner: (settings: ClusterSettings) => Promise<SolanaSigner | null>
  /** What is known of those who answer at the URLs: others may ask them as well. */
  providers: Providers
  /** Told of each request to a provider. */
  onRequest?: (blockchain: Blockchain, host: string, outcome: RpcOutcome) => void
}

/** Tokens that the signer must be able to pay for before anything is accepted: those of a large request. */
const RESERVE_TOKENS = 10n
const LAMPORTS = 1_000_000_000

interface Opened {
  settings: ClusterSettings
  network: RemoteSolana
  /** Null in a process that never signs. */
  signer: SolanaSigner | null
  problem: string | null
  /** Lamports, as seen last. */
  balance: bigint | null
}

/** Opens the signers' keys and the connections. */
export async function openRemoteClusters(options: RemoteClustersOptions): Promise<RemoteClusters> {
  const { db, settings, openSigner, providers, onRequest } = options

  /** Each read once: it never changes. */
  const addresses = new Map<SolanaBlockchain, string>()
  const addressOn = async (blockchain: SolanaBlockchain): Promise<string> => {
    const known = addresses.get(blockchain) ?? (await findChain(db, blockchain))?.factory_address
    if (known === undefined) throw notSetUp(blockchain)
    addresses.set(blockchain, known)
    return known
  }

  /** What the signer has now, and what tokens cost; whether it can pay for any is noted on the way. */
  const purseOf = async (blockchain: SolanaBlockchain, one: Opened) => {
    const address = await addressOn(blockchain)
    const costs = await tokenCosts(one.network, await one.network.computeUnitPrice())
    const balance = await one.network.balance(address)
    one.balance = balance
    one.problem = balance < RESERVE_TOKENS * costs.nft ? noFunds(blockchain, address) : null
    return { balance, costs }
  }

  const open = async (blockchain: SolanaBlockchain, cluster: ClusterSettings): Promise<Opened> => {
    const network = createRemoteSolana({
      ...{ ...cluster, urls: cluster.rpcUrls, providers },
      onRequest: (host, outcome) => onRequest?.(blockchain, host, outcome),
    })
    const signer = await openSigner(cluster)
    return { settings: cluster, network, signer, problem: null, balance: null }
  }

  const opened = new Map<SolanaBlockchain, Opened>()
  for (const [blockchain, cluster] of settings) opened.set(blockchain, await open(blockchain, cluster))
  await refuseOtherSigners(options, opened)
  const get = (blockchain: SolanaBlockchain): Opened => {
    const found = opened.get(blockchain)
    if (found === undefined) throw new Error(`${blockchain} is not reached by RPC URL`)
    return found
  }
  const watch = watchNetworks(
    [...opened].map(([blockchain, one]) => ({
      blockchain,
      problem: () => one.problem,
      async ask() {
        await purseOf(blockchain, one)
        return one.problem
      },
    })),
  )

  return {
    blockchains: [...opened.keys()],
    has: (blockchain) => opened.has(blockchain),
    network: (blockchain) => get(blockchain).network,

    address: addressOn,

    async signer(blockchain) {
      const { signer } = get(blockchain)
      if (signer === null) throw new Error(`this process doesn't sign: it has no key for ${blockchain}`)
      const accepted = await addressOn(blockchain)
      if (accepted === signer.address) return signer
      // Set up by other settings while this process runs.
      throw otherSigner(blockchain, accepted, signer)
    },

    async affordable(blockchain) {
      const { balance, costs } = await purseOf(blockchain, get(blockchain))
      return Number(balance / costs.collection)
    },

    problem: (blockchain) => opened.get(blockchain)?.problem ?? null,
    blockExplorerUrl: (blockchain) => opened.get(blockchain)?.settings.blockExplorerUrl ?? null,

    unreachable: () => watch.unreachable(),

    signers: () =>
      [...opened].flatMap(([blockchain, { balance }]) => {
        const address = addresses.get(blockchain)
        return balance === null || address === undefined
          ? []
          : [{ blockchain, address, coins: Number(balance) / LAMPORTS }]
      }),

    async close() {
      watch.stop()
      await Promise.all([...opened.values()].map(({ network }) => network.close()))
    },
  }
}

/** Addresses of tokens follow from who signs: what one key has begun no other can go on with. */
async function refuseOtherSigners(
  { db }: Pick<RemoteClustersOptions, 'db'>,
  opened: ReadonlyMap<SolanaBlockchain, Opened>,
): Promise<void> {
  for (const [blockchain, { signer }] of opened) {
    const known = (await findChain(db, blockchain))?.factory_address
    if (signer === null || known === undefined || known === signer.address) continue
    throw otherSigner(blockchain, known, signer)
  }
}

const otherSigner = (blockchain: SolanaBlockchain, accepted: string, { address }: SolanaSigner): GdnError =>
  new GdnError('invalid_config', `${blockchain} was set up for the signer ${accepted}, not for ${address}`, {
    hint: 'give the keypair that it was set up with: collections can be continued by no other',
  })

export const noFunds = (blockchain: SolanaBlockchain, address: string) =>
  `the signer ${address} of ${blockchain} has not enough funds to pay for tokens`

export const notSetUp = (blockchain: SolanaBlockchain): GdnError =>
  new GdnError('invalid_config', `${blockchain} is not set up: no signer was accepted for it`, {
    hint: `gdn chain setup ${blockchain} --dry-run shows what tokens cost there`,
  })
