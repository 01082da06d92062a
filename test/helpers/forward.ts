import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'

export interface ForwardedResponse {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** A server that was killed, or that is killed before it has responded. */
const GONE = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE'])

/**
 * Sends a received request to another server, on a connection of its own. Not with `fetch`: its dispatcher belongs to
 * the file that imported undici first, and undici refuses the content-length of the received request.
 *
 * @returns the response, or null if the server is gone
 * @throws all other errors
 */
export async function forward(target: string, received: IncomingMessage): Promise<ForwardedResponse | null> {
  const sentChunks: Buffer[] = []
  for await (const chunk of received) sentChunks.push(chunk)
  const { host: _host, connection: _connection, ...headers } = received.headers
  try {
    return await new Promise((resolve, reject) => {
      const url = target + (received.url ?? '')
      const sending = request(url, { method: received.method, headers, agent: false }, async (response) => {
        const chunks: Buffer[] = []
        try {
          for await (const chunk of response) chunks.push(chunk)
        } catch (error) {
          return reject(error)
        }
        const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...kept } = response.headers
        resolve({ status: response.statusCode ?? 0, headers: kept, body: Buffer.concat(chunks) })
      })
      sending.on('error', reject)
      sending.end(Buffer.concat(sentChunks))
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && GONE.has(String(error.code))) return null
    throw error
  }
}
