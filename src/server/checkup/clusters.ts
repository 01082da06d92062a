import { existsSync } from 'node:fs'
import { GdnError } from '../../core/errors.ts'
import { describeClusterShortage, inSol, readTokenCosts } from '../chain/solana/costs.ts'
import { openSolanaSigner } from '../chain/solana/open-signer.ts'
import { clusterNotSetUpError } from '../chain/solana/remote/remote-clusters.ts'
import { createRemoteSolana, type RemoteSolana } from '../chain/solana/remote/remote-solana.ts'
import { clusterName } from '../settings/solana-clusters.ts'
import type { ClusterSettings } from '../settings/types.ts'
import { findChain } from '../store/chains.ts'
import type { Store } from '../store/open-store.ts'
import { type CheckResult, examine, msSince } from './check-result.ts'

const TIMEOUT_MS = 5000
/**
 * Attempts per request to a node that has responded before. With several attempts, a busy node isn't reported as a
 * problem with the funds.
 */
const MAX_ATTEMPTS = 3
/**
 * If the signer can't pay for this number of tokens, the result is a warning, because the backend will soon reject
 * requests.
 */
const FEW_TOKENS = 200n
/** Address of the system program, which every cluster has. */
const ANY_ACCOUNT = '1'.repeat(32)

/**
 * Checks a Solana cluster with an RPC URL: each node responds and belongs to the cluster, the signer can pay, and the
 * cluster was set up with this signer.
 */
export async function examineCluster(
  settings: ClusterSettings,
  store: Store | null,
  credentialsDirectory: string | undefined,
): Promise<CheckResult[]> {
  const nodes = await Promise.all(settings.rpcUrls.map((url) => examineNode(settings, url)))
  const urls = settings.rpcUrls.filter((_, index) => nodes[index]?.status === 'ok')
  if (urls.length === 0) return nodes
  const network = openNetwork(settings, urls, MAX_ATTEMPTS)
  try {
    const signer = await examine(`${settings.blockchain} signer`, () =>
      examineSigner(network, settings, store, credentialsDirectory),
    )
    return [...nodes, signer]
  } finally {
    await network.close()
  }
}

const openNetwork = (settings: ClusterSettings, urls: readonly string[], maxAttempts = 1): RemoteSolana =>
  createRemoteSolana({ ...settings, urls, maxAttempts, timeoutMs: TIMEOUT_MS })

function examineNode(settings: ClusterSettings, url: string): Promise<CheckResult> {
  return examine(`${settings.blockchain} node`, async () => {
    const { host } = new URL(url)
    const network = openNetwork(settings, [url])
    try {
      const block = await network.blockHeight()
      // Measure the second request, because the first one also checks the genesis hash and opens the connection. The
      // second request doesn't read the height, because another node behind the same URL may correctly return a lower
      // height.
      const since = performance.now()
      await network.balance(ANY_ACCOUNT)
      const cluster = clusterName(settings.genesisHash)
      return { message: `${host} responds in ${msSince(since)} ms, cluster ${cluster}, block ${block}` }
    } finally {
      await network.close()
    }
  })
}

async function examineSigner(
  network: RemoteSolana,
  { blockchain, signer }: ClusterSettings,
  store: Store | null,
  credentialsDirectory: string | undefined,
): Promise<{ message: string; fix?: string }> {
  const accepted = store === null ? undefined : ((await findChain(store.db, blockchain))?.factory_address ?? null)
  if (accepted === null) throw clusterNotSetUpError(blockchain)
  // A process that only accepts requests has no key and needs none.
  const file = 'keystore' in signer ? signer.keystore : signer.keypair_file
  const isHere = file === undefined || existsSync(file)
  const address =
    accepted !== undefined && !isHere ? accepted : (await openSolanaSigner(signer, credentialsDirectory)).address
  if (accepted !== undefined && accepted !== address) {
    throw new GdnError('invalid_config', `${blockchain} was set up for the signer ${accepted}, not for ${address}`, {
      hint: 'Configure the keypair that the cluster was set up with.',
    })
  }
  const [costs, balance] = await Promise.all([
    readTokenCosts(network, await network.computeUnitPrice()),
    network.balance(address),
  ])
  const lack = describeClusterShortage(blockchain, address, balance, costs)
  if (lack !== null) {
    throw new GdnError('invalid_config', lack, {
      hint: `Send SOL to ${address}. Until then, the backend rejects requests.`,
    })
  }
  const message = `${address} has ${inSol(balance)} SOL, enough for ${balance / costs.nft} NFTs`
  return balance >= FEW_TOKENS * costs.nft ? { message } : { message, fix: `Send SOL to ${address}.` }
}
