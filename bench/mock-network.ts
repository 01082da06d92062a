// A network node that accepts all transactions and mines them in its next block, in a separate process like a real one.
// It prints its address, and GET / returns the number of requests.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { encodeFunctionResult, keccak256, toFunctionSelector } from 'viem'
import { gdnCollection, gdnFactory } from '../src/server/chain/evm/contracts/generated/artifacts.ts'

type Hex = `0x${string}`

interface Call {
  id: number
  method: string
  params: readonly unknown[]
}

/** Response time, similar to a remote provider, and block time. */
const [latencyMs = 0, blockMs = 100] = process.argv.slice(2).map(Number)
const CHAIN_ID = 137
const GWEI = '0x3b9aca00'

const hex = (value: number): Hex => `0x${value.toString(16)}`
const hashOf = (block: number): Hex => `0x${block.toString(16).padStart(64, 'b')}`
const yes = encodeFunctionResult({ abi: gdnFactory.abi, functionName: 'isOperator', result: true })
const admin = encodeFunctionResult({
  abi: gdnFactory.abi,
  functionName: 'admin',
  result: '0x00000000000000000000000000000000000000Ad',
})
const ADMIN = toFunctionSelector('admin()')
const STATE = toFunctionSelector('state()')
/** State of a collection. A higher next token ID than the database has would stop minting until it is explained. */
const state = encodeFunctionResult({
  abi: gdnCollection.abi,
  functionName: 'state',
  result: {
    owner: '0x00000000000000000000000000000000000000Ad',
    enableApi: true,
    enableTransfer: true,
    revoked: false,
    locked: false,
    nextTokenId: 1n,
    maxSupply: 0n,
  },
})

const began = Date.now()
const head = () => 1 + Math.floor((Date.now() - began) / blockMs)
const minedIn = new Map<Hex, number>()
const asked: Record<string, number> = {}
let requests = 0

function block(name: unknown) {
  const number = name === 'latest' ? head() : Number(name)
  if (number > head()) return null
  return { number: hex(number), hash: hashOf(number), parentHash: hashOf(number - 1), baseFeePerGas: GWEI }
}

function receipt(hash: Hex) {
  const number = minedIn.get(hash)
  if (number === undefined || number > head()) return null
  const place = { blockNumber: hex(number), blockHash: hashOf(number) }
  return { transactionHash: hash, ...place, gasUsed: hex(1_000_000), status: '0x1' }
}

function answer({ method, params }: Call): unknown {
  asked[method] = (asked[method] ?? 0) + 1
  switch (method) {
    case 'eth_chainId':
      return hex(CHAIN_ID)
    case 'eth_blockNumber':
      return hex(head())
    case 'eth_getBlockByNumber':
      return block(params[0])
    case 'eth_maxPriorityFeePerGas':
      return GWEI
    case 'eth_getBalance':
      return '0x3635c9adc5dea00000'
    case 'eth_getTransactionCount':
      return '0x0'
    case 'eth_getLogs':
      return []
    case 'eth_call': {
      const { data } = params[0] as { data: Hex }
      return data.startsWith(STATE) ? state : data.startsWith(ADMIN) ? admin : yes
    }
    case 'eth_sendRawTransaction': {
      const hash = keccak256(params[0] as Hex)
      if (!minedIn.has(hash)) minedIn.set(hash, head() + 1)
      return hash
    }
    case 'eth_getTransactionReceipt':
      return receipt(params[0] as Hex)
    case 'eth_getTransactionByHash':
      return minedIn.has(params[0] as Hex) ? { hash: params[0] } : null
    default:
      throw new Error(`${method} is not supported`)
  }
}

function reply(call: Call) {
  const { id } = call
  try {
    return { jsonrpc: '2.0', id, result: answer(call) }
  } catch (error) {
    return { jsonrpc: '2.0', id, error: { code: -32601, message: String(error) } }
  }
}

const server = createServer(async (request, response) => {
  if (request.method === 'GET') return void response.end(JSON.stringify({ requests, asked, mined: minedIn.size }))
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  requests += 1
  const body = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
  const text = JSON.stringify(Array.isArray(body) ? body.map(reply) : reply(body))
  if (latencyMs > 0) await delay(latencyMs)
  response.writeHead(200, { 'content-type': 'application/json' }).end(text)
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
