import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { Hex } from '../../src/server/chain/evm/network.ts'

const require = createRequire(import.meta.url)
const START_TIMEOUT_MS = 20_000

export interface SentTransaction {
  hash: Hex
  status: 'success' | 'reverted'
  gasUsed: bigint
  contractAddress: Hex | null
  logs: { address: Hex; topics: [Hex, ...Hex[]]; data: Hex }[]
}

/** A fresh anvil with funded, unlocked accounts: a chain of its own for tests of contracts. */
export interface DevNode {
  url: string
  accounts: readonly Hex[]
  request<Result>(method: string, params: readonly unknown[]): Promise<Result>
  /** Sends, mines a block and reads the receipt. A revert is a result, not an error. */
  send(transaction: { from: Hex; to?: Hex; data: Hex; gas?: bigint; value?: bigint }): Promise<SentTransaction>
  stop(): Promise<void>
}

/** What a node answered instead of a result; `data` is what a reverted call returned. */
export class RpcError extends Error {
  readonly data: Hex | undefined

  constructor(message: string, data: unknown) {
    super(message)
    this.data = typeof data === 'string' && data.startsWith('0x') ? (data as Hex) : undefined
  }
}

export async function startDevNode(options: { accounts?: number } = {}): Promise<DevNode> {
  const args = ['--port', '0', '--no-mining', '--gas-limit', '1000000000', '--accounts', String(options.accounts ?? 10)]
  const child = spawn(anvilBinary(), args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  // A test run that dies must not leave a node behind.
  const endChild = () => child.kill('SIGKILL')
  process.once('exit', endChild)
  const stop = async () => {
    process.removeListener('exit', endChild)
    endChild()
    await exited
  }

  let output = ''
  const port = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`anvil did not start: ${output}`)), START_TIMEOUT_MS)
    const listen = (chunk: Buffer) => {
      output += chunk
      const found = /Listening on 127\.0\.0\.1:(\d+)/.exec(output)?.[1]
      if (found === undefined) return
      clearTimeout(timer)
      resolve(found)
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`anvil ended: ${output}`)))
  }).catch(async (error: unknown) => {
    endChild()
    throw error
  })
  // Keeps the pipes empty, and their text out of memory.
  child.stdout.removeAllListeners('data').resume()
  child.stderr.removeAllListeners('data').resume()

  const url = `http://127.0.0.1:${port}`
  const request = <Result>(method: string, params: readonly unknown[]) => rpc<Result>(url, method, params)
  const accounts = await request<Hex[]>('eth_accounts', [])

  const send: DevNode['send'] = async ({ from, to, data, gas = 100_000_000n, value = 0n }) => {
    const hash = await request<Hex>('eth_sendTransaction', [
      { from, data, gas: hex(gas), value: hex(value), ...(to === undefined ? {} : { to }) },
    ])
    await request('evm_mine', [])
    const receipt = await request<{
      status: Hex
      gasUsed: Hex
      contractAddress: Hex | null
      logs: SentTransaction['logs']
    }>('eth_getTransactionReceipt', [hash])
    return {
      hash,
      status: receipt.status === '0x1' ? 'success' : 'reverted',
      gasUsed: BigInt(receipt.gasUsed),
      contractAddress: receipt.contractAddress,
      logs: receipt.logs,
    }
  }
  return { url, accounts, request, send, stop }
}

function hex(value: bigint): Hex {
  return `0x${value.toString(16)}`
}

async function rpc<Result>(url: string, method: string, params: readonly unknown[]): Promise<Result> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const answer = (await response.json()) as { result: Result; error?: { message: string; data?: unknown } }
  if (answer.error !== undefined) throw new RpcError(answer.error.message, answer.error.data)
  return answer.result
}

function anvilBinary(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  const manifest = require.resolve(`@foundry-rs/anvil-${process.platform}-${arch}/package.json`)
  return path.join(path.dirname(manifest), 'bin', process.platform === 'win32' ? 'anvil.exe' : 'anvil')
}
