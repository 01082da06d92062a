/** @module-tag slow */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getContractAddress, keccak256 } from 'viem'
import { describe, expect, test } from 'vitest'
import { findProcess } from '../../../../../src/core/process-identity.ts'
import { connectNode } from '../../../../../src/server/chain/evm/embedded/node-rpc.ts'
import { until } from '../../../../helpers/backend.ts'
import {
  GENESIS_TIMESTAMP,
  type MemoryBlockJournal,
  memoryBlockJournal,
} from '../../../../helpers/memory-block-journal.ts'
import { blockHash, COUNTER, killNode, newAccount, recordedPid, sign, start, temporaryDir } from './fixture.ts'

/** A few blocks of different kinds: transfers, a deployment, calls, a failing call. */
async function someBlocks(journal: MemoryBlockJournal, stateDir = temporaryDir()) {
  const { chain, events } = await start({ journal, stateDir })
  const account = newAccount()
  const contract = getContractAddress({ from: account.address, nonce: 0n })
  await chain.broadcast([await sign(account, 0, { to: null, data: COUNTER, gas: 200_000n })])
  await chain.broadcast([await sign(newAccount(), 0), await sign(account, 1, { to: contract, gas: 100_000n })])
  await chain.broadcast([await sign(account, 2, { to: null, data: '0xfe', gas: 100_000n })])
  return { chain, events, account, contract, nonce: 3 }
}

/** Returns whether the node that replaces a dead one answers requests. */
async function isNextAnswering(stateDir: string, dead: number): Promise<boolean> {
  const pid = recordedPid(stateDir)
  if (pid === undefined || pid === dead) return false
  const [, host, port] = /--host (\S+) --port (\d+)/.exec(findProcess(pid)?.command ?? '') ?? []
  const rpc = connectNode(Number(port), host)
  return await rpc
    .call('eth_chainId')
    .then(
      () => true,
      () => false,
    )
    .finally(() => rpc.close())
}

