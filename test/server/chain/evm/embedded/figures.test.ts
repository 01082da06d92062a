import { execFileSync } from 'node:child_process'
import { getContractAddress, type Hex } from 'viem'
import { expect, test } from 'vitest'
import { memoryBlockJournal } from '../../../../helpers/memory-block-journal.ts'
import { COUNTER, newAccount, sign, start } from './fixture.ts'

const BLOCKS = 2_000
const PER_BLOCK = 3

/** Prints measured figures; asserts only that all of the work was done. */
test('measures 2,000 blocks, and replays them to the same chain', { timeout: 180_000 }, async () => {
  const figures: string[] = []
  const timed = async (label: string, transactions: number, work: () => Promise<unknown>) => {
    const since = performance.now()
    await work()
    const seconds = (performance.now() - since) / 1000
    figures.push(`${label}: ${(transactions / seconds).toFixed(0)} tx/s`)
  }
  const startedAt = performance.now()
  const journal = memoryBlockJournal()
  const { chain } = await start({ journal })
  figures.push(`spawn to serving: ${(performance.now() - startedAt).toFixed(0)} ms`)
  figures.push(`memory, empty chain: ${memoryOf(chain.pid)} MiB`)

  const account = newAccount()
  const contract = getContractAddress({ from: account.address, nonce: 0n })
  await chain.broadcast([await sign(account, 0, { to: null, data: COUNTER, gas: 200_000n })])
  const raws: Hex[] = []
  for (let nonce = 1; nonce < BLOCKS * PER_BLOCK; nonce++) {
    raws.push(await sign(account, nonce, { to: contract, gas: 60_000n }))
  }
  let at = 0
  const take = (count: number) => {
    at += count
    return raws.slice(at - count, at)
  }
  await timed('broadcast one after the other, one transaction each', 500, async () => {
    for (const raw of take(500)) await chain.broadcast([raw])
  })
  await timed('broadcast, 50 calls at once', 1_000, async () => {
    for (let round = 0; round < 20; round++) await Promise.all(take(50).map((raw) => chain.broadcast([raw])))
  })
  await timed('broadcast, 100 transactions a call', 1_000, async () => {
    for (let round = 0; round < 10; round++) await chain.broadcast(take(100))
  })
  while (chain.height < BLOCKS)
    await chain.broadcast(take(Math.max(1, Math.floor((raws.length - at) / (BLOCKS - chain.height)))))
  const total = journal.entries.reduce((sum, { transactions }) => sum + transactions.length, 0)
  figures.push(`memory with ${chain.height} blocks, ${total} transactions: ${memoryOf(chain.pid)} MiB`)

  const copy = journal.copy()
  await timed(`replay of ${chain.height} blocks`, total, async () => {
    const { chain: again } = await start({ journal: copy })
    expect(again.height).toBe(BLOCKS)
    expect(await again.request('eth_getBlockByNumber', ['latest', false])).toEqual(
      await chain.request('eth_getBlockByNumber', ['latest', false]),
    )
    expect(Number(await again.request('eth_getStorageAt', [contract, '0x0', 'latest']))).toBe(total - 1)
  })
  process.stdout.write(`\n${figures.map((line) => `  ${line}`).join('\n')}\n`)
})

function memoryOf(pid = 0): string {
  return (Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024).toFixed(0)
}
