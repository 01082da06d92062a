import { getAddress } from 'viem'
import { GdnError } from '../../core/errors.ts'
import { formatCoins } from '../../core/units.ts'
import { computeDebt } from '../chain/evm/cost/debt.ts'
import { minSignerFunds } from '../chain/evm/cost/funding.ts'
import type { Fees, Hex } from '../chain/evm/network.ts'
import { openAddressOnlySigners } from '../chain/evm/open-signer.ts'
import { isOperator, readAdmin } from '../chain/evm/registry.ts'
import { describeSignerShortage } from '../chain/evm/remote/operators.ts'
import { createRemoteNetwork, type RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import { convertRpcErrors } from '../chain/rpc/refusals.ts'
import { findCoinSymbol } from '../settings/networks.ts'
import type { ChainSettings } from '../settings/types.ts'
import { findChain } from '../store/chains.ts'
import type { Store } from '../store/open-store.ts'
import { type CheckResult, examine, msSince } from './check-result.ts'

const TIMEOUT_MS = 5000
/**
 * Attempts per request to a node that has responded before. With several attempts, a busy node isn't reported as a
 * problem with the factory or the funds.
 */
const MAX_ATTEMPTS = 3
/** If a signer can't pay for this number of requests, the result is a warning. */
const FEW_REQUESTS = 20n

/**
 * Checks a network with an RPC URL: each node responds and belongs to the chain, the factory exists, the signers can
 * pay, and remote signers have their keys.
 *
 * @param store the database, which has the factory's address; null if it can't be opened
 */
export async function examineChain(
  settings: ChainSettings,
  store: Store | null,
  credentialsDirectory: string | undefined,
): Promise<CheckResult[]> {
  const [network, remote] = await Promise.all([
    examineNetwork(settings, store),
    examineRemoteSigners(settings, credentialsDirectory),
  ])
  return [...network, ...remote]
}

async function examineNetwork(settings: ChainSettings, store: Store | null): Promise<CheckResult[]> {
  const { blockchain } = settings
  const nodes = await Promise.all(settings.rpcUrls.map((url) => examineNode(settings, url)))
  // For the next requests, use only nodes that have responded.
  const urls = settings.rpcUrls.filter((_, index) => nodes[index]?.status === 'ok')
  if (urls.length === 0) return nodes
  const network = openNetwork(settings, urls, MAX_ATTEMPTS)
  try {
    const chain = store === null ? null : await findChain(store.db, blockchain).catch(() => null)
    const factory = (chain?.factory_address ?? null) as Hex | null
    const [factoryFindings, signers] = [
      store === null
        ? []
        : [
            await examine(`${blockchain} factory`, () =>
              convertRpcErrors(blockchain, () => examineFactory(network, factory)),
            ),
          ],
      await examineSigners(network, settings, factory),
    ]
    return [...nodes, ...factoryFindings, ...signers]
  } finally {
    await network.close()
  }
}

const openNetwork = (settings: ChainSettings, urls: readonly string[], maxAttempts = 1): RemoteNetwork =>
  createRemoteNetwork({ ...settings, urls, maxAttempts, timeoutMs: TIMEOUT_MS })

function examineNode(settings: ChainSettings, url: string): Promise<CheckResult> {
  // Don't include the URL in the name, because it may contain a provider's key.
  return examine(`${settings.blockchain} node`, async () => {
    const { host } = new URL(url)
    const network = openNetwork(settings, [url])
    try {
      await network.publicNetwork.head()
      // Measure the second request, because the first one also checks the chain and opens the connection.
      const since = performance.now()
      const block = await network.publicNetwork.head()
      return { message: `${host} responds in ${msSince(since)} ms, chain ${settings.chainId}, block ${block}` }
    } finally {
      await network.close()
    }
  })
}

async function examineFactory(network: RemoteNetwork, factory: Hex | null): Promise<{ message: string }> {
  const { blockchain } = network
  if (factory === null) {
    throw new GdnError('invalid_config', `${blockchain} is not set up yet`, {
      hint: `Run \`gdn chain setup ${blockchain} --dry-run\` to show the cost of the setup. Then run it without --dry-run.`,
    })
  }
  if ((await readAdmin(network, factory)) !== null) return { message: `deployed at ${factory}` }
  throw new GdnError('invalid_config', `the network has no factory at ${factory}, the address in the database`, {
    hint: 'Check that the database belongs to this network and that the node is in sync.',
  })
}

async function examineSigners(
  network: RemoteNetwork,
  { blockchain, operators }: ChainSettings,
  factory: Hex | null,
): Promise<CheckResult[]> {
  const check = `${blockchain} signer`
  let fees: Fees
  let addresses: readonly Hex[]
  try {
    fees = await convertRpcErrors(blockchain, () => network.publicNetwork.suggestFees())
    addresses = openAddressOnlySigners(operators).map(({ address }) => getAddress(address))
  } catch (error) {
    return [{ check, status: 'fail', error }]
  }
  return await Promise.all(
    addresses.map((address) =>
      examine(check, async () => {
        const balance = await network.publicNetwork.balance(address)
        const lack = describeSignerShortage(network, { address, balance, ...computeDebt([], 0) }, fees)
        if (lack !== null) {
          throw new GdnError('invalid_config', lack, {
            hint: `Send coins to ${address}. Until then, this signer can't sign.`,
          })
        }
        if (factory !== null && !(await isOperator(network, factory, address))) {
          throw new GdnError('invalid_config', `${address} is not authorized by the factory`, {
            hint: `Run \`gdn chain setup ${blockchain}\` to authorize the signer.`,
          })
        }
        const funds = `${address} has ${formatCoins(balance, 'down')} ${findCoinSymbol(network.chainId) ?? 'coins'}`
        if (balance >= minSignerFunds(fees) * FEW_REQUESTS) return { message: funds }
        return {
          message: `${funds}, which is enough for only a few requests at current fees`,
          fix: `Send coins to ${address}.`,
        }
      }),
    ),
  )
}

async function examineRemoteSigners(
  { blockchain, operators }: ChainSettings,
  credentialsDirectory: string | undefined,
): Promise<CheckResult[]> {
  const entries = operators.flatMap((entry) => ('remote_signer' in entry ? [entry] : []))
  if (entries.length === 0) return []
  const { openRemoteSigner } = await import('../chain/evm/remote-signer/open-remote-signer.ts')
  return await Promise.all(
    entries.map((entry) =>
      examine(`${blockchain} remote signer`, async () => {
        const signer = openRemoteSigner(entry, { credentialsDirectory, timeoutMs: TIMEOUT_MS })
        try {
          return { message: await signer.check() }
        } finally {
          await signer.close()
        }
      }),
    ),
  )
}
