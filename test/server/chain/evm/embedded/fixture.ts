import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import {
  type EmbeddedChain,
  type EmbeddedChainEvent,
  type EmbeddedChainOptions,
  startEmbeddedChain,
} from '../../../../../src/server/chain/evm/embedded/embedded-chain.ts'
import { whenTestDone } from '../../../../helpers/clean-up.ts'
import { GENESIS_TIMESTAMP, memoryBlockJournal } from '../../../../helpers/memory-block-journal.ts'

export const CHAIN_ID = 137
/** A clock that is stopped a day after genesis. */
export const NOON = (GENESIS_TIMESTAMP + 86_400) * 1000

/** Deploys a contract that increments its first storage slot at every call. */
export const COUNTER: Hex = '0x6960005460010160005500600052600a6016f3'

export { whenTestDone as whenDone }

export function temporaryDir(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'gdn-embedded-')))
  whenTestDone(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

export const pidfileOf = (stateDir: string) => join(stateDir, 'polygon.pid')

/** Returns the process ID in the pidfile of the chain in a state directory. */
export function recordedPid(stateDir: string): number | undefined {
  const path = pidfileOf(stateDir)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).pid : undefined
}

export interface Started {
  chain: EmbeddedChain
  events: EmbeddedChainEvent[]
}

/** An embedded Polygon chain that is closed after the test. */
export async function start(options: Partial<EmbeddedChainOptions> = {}): Promise<Started> {
  const events: EmbeddedChainEvent[] = []
  const stateDir = options.stateDir ?? temporaryDir()
  const chain = await startEmbeddedChain({
    blockchain: 'polygon',
    chainId: CHAIN_ID,
    journal: memoryBlockJournal(),
    now: () => NOON,
    onEvent: (event) => events.push(event),
    ...options,
    stateDir,
  })
  whenTestDone(() => chain.close())
  return { chain, events }
}

export function newAccount(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey())
}

export interface Transfer {
  to?: Hex | null
  value?: bigint
  data?: Hex
  gas?: bigint
  maxFeePerGas?: bigint
}

export function sign(account: PrivateKeyAccount, nonce: number, fields: Transfer = {}): Promise<Hex> {
  const { to = account.address, maxFeePerGas = 3_000_000_000n, gas = 21_000n, ...rest } = fields
  return account.signTransaction({
    chainId: CHAIN_ID,
    type: 'eip1559',
    nonce,
    ...(to === null ? {} : { to }),
    gas,
    maxFeePerGas,
    maxPriorityFeePerGas: maxFeePerGas < 1_000_000_000n ? maxFeePerGas : 1_000_000_000n,
    ...rest,
  })
}

/** Sends SIGKILL to the node of the chain. */
export function killNode(chain: EmbeddedChain): number {
  const { pid } = chain
  if (pid === undefined) throw new Error('no node is running')
  process.kill(pid, 'SIGKILL')
  return pid
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export async function blockHash(chain: EmbeddedChain, number: number): Promise<Hex | undefined> {
  const block = await chain.request<{ hash: Hex } | null>('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])
  return block?.hash
}
