import type { FastifyInstance } from 'fastify'
import { type EvmBlockchain, isBlockchain, isEvm } from '../../api/blockchains.ts'
import { TITLES } from '../../api/errors.ts'
import { RunElsewhere } from '../chain/chains.ts'
import { Refusal } from '../services/refusal.ts'
import type { ServiceDeps } from '../services/services.ts'
import { isForeignPage } from './hosts.ts'

/** Anybody may post here. A transaction holds at most 128 KiB, twice that in hex; a batch holds few large ones. */
const BODY_LIMIT = 512 * 1024

/**
 * `POST /rpc/<blockchain>`: JSON-RPC of an embedded chain for wallets and tools; reading and raw transactions only. Any
 * page may read; transactions of pages of strangers are refused: everybody has money there, and could fill the disk.
 */
export function addRpcRoutes(
  app: FastifyInstance,
  { chains, pipeline }: Pick<ServiceDeps, 'chains' | 'pipeline'>,
  allowedHosts: readonly string[],
): void {
  const config = { access: 'public', errorForm: 'A' } as const
  app.post('/rpc/:blockchain', { config, bodyLimit: BODY_LIMIT }, async (request) => {
    const { blockchain } = request.params as { blockchain: string }
    if (!isBlockchain(blockchain) || !isEvm(blockchain)) {
      throw new Refusal(404, TITLES.notFound, `there is no EVM blockchain ${blockchain}`)
    }
    // A network's own nodes are its providers' to ask, and ours cost: nobody is let through to them.
    if (chains.remote.has(blockchain)) {
      throw new Refusal(404, TITLES.notFound, `${blockchain} is no embedded chain here: ask a node of its network`)
    }
    if (sends(request.body) && isForeignPage(request, allowedHosts)) {
      throw new Refusal(403, TITLES.forbidden, 'pages of other origins may read this chain, and send nothing')
    }
    const { handleRpc } = await import('../chain/evm/embedded/rpc.ts')
    const answer = await handleRpc(await networkOf(chains, blockchain), request.body)
    // Who has sent a transaction and asks the API next finds what it has changed.
    if (sends(request.body)) await pipeline.ownersFollowed(blockchain)
    return answer
  })
}

async function networkOf(chains: ServiceDeps['chains'], blockchain: EvmBlockchain) {
  try {
    return await chains.network(blockchain)
  } catch (error) {
    if (!(error instanceof RunElsewhere)) throw error
    throw new Refusal(503, TITLES.unavailable, error.message)
  }
}

/** Whether a transaction is among the calls. */
function sends(body: unknown): boolean {
  const calls: readonly unknown[] = Array.isArray(body) ? body : [body]
  return calls.some(
    (call) =>
      call !== null &&
      typeof call === 'object' &&
      'method' in call &&
      typeof call.method === 'string' &&
      call.method.startsWith('eth_sendRawTransaction'),
  )
}
