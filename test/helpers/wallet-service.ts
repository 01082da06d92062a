import { randomBytes } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import { deriveAddress } from '../../src/keystore/private-key.ts'
import { listenLocally } from './http-server.ts'

export interface WalletService {
  url: string
  origin: string
  /** Bodies of getpresignedurl requests. */
  asked: { email: string; timeout?: number }[]
  /** Requests to signed URLs: query, headers, body. */
  calls: { query: string; headers: NodeJS.Dict<string | string[]>; body: string }[]
  /** Every private key in a response, in hex without 0x. */
  keys: string[]
}

export interface WalletServiceOptions {
  /** Returns a signed URL instead of the default one. */
  signedUrl?: (origin: string) => string
  /** Handles a request to a signed URL instead of the default response. */
  answer?: (response: ServerResponse, wallet: { address: string; private_key: string }) => void
  /** Response to getpresignedurl instead of a signed URL. */
  refuse?: { status: number; body: object }
}

/** The response of a signed URL according to the reference. */
export const answerOf = (wallet: { address: string; private_key: string }) => ({
  request: { expiry: 1, issued_at: 0, action: 'generate_wallet', issuer: 'me@example.com', signature: null },
  wallet,
})

/** A stand-in for the wallet part of the hosted service. It returns only what is requested. */
export async function walletService(options: WalletServiceOptions = {}): Promise<WalletService> {
  const service: WalletService = { url: '', origin: '', asked: [], calls: [], keys: [] }
  const json = (response: ServerResponse, status: number, body: object) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const { pathname, search } = new URL(request.url ?? '', service.origin)
    if (pathname === '/api/v1/getpresignedurl') {
      const requestBody = JSON.parse(body)
      service.asked.push(requestBody)
      if (options.refuse !== undefined) return json(response, options.refuse.status, options.refuse.body)
      const expiry = Math.floor(Date.now() / 1000) + (requestBody.timeout ?? 60) * 60
      const query = `expiry=${expiry}&issued_at=0&action=generate_wallet&issuer=me%40example.com&signature=5161a7e5ec2e7`
      const signed = options.signedUrl?.(service.origin) ?? `${service.origin}/v1/wallet/create?${query}`
      return json(response, 200, { request: requestBody, response: { url: signed } })
    }
    if (pathname !== '/v1/wallet/create')
      return json(response, 404, { error: { title: 'Not Found', message: pathname } })
    service.calls.push({ query: search, headers: request.headers, body })
    const key = randomBytes(32)
    const digits = key.toString('hex')
    service.keys.push(digits)
    const wallet = { address: deriveAddress(key) ?? '', private_key: `0x${digits}` }
    if (options.answer === undefined) json(response, 200, answerOf(wallet))
    else options.answer(response, wallet)
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  service.origin = url
  service.url = service.origin
  return service
}
