import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findAnvil } from '../../src/server/chain/evm/embedded/anvil-binary.ts'
import { connectNode } from '../../src/server/chain/evm/embedded/node-rpc.ts'
import type { Hex } from '../../src/server/chain/evm/network.ts'

export interface PlainAnvil {
  url: string
  /** Accounts that it signs for. */
  accounts: readonly Hex[]
  request<Result>(method: string, params: readonly unknown[]): Promise<Result>
  /** Sends a transaction and mines a block. Throws if it reverts. */
  send(from: Hex, to: Hex | null, data: Hex): Promise<{ gasUsed: Hex; blockNumber: Hex }>
  /** Replaces the last `depth` blocks with empty ones. */
  reorg(depth: number): Promise<void>
  stop(): Promise<void>
}

/** An anvil with its whole history, unlike an embedded chain, so that it can revert blocks. */
export async function startPlainAnvil(flags: readonly string[] = []): Promise<PlainAnvil> {
  // It stores states below its home directory, and leaves them there when it is killed.
  const home = await mkdtemp(join(tmpdir(), 'gdn-anvil-'))
  const child = spawn(findAnvil(), ['--port', '0', '--no-mining', '--gas-limit', '1000000000', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { HOME: home },
  })
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  const port = await new Promise<number>((resolve, reject) => {
    lines.on('line', (line) => {
      const found = /^Listening on 127\.0\.0\.1:(\d+)/.exec(line)
      if (found !== null) resolve(Number(found[1]))
    })
    lines.on('close', () => reject(new Error('anvil ended')))
  })
  const rpc = connectNode(port)
  const { call } = rpc
  return {
    url: `http://127.0.0.1:${port}`,
    accounts: await call<Hex[]>('eth_accounts'),
    request: call,
    async send(from, to, data) {
      const fields = { from, data, gas: '0x1c9c380', ...(to === null ? {} : { to }) }
      const hash = await call<Hex>('eth_sendTransaction', [fields])
      await call('evm_mine')
      const receipt = await call<{ status: Hex; gasUsed: Hex; blockNumber: Hex } | null>('eth_getTransactionReceipt', [
        hash,
      ])
      if (receipt?.status !== '0x1') throw new Error(`${hash} reverted or was not mined`)
      return receipt
    },
    async reorg(depth) {
      await call('anvil_reorg', [depth, []])
    },
    async stop() {
      rpc.close()
      child.kill('SIGKILL')
      await exited
      await rm(home, { recursive: true })
    },
  }
}
