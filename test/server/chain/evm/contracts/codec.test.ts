import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  encodeGrant,
  encodeMint,
  encodeTransfer,
  MAX_BATCH,
  type MintRun,
} from '../../../../../src/server/chain/evm/collection.ts'
import { type Reader, readCollectionState, readOwnerOf } from '../../../../../src/server/chain/evm/collection-reads.ts'
import { encodeDeployFactory, encodeMake } from '../../../../../src/server/chain/evm/factory.ts'
import {
  deployFactoryGasLimit,
  grantGasLimit,
  makeGasLimit,
  mintGasLimit,
  TRANSFER_GAS_LIMIT,
} from '../../../../../src/server/chain/evm/gas-limits.ts'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import { anInit, type Chain, makeCollection, random, startChain, ZERO } from './fixture.ts'

let chain: Chain

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())

test('MAX_BATCH equals that of the contract', async () => {
  const collection = await makeCollection(chain)
  expect(await collection.read.MAX_BATCH()).toBe(BigInt(MAX_BATCH))
})

describe('reads', () => {
  test('return owner, URI and state from the chain', async () => {
    const collection = await makeCollection(chain)
    await collection.mint([{ receiver: chain.alice, count: 2 }])
    expect(await readOwnerOf(chain.node, collection.address, 2n)).toBe(chain.alice)
    expect(await collection.read.tokenURI([2n])).toMatch(/^ipfs:\/\/bafybei[a-z2-7]{52}\/1\.json$/)
    expect(await readCollectionState(chain.node, collection.address)).toEqual({
      owner: chain.owner,
      enableApi: true,
      enableTransfer: false,
      revoked: false,
      locked: false,
      nextTokenId: 3n,
    })
  })

  test('return the state at a block', async () => {
    const collection = await makeCollection(chain)
    await collection.mint([{ receiver: chain.alice, count: 2 }])
    const asked: unknown[] = []
    const reader: Reader = {
      request: (method, params) => {
        asked.push(params[1])
        return chain.node.request(method, params)
      },
    }
    const block = await chain.node.request<Hex>('eth_blockNumber', [])
    expect(await readOwnerOf(reader, collection.address, 2n, block)).toBe(chain.alice)
    expect(asked).toEqual([block])
  })

  test('return neither state nor owner without a deployed contract', async () => {
    expect(await readCollectionState(chain.node, chain.stranger)).toBeNull()
    await expect(readOwnerOf(chain.node, chain.stranger, 1n)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('reject for a token that does not exist', async () => {
    const { address } = await makeCollection(chain)
    await expect(readOwnerOf(chain.node, address, 1n)).rejects.toThrow('revert')
  })
})

describe('gas limits', () => {
  /** The highest ratio of limit to gas used; the sum of the limits decides what goes into one transaction. */
  const LOOSE = 1.15

  async function fits(transaction: { from: Hex; to?: Hex; data: Hex }, gas: bigint) {
    const { status, gasUsed } = await chain.node.send({ ...transaction, gas })
    expect(status).toBe('success')
    return Number(gas) / Number(gasUsed)
  }
  const fresh = (count: number, each = 1): MintRun[] =>
    Array.from({ length: count }, () => ({ receiver: dear(20), count: each }))

  test('suffice to deploy the factory', async () => {
    const operators = [dear(20), dear(20), dear(20)]
    const ratio = await fits(
      { from: chain.stranger, data: encodeDeployFactory(operators) },
      deployFactoryGasLimit(operators),
    )
    expect(ratio).toBeLessThan(LOOSE)
  })

  test.each([0, 1, 31, 32, 64, 100, 255, 1000])(
    'suffice to create a collection with a name of %i bytes',
    async (length) => {
      const init = anInit(dear(20), { requestId: dear(32), name: 'n'.repeat(length), symbol: 's'.repeat(length % 50) })
      const call = { from: chain.operator, to: chain.factory, data: encodeMake(init) }
      expect(await fits(call, makeGasLimit(init))).toBeLessThan(LOOSE)
    },
  )

  test.each([
    ['1 token', fresh(1)],
    ['2 receivers', fresh(2)],
    ['200 receivers', fresh(MAX_BATCH)],
    ['10 to one', fresh(1, 10)],
    ['11 to one', fresh(1, 11)],
    ['200 to one', fresh(1, MAX_BATCH)],
    ['20 receivers of 10', fresh(20, 10)],
    ['18 receivers of 11', fresh(18, 11)],
  ])('suffice to mint %s, locked or not', async (_, runs) => {
    for (const locked of [false, true]) {
      const { address } = await makeCollection(chain, { locked })
      const data = encodeMint({ startId: 1n, runs, digest: dear(32) })
      const call = { from: chain.operator, to: address, data }
      expect(await fits(call, mintGasLimit(runs, locked))).toBeLessThan(LOOSE)
    }
  })

  test('suffice to mint many runs to few receivers', async () => {
    const [one, two] = [dear(20), dear(20)]
    const runs = Array.from({ length: MAX_BATCH }, (_, index) => ({ receiver: index % 2 ? one : two, count: 1 }))
    const { address } = await makeCollection(chain)
    const data = encodeMint({ startId: 1n, runs, digest: dear(32) })
    expect(await fits({ from: chain.operator, to: address, data }, mintGasLimit(runs, false))).toBeLessThan(LOOSE)
  })

  test.each([1, 2, 10, 50, 200])('suffice to grant %i tokens', async (count) => {
    const { address } = await makeCollection(chain, { enableTransfer: true })
    const receivers = fresh(count).map((run) => run.receiver)
    const data = encodeGrant({ startId: 1n, sender: dear(20), receivers, digest: dear(32) })
    expect(await fits({ from: chain.operator, to: address, data }, grantGasLimit(receivers))).toBeLessThan(LOOSE)
  })

  test('suffice to transfer the most expensive token: late in a run, approved, to a new receiver', async () => {
    const { address, mint, send } = await makeCollection(chain, { enableTransfer: true })
    await mint([{ receiver: chain.alice, count: 10 }])
    await send(chain.alice, 'approve', [chain.bob, 9n])
    const data = encodeTransfer({ from: chain.alice, to: dear(20), tokenId: 9n })
    expect(await fits({ from: chain.operator, to: address, data }, TRANSFER_GAS_LIMIT)).toBeLessThan(LOOSE)
  })

  test('let 200 new receivers fit into 10 million gas, and any batch into a transaction’s 16.7 million', () => {
    expect(mintGasLimit(fresh(MAX_BATCH), false)).toBeLessThan(10_000_000n)
    expect(mintGasLimit(fresh(MAX_BATCH))).toBeLessThan(16_700_000n)
    expect(grantGasLimit(fresh(MAX_BATCH).map((run) => run.receiver))).toBeLessThan(16_700_000n)
  })

  test('treat a collection as locked by default', () => {
    expect(mintGasLimit([{ receiver: ZERO, count: 5 }])).toBe(mintGasLimit([{ receiver: ZERO, count: 5 }], true))
  })

  /** Random bytes without zeros, which cost more gas as call data. */
  function dear(bytes: number): Hex {
    return random(bytes).replace(/00/g, 'ff') as Hex
  }
})
