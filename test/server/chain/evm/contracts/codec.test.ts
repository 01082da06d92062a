/** @module-tag slow */
import { numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  decodeMint,
  encodeGrant,
  encodeMint,
  encodeTransfer,
  MAX_TOKENS_PER_CALL,
  type ReceiverGroup,
} from '../../../../../src/server/chain/evm/collection.ts'
import { type Reader, readCollectionState, readOwnerOf } from '../../../../../src/server/chain/evm/collection-reads.ts'
import {
  decodeFreeze,
  decodeUpdate,
  encodeBurn,
  encodeCommitProvenance,
  encodeFreeze,
  encodeUpdate,
} from '../../../../../src/server/chain/evm/collection-updates.ts'
import { encodeDeployFactory, encodeMake } from '../../../../../src/server/chain/evm/factory.ts'
import {
  BURN_GAS_LIMIT,
  COMMIT_PROVENANCE_GAS_LIMIT,
  deployFactoryGasLimit,
  freezeGasLimit,
  grantGasLimit,
  makeGasLimit,
  mintGasLimit,
  TRANSFER_GAS_LIMIT,
  updateGasLimit,
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
  expect(await collection.read.MAX_BATCH()).toBe(BigInt(MAX_TOKENS_PER_CALL))
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
      maxSupply: 0n,
    })
  })

  test('return the state at a block', async () => {
    const collection = await makeCollection(chain)
    await collection.mint([{ receiver: chain.alice, count: 2 }])
    const requests: unknown[] = []
    const reader: Reader = {
      request: (method, params) => {
        requests.push(params[1])
        return chain.node.request(method, params)
      },
    }
    const block = await chain.node.request<Hex>('eth_blockNumber', [])
    expect(await readOwnerOf(reader, collection.address, 2n, block)).toBe(chain.alice)
    expect(requests).toEqual([block])
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

describe('call data', () => {
  const digest = random(32)

  test('call data of an update and a freeze is decoded to its tokens, in order', () => {
    const tokenIds = [300n, 7n, 9n, 8n, 1n, 299n]
    const sorted = [1n, 7n, 8n, 9n, 299n, 300n]
    const update = encodeUpdate({ sequence: 12, tokenIds, digest })
    expect(decodeUpdate(update)).toEqual({ sequence: 12, tokenIds: sorted, digest })
    expect(decodeFreeze(encodeFreeze(tokenIds))).toEqual(sorted)
    expect(decodeUpdate(encodeFreeze(tokenIds))).toBeNull()
    expect(decodeFreeze(update)).toBeNull()
    expect(decodeMint(update)).toBeNull()
    expect(decodeUpdate('0x1234')).toBeNull()
    expect(decodeFreeze('0x1234')).toBeNull()
  })

  test('call data of a dynamic batch is decoded as such', () => {
    const groups = [{ receiver: ZERO, count: 2 }]
    const batch = { startId: 5n, sender: null, receivers: [ZERO, ZERO], digest }
    expect(decodeMint(encodeMint({ startId: 5n, groups, digest, dynamic: true }))).toEqual({ ...batch, dynamic: true })
    expect(decodeMint(encodeMint({ startId: 5n, groups, digest }))).toEqual({ ...batch, dynamic: false })
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
  const fresh = (count: number, each = 1): ReceiverGroup[] =>
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
    ['200 receivers', fresh(MAX_TOKENS_PER_CALL)],
    ['10 to one', fresh(1, 10)],
    ['11 to one', fresh(1, 11)],
    ['200 to one', fresh(1, MAX_TOKENS_PER_CALL)],
    ['20 receivers of 10', fresh(20, 10)],
    ['18 receivers of 11', fresh(18, 11)],
  ])('suffice to mint %s, locked or not', async (_, groups) => {
    for (const locked of [false, true]) {
      const { address } = await makeCollection(chain, { locked })
      const data = encodeMint({ startId: 1n, groups, digest: dear(32) })
      const call = { from: chain.operator, to: address, data }
      expect(await fits(call, mintGasLimit(groups, locked))).toBeLessThan(LOOSE)
    }
  })

  test('suffice to mint many runs to few receivers', async () => {
    const [one, two] = [dear(20), dear(20)]
    const groups = Array.from({ length: MAX_TOKENS_PER_CALL }, (_, index) => ({
      receiver: index % 2 ? one : two,
      count: 1,
    }))
    const { address } = await makeCollection(chain)
    const data = encodeMint({ startId: 1n, groups, digest: dear(32) })
    expect(await fits({ from: chain.operator, to: address, data }, mintGasLimit(groups, false))).toBeLessThan(LOOSE)
  })

  test.each([
    ['in a row', (receiver: Hex) => [receiver, receiver]],
    ['around a run of another', (receiver: Hex, other: Hex) => [receiver, other, receiver]],
    [
      'after many runs of others',
      (receiver: Hex, other: Hex) => [...Array(9).fill([receiver, other]).flat(), receiver],
    ],
  ])('suffice to mint two runs to one receiver %s', async (_, receiversOf) => {
    const groups = receiversOf(dear(20), dear(20)).map((receiver: Hex) => ({ receiver, count: 1 }))
    const { address } = await makeCollection(chain)
    const data = encodeMint({ startId: 1n, groups, digest: dear(32) })
    expect(await fits({ from: chain.operator, to: address, data }, mintGasLimit(groups, false))).toBeLessThan(LOOSE)
  })

  test.each([1, 2, 10, 50, 200])('suffice to grant %i tokens', async (count) => {
    const { address } = await makeCollection(chain, { enableTransfer: true })
    const receivers = fresh(count).map((run) => run.receiver)
    const data = encodeGrant({ startId: 1n, sender: dear(20), receivers, digest: dear(32) })
    expect(await fits({ from: chain.operator, to: address, data }, grantGasLimit(receivers))).toBeLessThan(LOOSE)
  })

  test('suffice to create a collection with a royalty', async () => {
    const init = anInit(dear(20), {
      requestId: dear(32),
      royaltyReceiver: dear(20),
      royaltyBps: 750n,
      maxSupply: 2n ** 64n - 1n,
    })
    const call = { from: chain.operator, to: chain.factory, data: encodeMake(init) }
    expect(await fits(call, makeGasLimit(init))).toBeLessThan(LOOSE)
  })

  test.each([
    ['1 token', 1, 1],
    ['200 tokens across the border of a bitmap', 200, 100],
  ])('suffice to mint a dynamic batch of %s', async (_, count, before) => {
    const { address, mint } = await makeCollection(chain)
    await mint([{ receiver: chain.alice, count: before }])
    const groups = fresh(1, count)
    const data = encodeMint({ startId: BigInt(before + 1), groups, digest: dear(32), dynamic: true })
    const limit = mintGasLimit(groups, false, true)
    expect(await fits({ from: chain.operator, to: address, data }, limit)).toBeLessThan(1.3)
  })

  /** A collection with 1,000 tokens, dynamic as a whole or by batch. */
  const withTokens = async (dynamic: boolean) => {
    const collection = await makeCollection(chain, { dynamic })
    const runs = [{ receiver: chain.alice, count: MAX_TOKENS_PER_CALL }]
    for (let batch = 0; batch < 5; batch++) await collection.mint(runs, dear(32), !dynamic)
    return collection
  }

  test.each([
    ['1 token', 1, 1],
    ['2 tokens', 2, 1],
    ['50 in a row', 50, 1],
    ['200 in a row', 200, 1],
    ['50 in as many slots', 50, 13],
    ['100 in as many slots', 100, 10],
    ['200 in half as many slots', 200, 5],
    ['200 runs in few slots', 200, 2],
    ['4 in as many bitmaps', 4, 256],
    ['2 runs of 2 in one slot', 4, 1, 2],
    ['50 runs of 2', 100, 1, 2],
    ['20 runs of 3', 60, 1, 3],
  ])('suffice to update and freeze %s', async (_, count, step, run = count) => {
    const at = (index: number) => BigInt(231 + index * step + Math.floor(index / run))
    const tokenIds = Array.from({ length: count }, (_, index) => (at(index) % 1000n) + 1n)
    for (const dynamic of [true, false]) {
      const { address } = await withTokens(dynamic)
      const data = encodeUpdate({ sequence: 1, tokenIds, digest: dear(32) })
      const update = { from: chain.operator, to: address, data }
      expect(await fits(update, updateGasLimit(tokenIds))).toBeLessThan(1.25)
      const freeze = { from: chain.operator, to: address, data: encodeFreeze(tokenIds) }
      expect(await fits(freeze, freezeGasLimit(tokenIds))).toBeLessThan(LOOSE)
    }
  })

  test('suffice to update any runs in one slot of revisions', async () => {
    const TOKENS = 10
    const subsets = Array.from({ length: 2 ** TOKENS - 1 }, (_, index) => index + 1)
    for (const dynamic of [true, false]) {
      const { address } = await withTokens(dynamic)
      const tooLow = []
      for (const subset of subsets) {
        const tokenIds = Array.from({ length: TOKENS }, (_, place) => BigInt(271 + place)).filter(
          (_, place) => subset & (1 << place),
        )
        const data = encodeUpdate({ sequence: 1, tokenIds, digest: dear(32) })
        const call = { from: chain.operator, to: address, data, gas: numberToHex(updateGasLimit(tokenIds)) }
        const isEnough = await chain.node.request('eth_call', [call, 'latest']).then(
          () => true,
          () => false,
        )
        if (!isEnough) tooLow.push(tokenIds.map(String))
      }
      expect(tooLow).toEqual([])
    }
  })

  test('suffice to burn the most expensive token, and to commit to a provenance hash', async () => {
    const { address, mint, send } = await makeCollection(chain, { enableBurn: true })
    await mint([{ receiver: chain.alice, count: 10 }])
    await send(chain.alice, 'approve', [chain.bob, 9n])
    const call = { from: chain.operator, to: address }
    const burn = { ...call, data: encodeBurn({ holder: chain.alice, tokenId: 9n }) }
    expect(await fits(burn, BURN_GAS_LIMIT)).toBeLessThan(LOOSE)
    const commit = { ...call, data: encodeCommitProvenance(dear(32)) }
    expect(await fits(commit, COMMIT_PROVENANCE_GAS_LIMIT)).toBeLessThan(LOOSE)
  })

  test('suffice to transfer the most expensive token: late in a run, approved, to a new receiver', async () => {
    const { address, mint, send } = await makeCollection(chain, { enableTransfer: true })
    await mint([{ receiver: chain.alice, count: 10 }])
    await send(chain.alice, 'approve', [chain.bob, 9n])
    const data = encodeTransfer({ from: chain.alice, to: dear(20), tokenId: 9n })
    expect(await fits({ from: chain.operator, to: address, data }, TRANSFER_GAS_LIMIT)).toBeLessThan(LOOSE)
  })

  test('let 200 new receivers fit into 10 million gas, and any batch into a transaction’s 16.7 million', () => {
    expect(mintGasLimit(fresh(MAX_TOKENS_PER_CALL), false)).toBeLessThan(10_000_000n)
    expect(mintGasLimit(fresh(MAX_TOKENS_PER_CALL))).toBeLessThan(16_700_000n)
    expect(grantGasLimit(fresh(MAX_TOKENS_PER_CALL).map((run) => run.receiver))).toBeLessThan(16_700_000n)
  })

  test('treat a collection as locked by default', () => {
    expect(mintGasLimit([{ receiver: ZERO, count: 5 }])).toBe(mintGasLimit([{ receiver: ZERO, count: 5 }], true))
  })

  /** Random bytes without zeros, which cost more gas as call data. */
  function dear(bytes: number): Hex {
    return random(bytes).replace(/00/g, 'ff') as Hex
  }
})
