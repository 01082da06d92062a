/** @module-tag slow */
import { getContractAddress, keccak256 } from 'viem'
import { describe, expect, test } from 'vitest'
import { GENESIS_TIMESTAMP, memoryBlockJournal } from '../../../../helpers/memory-block-journal.ts'
import { blockHash, COUNTER, NOON, newAccount, sign, start } from './fixture.ts'

interface Block {
  transactions: string[]
  timestamp: string
}

describe('broadcasting on an embedded chain', () => {
  test('mines fifty simultaneous broadcasts in the order of the calls', async () => {
    const journal = memoryBlockJournal()
    const { chain } = await start({ journal })
    const raws = await Promise.all(Array.from({ length: 50 }, () => sign(newAccount(), 0)))
    const outcomes = await Promise.all(raws.map((raw) => chain.broadcast([raw])))
    expect(outcomes.flat().map(({ hash }) => hash)).toEqual(raws.map((raw) => keccak256(raw)))
    expect(outcomes.flat().every(({ outcome }) => outcome === 'accepted')).toBe(true)
    expect(journal.entries.flatMap(({ transactions }) => transactions)).toEqual(raws)
    const mined: string[] = []
    for (let number = 1; number <= chain.height; number++) {
      const block = await chain.request<Block>('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])
      mined.push(...block.transactions)
    }
    expect(mined).toEqual(raws.map((raw) => keccak256(raw)))
  })

  test('mines hundreds of transactions of new senders in one broadcast in the given order', async () => {
    const { chain } = await start()
    const raws = await Promise.all(Array.from({ length: 200 }, () => sign(newAccount(), 0)))
    await chain.broadcast(raws)
    const block = await chain.request<Block>('eth_getBlockByNumber', ['latest', false])
    expect(block.transactions).toEqual(raws.map((raw) => keccak256(raw)))
  })

  test('returns one outcome for each transaction of a call, in order', async () => {
    const { chain } = await start()
    const account = newAccount()
    const good = await sign(account, 0)
    const poor = await sign(newAccount(), 0, { value: 10n ** 30n })
    const next = await sign(account, 1)
    expect(await chain.broadcast([good, poor, next])).toEqual([
      { hash: keccak256(good), outcome: 'accepted' },
      { hash: keccak256(poor), outcome: 'rejected', reason: expect.stringContaining('Insufficient funds') },
      { hash: keccak256(next), outcome: 'accepted' },
    ])
    expect(await chain.broadcast([])).toEqual([])
  })

  test('reports repeated bytes as known, without a second transaction', async () => {
    const journal = memoryBlockJournal()
    const { chain } = await start({ journal })
    const account = newAccount()
    const raw = await sign(account, 0, { value: 1n })
    const hash = keccak256(raw)
    const [twice, other] = await Promise.all([chain.broadcast([raw, raw]), chain.broadcast([raw])])
    expect(twice).toEqual([
      { hash, outcome: 'accepted' },
      { hash, outcome: 'known' },
    ])
    expect(other).toEqual([{ hash, outcome: 'known' }])
    expect(await chain.broadcast([raw])).toEqual([{ hash, outcome: 'known' }])
    expect(journal.entries.flatMap(({ transactions }) => transactions)).toEqual([raw])
    expect(await chain.request('eth_getTransactionCount', [account.address, 'latest'])).toBe('0x1')
  })

  test('rejects another transaction with a used nonce', async () => {
    const { chain } = await start()
    const account = newAccount()
    await chain.broadcast([await sign(account, 0)])
    const [outcome] = await chain.broadcast([await sign(account, 0, { value: 5n })])
    expect(outcome).toMatchObject({ outcome: 'rejected', reason: 'nonce too low' })
  })

  test('rejects an invalid transaction with a reason, without a journal entry or a block', async () => {
    const journal = memoryBlockJournal()
    const { chain } = await start({ journal })
    const account = newAccount()
    const otherChain = await account.signTransaction({
      chainId: 1,
      nonce: 0,
      to: account.address,
      gas: 21_000n,
      gasPrice: 10n ** 10n,
    })
    const invalid = [
      await sign(account, 0, { maxFeePerGas: 1n }),
      await sign(account, 0, { gas: 20_000n }),
      await sign(account, 0, { gas: 2_000_000_000n }),
      otherChain,
      '0x02f8',
      '0x',
      '0xdeadbeef',
    ] as const
    const outcomes = await chain.broadcast(invalid)
    expect(outcomes.map((one) => one.outcome)).toEqual(invalid.map(() => 'rejected'))
    for (const one of outcomes) expect(one).toMatchObject({ reason: expect.stringMatching(/\w+ \w+/) })
    expect(journal.entries).toEqual([])
    expect(chain.height).toBe(0)
  })

  test('lets an account without funds pay and deploy a contract', async () => {
    const { chain } = await start()
    const account = newAccount()
    const deploy = await sign(account, 0, { to: null, data: COUNTER, gas: 200_000n })
    const contract = getContractAddress({ from: account.address, nonce: 0n })
    await chain.broadcast([deploy])
    await chain.broadcast([await sign(account, 1, { to: contract, gas: 100_000n })])
    expect(Number(await chain.request('eth_getStorageAt', [contract, '0x0', 'latest']))).toBe(1)
    const [receipt] = await chain.receipts([keccak256(deploy)])
    expect(receipt).toEqual({
      transactionHash: keccak256(deploy),
      blockNumber: 1n,
      blockHash: await blockHash(chain, 1),
      gasUsed: expect.any(BigInt),
      feePaid: expect.any(BigInt),
      dataFee: 0n,
      status: 'success',
    })
  })

  test('returns receipts in the order of the hashes, null for a transaction without a block', async () => {
    const { chain } = await start()
    const account = newAccount()
    const reverting = await sign(newAccount(), 0, { to: null, data: '0xfe', gas: 100_000n })
    const raws = [await sign(account, 0), reverting, await sign(account, 1)]
    await chain.broadcast(raws)
    const unknown = keccak256('0x01')
    const receipts = await chain.receipts([...raws.map((raw) => keccak256(raw)), unknown])
    expect(receipts.map((receipt) => receipt?.status)).toEqual(['success', 'reverted', 'success', undefined])
    expect(await chain.receipts([])).toEqual([])
  })

  test('spreads more gas than a block holds over several blocks, in order and completely', async () => {
    const journal = memoryBlockJournal()
    const { chain } = await start({ journal })
    const account = newAccount()
    // 0xfe burns all of its gas. The small transaction would fit where the one before it doesn't.
    const burn = { to: null, data: '0xfe', gas: 16_000_000n } as const
    const raws = await Promise.all(
      Array.from({ length: 80 }, (_, nonce) => sign(account, nonce, nonce === 65 ? {} : burn)),
    )
    const outcomes = await chain.broadcast(raws)
    expect(outcomes.every(({ outcome }) => outcome === 'accepted')).toBe(true)
    expect(journal.entries.length).toBeGreaterThan(1)
    expect(journal.entries.flatMap(({ transactions }) => transactions)).toEqual(raws)
    expect((await chain.receipts(raws.map((raw) => keccak256(raw)))).every((receipt) => receipt !== null)).toBe(true)
    const { baseFeePerGas } = await chain.request<{ baseFeePerGas: string[] }>('eth_feeHistory', ['0x4', 'latest', []])
    const fees = baseFeePerGas.map(Number)
    // Full blocks would raise the base fee above that of transactions signed already.
    expect(fees).toEqual([...fees].sort((a, b) => b - a))
  })

  test('mines all transactions that a filled nonce gap releases, even if they need several blocks', async () => {
    const journal = memoryBlockJournal()
    const { chain } = await start({ journal })
    const account = newAccount()
    const burn = (nonce: number) => sign(account, nonce, { to: null, data: '0xfe', gas: 16_000_000n })
    const gapped = await Promise.all(Array.from({ length: 80 }, (_, index) => burn(index + 1)))
    await chain.broadcast(gapped)
    expect(await chain.request('eth_getTransactionCount', [account.address, 'latest'])).toBe('0x0')
    await chain.broadcast([await burn(0)])
    expect(await chain.request('eth_getTransactionCount', [account.address, 'latest'])).toBe('0x51')
    const { chain: restarted } = await start({ journal: journal.copy() })
    expect(restarted.height).toBe(chain.height)
    expect(await blockHash(restarted, restarted.height)).toBe(await blockHash(chain, chain.height))
  })

  test('journals a transaction that is sent as a plain request', async () => {
    const journal = memoryBlockJournal()
    const { chain } = await start({ journal })
    const raw = await sign(newAccount(), 0)
    expect(await chain.request('eth_sendRawTransaction', [raw])).toBe(keccak256(raw))
    expect(journal.entries.map(({ transactions }) => transactions)).toEqual([[raw]])
  })

  test('rejects a request with the message and code of the node', async () => {
    const { chain } = await start()
    await expect(chain.request('eth_noSuchThing', [])).rejects.toMatchObject({
      name: 'RpcError',
      code: -32601,
      message: expect.stringContaining('Method not found'),
    })
  })
})

describe('timestamps of blocks', () => {
  const timestamps = (journal: ReturnType<typeof memoryBlockJournal>) =>
    journal.entries.map(({ timestamp }) => timestamp)

  test('are that of the clock for all blocks of a second', async () => {
    const journal = memoryBlockJournal()
    let clock = NOON
    const { chain } = await start({ journal, now: () => clock })
    const account = newAccount()
    for (let nonce = 0; nonce < 20; nonce++) await chain.broadcast([await sign(account, nonce)])
    expect(new Set(timestamps(journal))).toEqual(new Set([NOON / 1000]))
    clock += 1_999
    await chain.broadcast([await sign(account, 20)])
    expect(timestamps(journal).at(-1)).toBe(NOON / 1000 + 1)
    const block = await chain.request<Block>('eth_getBlockByNumber', ['latest', false])
    expect(Number(block.timestamp)).toBe(NOON / 1000 + 1)
  })

  test('stay constant after the clock is set back by ten minutes, until it catches up', async () => {
    const journal = memoryBlockJournal()
    let clock = NOON
    const { chain } = await start({ journal, now: () => clock })
    const account = newAccount()
    await chain.broadcast([await sign(account, 0)])
    clock -= 600_000
    await chain.broadcast([await sign(account, 1)])
    const { chain: reopened } = await start({ journal: journal.copy(), now: () => clock })
    expect(await reopened.broadcast([await sign(account, 2)])).toMatchObject([{ outcome: 'accepted' }])
    clock += 660_000
    await chain.broadcast([await sign(account, 2)])
    expect(timestamps(journal)).toEqual([NOON / 1000, NOON / 1000, NOON / 1000 + 60])
  })

  test('are that of genesis while the clock is before genesis', async () => {
    const journal = memoryBlockJournal()
    const { chain } = await start({ journal, now: () => 0 })
    expect(await chain.broadcast([await sign(newAccount(), 0)])).toMatchObject([{ outcome: 'accepted' }])
    expect(timestamps(journal)).toEqual([GENESIS_TIMESTAMP])
  })
})

test('completes a call on the latest block while many blocks are mined', async () => {
  const { chain } = await start()
  const account = newAccount()
  await chain.broadcast([await sign(account, 0, { to: null, data: COUNTER, gas: 200_000n })])
  const mining = (async () => {
    for (let nonce = 1; nonce <= 60; nonce++) await chain.broadcast([await sign(account, nonce)])
  })()
  let done = false
  void mining.finally(() => {
    done = true
  })
  const call = { to: account.address, data: '0x' }
  const outcomes: Promise<unknown>[] = []
  while (!done) {
    outcomes.push(chain.request('eth_call', [call, 'latest']))
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await mining
  expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['0x']))
})