describe('an embedded chain after a crash', () => {
  test('replaces a killed node by one with the same blocks and state', async () => {
    const journal = memoryBlockJournal()
    const { chain, events, contract } = await someBlocks(journal)
    const before = await Promise.all([1, 2, 3].map((number) => blockHash(chain, number)))
    const dead = killNode(chain)
    expect(await Promise.all([1, 2, 3].map((number) => blockHash(chain, number)))).toEqual(before)
    expect(journal.hashes()).toEqual(before)
    expect(Number(await chain.request('eth_getStorageAt', [contract, '0x0', 'latest']))).toBe(1)
    expect(chain.pid).not.toBe(dead)
    expect(chain.height).toBe(3)
    expect(events).toContainEqual({ type: 'died', pid: dead, reason: 'was terminated by SIGKILL' })
  })

  test('has the same blocks after a normal restart', async () => {
    const journal = memoryBlockJournal()
    const { chain, account, nonce } = await someBlocks(journal)
    await chain.close()
    const { chain: reopened } = await start({ journal: journal.copy() })
    expect(await Promise.all([1, 2, 3].map((number) => blockHash(reopened, number)))).toEqual(journal.hashes())
    expect(await reopened.broadcast([await sign(account, nonce)])).toMatchObject([{ outcome: 'accepted' }])
    expect(reopened.height).toBe(4)
  })

  test('mines a journaled block at the next start if the process died before mining it', async () => {
    const journal = memoryBlockJournal()
    let found: MemoryBlockJournal | undefined
    journal.afterAppend = (number) => {
      if (number === 3) found = journal.copy()
    }
    const { account } = await someBlocks(journal)
    expect(found?.hashes()[2]).toBeNull()
    const { chain } = await start({ journal: found ?? memoryBlockJournal() })
    expect(found?.hashes()).toEqual(journal.hashes())
    const raw = journal.entries[2]?.transactions[0] ?? '0x'
    expect(await chain.broadcast([raw])).toEqual([{ hash: keccak256(raw), outcome: 'known' }])
    expect(await chain.request('eth_getTransactionCount', [account.address, 'latest'])).toBe('0x3')
  })

  test('stores a block hash at the next start if the process died before storing it', async () => {
    const journal = memoryBlockJournal()
    const found: MemoryBlockJournal[] = []
    journal.beforeRecordHash = () => found.push(journal.copy())
    await someBlocks(journal)
    for (const [index, copy] of found.entries()) {
      expect(copy.hashes().at(-1)).toBeNull()
      const { chain } = await start({ journal: copy })
      expect(copy.hashes()).toEqual(journal.hashes().slice(0, index + 1))
      await chain.close()
    }
    expect(found).toHaveLength(3)
  })

  test('confirms a broadcast and mines its block once if the node is killed during a journal write', async () => {
    const journal = memoryBlockJournal()
    const { chain, account, nonce } = await someBlocks(journal)
    journal.afterAppend = () => killNode(chain)
    const raw = await sign(account, nonce)
    expect(await chain.broadcast([raw])).toEqual([{ hash: keccak256(raw), outcome: 'accepted' }])
    journal.afterAppend = () => {}
    expect(journal.entries.filter(({ transactions }) => transactions.includes(raw))).toHaveLength(1)
    expect(await chain.receipts([keccak256(raw)])).toMatchObject([{ status: 'success', blockNumber: 4n }])
    expect(journal.hashes()[3]).toBe(await blockHash(chain, 4))
  })

  test('waits for a slow journal write before the next node reads the journal', async () => {
    const journal = memoryBlockJournal()
    const stateDir = temporaryDir()
    const { chain, account, nonce } = await someBlocks(journal, stateDir)
    journal.beforeAppend = async () => {
      const dead = killNode(chain)
      // Without the wait, the next node would read the journal before it has answered the test ten times.
      for (let answers = 0; answers < 10; answers++) await until(() => isNextAnswering(stateDir, dead), Boolean)
    }
    const raw = await sign(account, nonce)
    expect(await chain.broadcast([raw])).toEqual([{ hash: keccak256(raw), outcome: 'accepted' }])
    expect(await chain.receipts([keccak256(raw)])).toMatchObject([{ status: 'success', blockNumber: 4n }])
  })

  test('resubmits transactions if the node is killed before their block is journaled', async () => {
    const journal = memoryBlockJournal()
    const { chain, account, nonce } = await someBlocks(journal)
    killNode(chain)
    const raw = await sign(account, nonce)
    expect(await chain.broadcast([raw])).toEqual([{ hash: keccak256(raw), outcome: 'accepted' }])
    expect(journal.entries).toHaveLength(4)
  })

  test('passes pending reads on to the next node if a node dies', async () => {
    const { chain, account } = await someBlocks(memoryBlockJournal())
    const reads = Array.from({ length: 50 }, () =>
      chain.request('eth_getTransactionCount', [account.address, 'latest']),
    )
    killNode(chain)
    expect(new Set(await Promise.all(reads))).toEqual(new Set(['0x3']))
  })

  test('completes a stream of broadcasts while the node is killed repeatedly', async () => {
    const journal = memoryBlockJournal()
    const { chain, events } = await start({ journal })
    const account = newAccount()
    const raws = await Promise.all(Array.from({ length: 120 }, (_, nonce) => sign(account, nonce)))
    for (const [nonce, raw] of raws.entries()) {
      const sending = chain.broadcast([raw])
      if (nonce % 15 === 7) setTimeout(() => killNode(chain), nonce % 4)
      expect((await sending)[0]?.outcome).not.toBe('rejected')
    }
    expect(journal.entries.flatMap(({ transactions }) => transactions)).toEqual(raws)
    expect(await chain.request('eth_getTransactionCount', [account.address, 'latest'])).toBe('0x78')
    expect(events.filter(({ type }) => type === 'died')).toHaveLength(8)
  })

  test('rejects a broadcast without side effects if the journal write fails', async () => {
    const journal = memoryBlockJournal()
    const { chain, account, nonce } = await someBlocks(journal)
    journal.beforeAppend = () => {
      throw new Error('no space left')
    }
    const raw = await sign(account, nonce)
    await expect(chain.broadcast([raw])).rejects.toThrow('no space left')
    expect(await chain.request('eth_getTransactionByHash', [keccak256(raw)])).toBeNull()
    journal.beforeAppend = () => {}
    expect(await chain.broadcast([raw])).toEqual([{ hash: keccak256(raw), outcome: 'accepted' }])
    expect(journal.entries).toHaveLength(4)
  })

  test('keeps a block whose journal write reports failure after writing, and reports its bytes as known', async () => {
    const journal = memoryBlockJournal()
    const { chain, account, nonce } = await someBlocks(journal)
    journal.afterAppend = () => {
      throw new Error('connection lost')
    }
    const raw = await sign(account, nonce)
    await expect(chain.broadcast([raw])).rejects.toThrow('connection lost')
    journal.afterAppend = () => {}
    expect(await chain.broadcast([raw])).toEqual([{ hash: keccak256(raw), outcome: 'known' }])
    expect(chain.height).toBe(4)
  })

  test("reports a block hash that can't be stored, and restores it at the next start", async () => {
    const journal = memoryBlockJournal()
    journal.beforeRecordHash = (number) => {
      if (number === 2) throw new Error('busy')
    }
    const { chain, events } = await someBlocks(journal)
    expect(events).toContainEqual({ type: 'hash_not_recorded', number: 2, reason: 'busy' })
    const copy = journal.copy()
    await start({ journal: copy })
    expect(copy.hashes()[1]).toBe(await blockHash(chain, 2))
  })

  test('reverts blocks that were mined by others', async () => {
    const journal = memoryBlockJournal()
    const { chain, account, nonce } = await someBlocks(journal)
    await chain.request('evm_mine', [])
    expect(await chain.broadcast([await sign(account, nonce)])).toMatchObject([{ outcome: 'accepted' }])
    expect(chain.height).toBe(4)
    expect(Number(await chain.request('eth_blockNumber', []))).toBe(4)
    expect(await blockHash(chain, 4)).toBe(journal.hashes()[3])
  })

  test('replays transactions with a nonce gap that was filled later to the same chain', async () => {
    const journal = memoryBlockJournal()
    const { chain } = await start({ journal })
    const [one, two] = [newAccount(), newAccount()]
    await chain.broadcast([await sign(one, 1), await sign(two, 2)])
    expect(await chain.request('eth_getTransactionCount', [one.address, 'latest'])).toBe('0x0')
    killNode(chain)
    await chain.broadcast([await sign(one, 0), await sign(two, 0)])
    await chain.broadcast([await sign(two, 1)])
    expect(journal.entries.map(({ transactions }) => transactions.length)).toEqual([2, 2, 1])
    const { chain: again } = await start({ journal: journal.copy() })
    for (const { address } of [one, two]) {
      for (const node of [chain, again]) {
        const count = await node.request('eth_getTransactionCount', [address, 'latest'])
        expect(count).toBe(address === one.address ? '0x2' : '0x3')
      }
    }
    expect(await blockHash(again, 3)).toBe(await blockHash(chain, 3))
  })
})

