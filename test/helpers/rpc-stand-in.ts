import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A node that answers JSON-RPC by a table, for what asks a network and changes nothing. */
export async function rpcStandIn(answers: Readonly<Record<string, unknown>>): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id: number; method: string }
    const error = { code: -32601, message: `no ${method} here` }
    const answer = method in answers ? { result: answers[method] } : { error }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
