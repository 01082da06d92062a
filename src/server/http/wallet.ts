import type { FastifyInstance } from 'fastify'
import { WALLET_CREATE_PATH } from '../../api/endpoints/getpresignedurl.ts'
import { createWallet } from '../services/create-wallet.ts'
import type { ServiceDeps } from '../services/services.ts'

/** What callers that can't post without a body send is small. */
const BODY_LIMIT = 64 * 1024

/**
 * POST to a signed URL: a new wallet. The URL is all the authority it takes. A body is read and ignored, whatever it
 * is: the reference says to send none, but many HTTP clients can't post without `{}`, and the signature says it all.
 */
export async function addWalletRoutes(parent: FastifyInstance, deps: ServiceDeps): Promise<void> {
  await parent.register(async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_LIMIT }, (_request, _body, done) => done(null))
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('cache-control', 'no-store')
    })
    app.post(WALLET_CREATE_PATH, { config: { access: 'public', errorForm: 'B' } }, (request) => {
      const url = request.raw.url ?? ''
      const at = url.indexOf('?')
      return createWallet(deps, at < 0 ? '' : url.slice(at + 1))
    })
  })
}
