import type { Hex } from '../../src/server/chain/evm/network.ts'
import { type Reply, startHttpServer } from './http-server.ts'

/** A request for a signature. */
export interface SignRequest {
  nonce: Hex
  to?: Hex
  data: Hex
}

/** A signer in front of an anvil that has the keys. */
export interface SignerService {
  url: string
  /** All that it was asked to sign, in order. */
  asked: SignRequest[]
  /** Decides about each request for a signature: undefined signs it. */
  onSign: (request: SignRequest) => Reply | undefined | Promise<Reply | undefined>
  close(): Promise<void>
}

export async function startSignerService(anvil: string): Promise<SignerService> {
  const service: SignerService = { url: '', asked: [], onSign: () => undefined, close: async () => {} }
  const server = await startHttpServer(async ({ body }) => {
    const text = body.toString()
    const { method, params } = JSON.parse(text) as { method: string; params: SignRequest[] }
    const [request] = params
    if (method === 'eth_signTransaction' && request !== undefined) {
      service.asked.push(request)
      const reply = await service.onSign(request)
      if (reply !== undefined) return reply
    }
    const response = await fetch(anvil, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text })
    return { json: await response.json() }
  })
  service.url = server.url
  service.close = server.close
  return service
}
