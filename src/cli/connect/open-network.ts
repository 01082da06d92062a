import type { EvmBlockchain } from '../../api/blockchains.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import { readPrivateText } from '../../core/private-file.ts'
import type { RemoteNetwork } from '../../server/chain/evm/remote/remote-network.ts'
import type { Deps } from '../deps.ts'
import { addNodeHint, httpUrl, type ReaderFlags, specifiedRpc } from './open-verifier.ts'

export interface NodeFlags extends ReaderFlags {
  rpcUrlFile?: string
}

/** A JSON-RPC node. */
export interface Node {
  /** The URL. It may contain an API key, so errors name only its origin. */
  url: string
  /** The flag or variable that specified the URL. */
  flag: string
}

/** Timeout that is long enough for a slow node but still tolerable for a user. */
const TIMEOUT_MS = 10_000

/**
 * Returns the node that flags or GDN_RPC_URL specify; null if there is none.
 *
 * @throws GdnError `usage`
 */
export function specifiedNode(deps: Deps, flags: NodeFlags): Node | null {
  const { rpcUrlFile: file } = flags
  if (file === undefined) return specifiedRpc(deps, flags)
  if (flags.rpcUrl !== undefined) {
    throw new GdnError('usage', '--rpc-url and --rpc-url-file contradict each other', { hint: 'Use one of them.' })
  }
  const text = readPrivateText(file, { code: 'usage' })
  if (text === null) throw new GdnError('usage', "doesn't exist", { place: { file } })
  return { url: httpUrl(text.trim(), '--rpc-url-file'), flag: '--rpc-url-file' }
}

/**
 * Calls `work` with the network of a node, after checking the node's chain ID. The signal aborts every request.
 *
 * @throws GdnError `usage` if the node belongs to another chain
 */
export async function withNetwork<Result>(
  { url, flag }: Node,
  { blockchain, pollMs, signal }: { blockchain: EvmBlockchain; pollMs?: number; signal: AbortSignal },
  work: (network: RemoteNetwork) => Promise<Result>,
): Promise<Result> {
  const [{ createRemoteNetwork }, { findChainId }] = await Promise.all([
    import('../../server/chain/evm/remote/remote-network.ts'),
    import('../../server/settings/networks.ts'),
  ])
  const chainId = findChainId(blockchain)
  if (chainId === null) {
    throw new GdnError('usage', `can't be checked, because only the server knows the chain ID of ${blockchain}`, {
      place: { flag },
      hint: 'Omit the flag, so that gdn uses the server instead.',
    })
  }
  const limits = { confirmations: 1, finality: 1, timeoutMs: TIMEOUT_MS, maxAttempts: 2 }
  const network = createRemoteNetwork({
    blockchain,
    chainId,
    urls: [url],
    ...limits,
    pollMs,
    signal,
  })
  try {
    return await work(network)
  } catch (error) {
    if (!(error instanceof GdnError) || error.code !== 'invalid_config') {
      // If the user doesn't specify a node, the caller adds the server to the error.
      throw flag === '--blockchain' ? error : addNodeHint(error, flag)
    }
    throw flagError(flag, error.message, `Use the URL of a node of ${blockchain}.`)
  } finally {
    await network.close()
  }
}
