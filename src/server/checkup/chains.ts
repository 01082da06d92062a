import { formatEther, getAddress } from 'viem'
import { GdnError } from '../../core/errors.ts'
import type { Fees, Hex } from '../chain/evm/network.ts'
import { openAddresses } from '../chain/evm/open-signer.ts'
import { isOperator, readAdmin } from '../chain/evm/registry.ts'
import { reserve } from '../chain/evm/remote/operators.ts'
import { createRemoteNetwork, type RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import { explainRefusals } from '../chain/rpc/refusals.ts'
import type { ChainSettings } from '../settings/types.ts'
import { findChain } from '../store/chains.ts'
import type { Store } from '../store/open-store.ts'
import { type Examined, examine, msSince } from './examined.ts'

const TIMEOUT_MS = 5000
/** Of what is asked of nodes that have answered: factory and funds aren't at fault where one is busy for a moment. */
const TRIES = 3
/** Requests that the funds of a signer should be enough for. */
const FEW_REQUESTS = 20n

/**
 * A network by RPC URL: whether each of its nodes answers and is of it, its factory is there, and its signers can pay.
 *
 * @param store null where the database couldn't be opened: it knows where the factory is
 */
export async function examineChain(settings: ChainSettings, store: Store | null): Promise<Examined[]> {
  const { blockchain } = settings
  const nodes = await Promise.all(settings.rpcUrls.map((url) => examineNode(settings, url)))
  // What the nodes are asked for next has to be answered by one that is there.
  const urls = settings.rpcUrls.filter((_, index) => nodes[index]?.status === 'ok')
  if (urls.length === 0) return nodes
  const network = open(settings, urls, TRIES)
  try {
    const factory = await factoryOf(store, settings)
    const [made, signers] = [
      store === null
        ? []
        : [
            await examine(`${blockchain} factory`, () =>
              explainRefusals(blockchain, () => examineFactory(network, factory)),
            ),
          ],
      await examineSigners(network, settings, factory),
    ]
    return [...nodes, ...made, ...signers]
  } finally {
    await network.close()
  }
}

const open = (settings: ChainSettings, urls: readonly string[], tries = 1): RemoteNetwork =>
  createRemoteNetwork({ ...settings, urls, tries, timeoutMs: TIMEOUT_MS })

function examineNode(settings: ChainSettings, url: string): Promise<Examined> {
  // A URL may hold a provider's key.
  return examine(`${settings.blockchain} node`, async () => {
    const { host } = new URL(url)
    const network = open(settings, [url])
    try {
      await network.publicNetwork.head()
      // The first answer has told its chain as well, and opened the connection.
      const since = performance.now()
      const block = await network.publicNetwork.head()
      return { message: `${host} answers in ${msSince(since)} ms, is of chain ${settings.chainId}, at block ${block}` }
    } finally {
      await network.close()
    }
  })
}

const factoryOf = async (store: Store | null, { blockchain }: ChainSettings): Promise<Hex | null> =>
  store === null
    ? null
    : await findChain(store.db, blockchain).then(
        (row) => (row?.factory_address ?? null) as Hex | null,
        () => null,
      )

async function examineFactory(network: RemoteNetwork, factory: Hex | null): Promise<{ message: string }> {
  const { blockchain } = network
  if (factory === null) {
    throw new GdnError('invalid_config', `${blockchain} is not set up: it has no factory`, {
      hint: `gdn chain setup ${blockchain} --dry-run shows what that costs`,
    })
  }
  if ((await readAdmin(network, factory)) !== null) return { message: `is at ${factory}` }
  throw new GdnError('invalid_config', `the network has no factory at ${factory}, where the database has it`, {
    hint: 'the database is that of another network, or this node is behind',
  })
}

async function examineSigners(
  network: RemoteNetwork,
  { blockchain, operators }: ChainSettings,
  factory: Hex | null,
): Promise<Examined[]> {
  const check = `${blockchain} signer`
  let fees: Fees
  let addresses: readonly Hex[]
  try {
    fees = await explainRefusals(blockchain, () => network.publicNetwork.suggestFees())
    addresses = openAddresses(operators).map(({ address }) => getAddress(address))
  } catch (error) {
    return [{ check, status: 'fail', error }]
  }
  return await Promise.all(
    addresses.map((address) =>
      examine(check, async () => {
        const balance = await network.publicNetwork.balance(address)
        const least = reserve(fees)
        const funds = `${address} has ${formatEther(balance)} coins`
        if (balance < least) {
          throw new GdnError('invalid_config', `${funds}: a large request may cost ${formatEther(least)}`, {
            hint: `send some to ${address}; until then it signs nothing`,
          })
        }
        if (factory !== null && !(await isOperator(network, factory, address))) {
          throw new GdnError('invalid_config', `${address} is not appointed by the factory`, {
            hint: `gdn chain setup ${blockchain} appoints it`,
          })
        }
        if (balance >= least * FEW_REQUESTS) return { message: funds }
        return { message: `${funds}, enough for few requests at the fees of now`, fix: `send some to ${address}` }
      }),
    ),
  )
}
