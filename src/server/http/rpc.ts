import type { FastifyInstance } from 'fastify'
import { type EvmBlockchain, isEvm } from '../../api/blockchains.ts'
import { ERROR_TITLES } from '../../api/errors.ts'
import { RunsInOtherProcessError } from '../chain/chains.ts'
import { Refusal } from '../services/refusals.ts'
import type { ServiceDeps } from '../services/services.ts'
import { isForeignPage } from './hosts.ts'

/**
 * Maximum size of a request in bytes. The limit is low, because requests need no API key. The largest transaction, 128
 * KiB, takes 256 KiB in hex.
 */
const BODY_LIMIT_BYTES = 512 * 1024

/**
 * Adds `POST /rpc/<blockchain>`: JSON-RPC of an embedded chain for wallets and tools, limited to reads and raw
 * transactions. Any page may read. Transactions from pages of other sites are rejected: every address has funds, so
 * such a page could fill the disk.
 */
export function addRpcRoutes(
  app: FastifyInstance,
  { chains, pipeline }: Pick<ServiceDeps, 'chains' | 'pipeline'>,
  allowedHosts: readonly string[],
): void {
  const config = { access: 'public', errorForm: 'A' } as const
  app.post('/rpc/:blockchain', { config, bodyLimit: BODY_LIMIT_BYTES }, async (request) => {
    const { blockchain } = request.params as { blockchain: string }
    if (!chains.has(blockchain) || !isEvm(blockchain)) {
      throw new Refusal(404, ERROR_TITLES.notFound, `there is no EVM blockchain ${blockchain}`)
    }
    // Requests to public networks aren't forwarded, because they would use the operator's quota at the provider.
    if (chains.remote.has(blockchain)) {
      throw new Refusal(
        404,
        ERROR_TITLES.notFound,
        `${blockchain} is not an embedded chain of this backend: use a node of the network`,
      )
    }
    if (isSendRequest(request.body) && isForeignPage(request, allowedHosts)) {
      throw new Refusal(403, ERROR_TITLES.forbidden, 'pages from other origins may only read this chain')
    }
    const { handleRpc } = await import('../chain/evm/embedded/rpc.ts')
    const response = await handleRpc(await openNetwork(chains, blockchain), request.body)
    // Wait, so that a client that sends a transaction and then calls the API sees the transaction's effect.
    if (isSendRequest(request.body)) await pipeline.waitForOwners(blockchain)
    return response
  })
}

async function openNetwork(chains: ServiceDeps['chains'], blockchain: EvmBlockchain) {
  try {
    return await chains.network(blockchain)
  } catch (error) {
    if (!(error instanceof RunsInOtherProcessError)) throw error
    throw new Refusal(503, ERROR_TITLES.unavailable, error.message)
  }
}

/** Returns whether any call in a request sends a transaction. */
function isSendRequest(body: unknown): boolean {
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
