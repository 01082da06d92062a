import { createServer } from 'node:http'
import { listenLocally } from './http-server.ts'

/**
 * A node that responds to JSON-RPC from a table of results, or of functions of the parameters. Tests can change the
 * table, or reject all requests.
 */
export interface StandInNode {
  url: string
  readonly answers: Record<string, unknown>
  refuse(yes: boolean): void
  close(): Promise<void>
}

interface Call {
  id: number
  method: string
  params: readonly unknown[]
}

export async function startNode(answers: Readonly<Record<string, unknown>>): Promise<StandInNode> {
  const table: Record<string, unknown> = { ...answers }
  let refuses = false
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (refuses) return void response.writeHead(500).end()
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as Call
    const error = { code: -32601, message: `no ${method} here` }
    const found = table[method]
    const result = typeof found === 'function' ? found(params) : found
    const answer = method in table ? { result } : { error }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    answers: table,
    refuse(yes) {
      refuses = yes
    },
    close,
  }
}
