import type { FastifyInstance } from 'fastify'
import { isBlockchain, isEvm } from '../../api/blockchains.ts'
import { TITLES } from '../../api/errors.ts'
import type { Chains } from '../chain/chains.ts'
import { handleRpc } from '../chain/evm/embedded/rpc.ts'
import { Refusal } from '../services/refusal.ts'

/** `POST /rpc/<blockchain>`: JSON-RPC of an embedded chain for wallets and tools; reading and raw transactions only. */
export function addRpcRoutes(app: FastifyInstance, chains: Chains): void {
  app.post('/rpc/:blockchain', { config: { access: 'public', errorForm: 'A' } }, async (request) => {
    const { blockchain } = request.params as { blockchain: string }
    if (!isBlockchain(blockchain) || !isEvm(blockchain)) {
      throw new Refusal(404, TITLES.notFound, `there is no EVM blockchain ${blockchain}`)
    }
    return handleRpc(await chains.network(blockchain), request.body)
  })
}
