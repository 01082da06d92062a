import { finished } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { WALLET_CREATE_PATH } from '../../api/endpoints/getpresignedurl.ts'
import { createWallet } from '../services/create-wallet.ts'
import type { ServiceDeps } from '../services/services.ts'
import type { SignedUrlClaims } from '../services/signed-url.ts'
import type { ErasableKey } from '../services/wallet-key.ts'

/**
 * Maximum size of the ignored body in bytes. It allows the small body of a client that can't send a POST without one.
 */
const BODY_LIMIT_BYTES = 64 * 1024

/**
 * Adds the route of signed URLs: a POST creates a wallet. The URL is the only authorization. The body is ignored.
 * According to the API reference, clients send no body, but many HTTP clients can't send a POST without one.
 */
export async function addWalletRoutes(parent: FastifyInstance, deps: ServiceDeps): Promise<void> {
  await parent.register(async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_LIMIT_BYTES }, (_request, _body, done) =>
      done(null),
    )
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('cache-control', 'no-store')
    })
    app.post(WALLET_CREATE_PATH, { config: { access: 'public', errorForm: 'B' } }, async (request, reply) => {
      const url = request.raw.url ?? ''
      const at = url.indexOf('?')
      const { claims, key } = await createWallet(deps, at < 0 ? '' : url.slice(at + 1))
      const response = responseBytes(claims, key)
      key.destroy()
      finished(reply.raw, () => response.fill(0))
      return reply.type('application/json; charset=utf-8').send(response)
    })
  })
}

/**
 * Returns the response as bytes, so that the key can be overwritten after the response is sent. A string can't be
 * overwritten. The buffer isn't part of the shared pool of Node.js.
 */
function responseBytes(request: SignedUrlClaims, { address, hexBytes }: ErasableKey): Buffer {
  // According to the API reference, the echoed request has an empty `signature`.
  const echo = JSON.stringify({ ...request, signature: '' })
  const before = Buffer.from(`{"request":${echo},"wallet":{"address":"${address}","private_key":"`)
  const after = Buffer.from('"}}')
  const response = Buffer.from(new ArrayBuffer(before.length + hexBytes.length + after.length))
  before.copy(response)
  hexBytes.copy(response, before.length)
  after.copy(response, before.length + hexBytes.length)
  return response
}