describe('a journal that cannot be replayed', () => {
  const damage: [string, (journal: MemoryBlockJournal) => void, RegExp][] = [
    [
      'another hash',
      ({ entries }) => Object.assign(entries[1] ?? {}, { hash: `0x${'12'.repeat(32)}` }),
      /block 2 has the hash/,
    ],
    [
      'a lost transaction',
      ({ entries }) => Object.assign(entries[1] ?? {}, { transactions: [] }),
      /block 2 has the hash/,
    ],
    [
      'another timestamp',
      ({ entries }) => Object.assign(entries[2] ?? {}, { timestamp: GENESIS_TIMESTAMP }),
      /block 3/,
    ],
    ['a lost block', ({ entries }) => entries.splice(1, 1), /block 2 is missing/],
    [
      'a cut transaction',
      ({ entries }) => Object.assign(entries[0] ?? {}, { transactions: ['0x02f8'] }),
      /block 1 is now rejected/,
    ],
  ]
  test.each(damage)(
    '%s aborts the start with an error that names the block, and leaves no process',
    async (_, apply, words) => {
      const journal = memoryBlockJournal()
      await someBlocks(journal)
      const copy = journal.copy()
      apply(copy)
      const stateDir = temporaryDir()
      await expect(start({ journal: copy, stateDir })).rejects.toMatchObject({
        code: 'data_dir',
        message: expect.stringMatching(words),
        hint: expect.stringContaining('gdn local reset'),
      })
      expect(readdirSync(stateDir).filter((name) => name.endsWith('.pid'))).toEqual([])
    },
  )

  test('a different genesis time aborts the start', async () => {
    const journal = memoryBlockJournal()
    await someBlocks(journal)
    const moved = { ...journal.copy(), genesisTimestamp: GENESIS_TIMESTAMP - 1 }
    await expect(start({ journal: moved })).rejects.toMatchObject({ code: 'data_dir' })
  })
})

describe('a binary that cannot run', () => {
  test('is reported with the requirements of anvil', async () => {
    const stateDir = temporaryDir()
    const binary = join(stateDir, 'anvil')
    writeFileSync(binary, '#!/no/such/loader\n', { mode: 0o755 })
    await expect(start({ stateDir, binary })).rejects.toMatchObject({
      code: 'native_missing',
      hint: expect.stringContaining('glibc 2.35'),
    })
  })

  test("is reported with the loader's message if libc is too old", async () => {
    const stateDir = temporaryDir()
    const binary = join(stateDir, 'anvil')
    const words = "anvil: /lib/libc.so.6: version `GLIBC_2.35' not found"
    writeFileSync(binary, `#!/bin/sh\ncat >&2 <<'END'\n${words}\nEND\nexit 1\n`, { mode: 0o755 })
    await expect(start({ stateDir, binary })).rejects.toMatchObject({
      code: 'native_missing',
      message: expect.stringContaining("GLIBC_2.35' not found"),
    })
  })

  test('is reported as unreachable after several attempts if it exits for another reason', async () => {
    const stateDir = temporaryDir()
    const binary = join(stateDir, 'anvil')
    writeFileSync(binary, '#!/bin/sh\necho attempt >> attempts\nexit 3\n', { mode: 0o755 })
    await expect(start({ stateDir, binary })).rejects.toMatchObject({ code: 'unreachable' })
    expect(readFileSync(join(stateDir, 'polygon-home', 'attempts'), 'utf8').split('\n')).toHaveLength(3 + 1)
  })
})
