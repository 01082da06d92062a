import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { parseTransaction } from 'viem'
import type { Hex } from '../../src/server/chain/evm/network.ts'
import { listenLocally } from './http-server.ts'

/** A provider's endpoint of a network, with standard methods only and its own limits. */
export interface PublicEndpoint {
  url: string
  /** Minimum tip in wei per gas. The endpoint rejects transactions below it. */
  floor: bigint
  /** Number of transactions rejected because their tip was too low. */
  readonly underpriced: number
  /** Number of batches rejected because they were too long. */
  readonly tooLong: number
  close(): Promise<void>
}

interface Rules {
  /** Maximum calls in a batch. */
  batchLimit?: number
  /** Reports every problem of a transaction as an internal error, like nodes built on Frontier. */
  internalErrors?: boolean
}

interface Call {
  id: number
  method: string
  params: readonly unknown[]
}

interface Reply {
  id: number
  jsonrpc: '2.0'
  result?: unknown
  error?: { code: number; message: string }
}

const UNDERPRICED = -32000
const NO_SUCH_METHOD = -32601
const INTERNAL = -32603
const INVALID = -32600

export async function startPublicEndpoint(target: string, rules: Rules = {}): Promise<PublicEndpoint> {
  const { batchLimit = Number.POSITIVE_INFINITY, internalErrors = false } = rules
  const counts = { underpriced: 0, tooLong: 0 }
  let floor = 0n

  const ask = async ({ id, method, params }: Call): Promise<Reply> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
    const response = await fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return (await response.json()) as Reply
  }

  const answer = async (call: Call): Promise<Reply> => {
    const { id, method, params } = call
    const refuse = (code: number, message: string): Reply => ({ jsonrpc: '2.0', id, error: { code, message } })
    if (!/^(eth|net|web3)_/.test(method)) return refuse(NO_SUCH_METHOD, `the method ${method} does not exist`)
    if (method === 'eth_sendRawTransaction') {
      const { maxPriorityFeePerGas, gasPrice } = parseTransaction(params[0] as Hex)
      const offered = maxPriorityFeePerGas ?? gasPrice ?? 0n
      if (offered < floor) {
        counts.underpriced += 1
        const code = internalErrors ? INTERNAL : UNDERPRICED
        return refuse(code, `transaction underpriced: gas tip cap ${offered}, minimum needed ${floor}`)
      }
    }
    const reply = await ask(call)
    if (method === 'eth_maxPriorityFeePerGas' || method === 'eth_gasPrice') return atLeast(reply, floor)
    if (method !== 'eth_sendRawTransaction' || reply.error === undefined || !internalErrors) return reply
    return refuse(INTERNAL, reply.error.message)
  }

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const calls = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
    response.setHeader('content-type', 'application/json')
    if (!Array.isArray(calls)) return response.end(JSON.stringify(await answer(calls)))
    if (calls.length > batchLimit) {
      counts.tooLong += 1
      const error = { code: INVALID, message: `batch of ${calls.length} calls exceeds the limit of ${batchLimit}` }
      return response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }))
    }
    const replies: Reply[] = []
    // One after the other, so that transactions arrive in order.
    for (const call of calls) replies.push(await answer(call))
    return response.end(JSON.stringify(replies))
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    get floor() {
      return floor
    },
    set floor(wei) {
      floor = wei
    },
    get underpriced() {
      return counts.underpriced
    },
    get tooLong() {
      return counts.tooLong
    },
    close,
  }
}

function atLeast(reply: Reply, floor: bigint): Reply {
  if (typeof reply.result !== 'string' || BigInt(reply.result) >= floor) return reply
  return { ...reply, result: `0x${floor.toString(16)}` }
}
