import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { privateKeyToAccount } from 'viem/accounts'
import { findAnvil } from '../../src/server/chain/evm/embedded/anvil-binary.ts'
import { connectNode } from '../../src/server/chain/evm/embedded/node-rpc.ts'
import type { Hex } from '../../src/server/chain/evm/network.ts'
import { until } from './backend.ts'
import { isOnPostgres, openTestStore } from './test-database.ts'

/** An anvil in the role of a public network: it mines on request, has reorgs and drops transactions. */
export interface PublicNetwork {
  url: string
  call<Result>(method: string, params?: readonly unknown[]): Promise<Result>
  /** `baseFee` is in wei; by default it follows from the block before. */
  mine(blocks?: number, baseFee?: bigint): Promise<void>
  /** Mines a block every `ms` until the function that it returns is called, which waits for the last block. */
  mineEvery(ms: number, baseFee?: () => bigint): () => Promise<void>
  /** Mines a block every 20 ms until a value is right, by default until a condition holds. Resolves with the value. */
  mineUntil<T>(ask: () => T | Promise<T>, right?: (value: T) => boolean, mine?: () => Promise<void>): Promise<T>
  /** Replaces the newest blocks with empty ones and drops their transactions. */
  reorg(depth: number): Promise<void>
  /** Hashes of the transactions in the pool, by sender and nonce. */
  pool(): Promise<Hex[]>
  close(): Promise<void>
}

interface NetworkOptions {
  chainId?: number
  /** Seconds between blocks that it mines by itself. */
  blockSeconds?: number
  /** Number of accounts that it signs for. */
  accounts?: number
}

const RICH = `0x${(10n ** 24n).toString(16)}`

export async function startPublicNetwork(
  options: readonly string[] = [],
  { chainId = 137, blockSeconds, accounts = 0 }: NetworkOptions = {},
): Promise<PublicNetwork> {
  const home = await mkdtemp(join(tmpdir(), 'gdn-real-'))
  const mining = blockSeconds === undefined ? ['--no-mining'] : ['--block-time', String(blockSeconds)]
  const own = ['--port', '0', '--host', '127.0.0.1', '--accounts', String(accounts), '--chain-id', String(chainId)]
  const args = [...own, ...mining, ...options]
  const child: ChildProcess = spawn(findAnvil(), args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { HOME: home },
    cwd: home,
  })
  const exited = once(child, 'exit')
  // A test that times out closes nothing.
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  const port = await new Promise<number>((resolve, reject) => {
    exited.then(() => reject(new Error('anvil ended before it listened')))
    if (child.stdout === null) return
    createInterface(child.stdout).on('line', (line) => {
      const found = /Listening on 127\.0\.0\.1:(\d+)/.exec(line)?.[1]
      if (found !== undefined) resolve(Number(found))
    })
  })
  const rpc = connectNode(port)
  const mine = async (baseFee?: bigint) => {
    if (baseFee !== undefined) await rpc.call('anvil_setNextBlockBaseFeePerGas', [`0x${baseFee.toString(16)}`])
    await rpc.call('evm_mine', [])
  }
  return {
    url: `http://127.0.0.1:${port}`,
    call: (method, params = []) => rpc.call(method, params),
    async mine(blocks = 1, baseFee) {
      for (let mined = 0; mined < blocks; mined++) await mine(baseFee)
    },
    mineEvery(ms, baseFee) {
      const stopped = new AbortController()
      const mining = (async () => {
        while (!stopped.signal.aborted) {
          await mine(baseFee?.()).catch(() => {})
          await sleep(ms, undefined, { signal: stopped.signal }).catch(() => {})
        }
      })()
      return () => {
        stopped.abort()
        return mining
      }
    },
    mineUntil: (ask, right = Boolean, mineNext = mine) =>
      until(async () => {
        const value = await ask()
        if (!right(value)) await mineNext()
        return value
      }, right),
    async reorg(depth) {
      await rpc.call('anvil_reorg', [depth, []])
    },
    async pool() {
      const { pending, queued } =
        await rpc.call<Record<'pending' | 'queued', Record<string, Record<string, { hash: Hex }>>>>('txpool_content')
      return [pending, queued].flatMap((part) =>
        Object.values(part).flatMap((byNonce) => Object.values(byNonce).map(({ hash }) => hash)),
      )
    },
    async close() {
      rpc.close()
      process.off('exit', end)
      end()
      await exited
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** Funds the signers of a data dir's backend. Resolves with their keys. */
export async function fundSigners(network: PublicNetwork, dataDir: string): Promise<{ admin: Hex; operator: Hex }> {
  const text = isOnPostgres() ? await secretOf(dataDir) : await readFile(join(dataDir, 'signers.json'), 'utf8')
  const { admin, operator } = JSON.parse(text) as Record<string, Hex>
  if (admin === undefined || operator === undefined) throw new Error('the data dir has no signers')
  for (const key of [admin, operator]) {
    await network.call('anvil_setBalance', [privateKeyToAccount(key).address, RICH])
  }
  return { admin, operator }
}

/** Processes that share a database store their signers there. */
async function secretOf(dataDir: string): Promise<string> {
  const store = await openTestStore(dataDir)
  const { value } = await store.db
    .selectFrom('secrets')
    .select('value')
    .where('name', '=', 'signers.json')
    .executeTakeFirstOrThrow()
  await store.close()
  return value
}
