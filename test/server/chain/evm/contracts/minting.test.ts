import fc from 'fast-check'
import { CID } from 'multiformats/cid'
import * as digests from 'multiformats/hashes/digest'
import { hexToBytes } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { encodeMint } from '../../../../../src/server/chain/evm/collection.ts'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import { type Chain, type Collection, makeCollection, random, startChain, ZERO } from './fixture.ts'

const DAG_PB = 0x70
const SHA2_256 = 0x12

let chain: Chain
let collection: Collection

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())
beforeEach(async () => {
  collection = await makeCollection(chain)
})

/** The CID as the IPFS libraries write it. */
function cidOf(digest: Hex): string {
  return CID.createV1(DAG_PB, digests.create(SHA2_256, hexToBytes(digest))).toString()
}

describe('a batch', () => {
  test('mints its runs in order, one Transfer from the zero address for each token', async () => {
    const { events } = await collection.mint([
      { receiver: chain.alice, count: 2 },
      { receiver: chain.bob, count: 1 },
      { receiver: chain.alice, count: 1 },
    ])
    expect(events).toEqual([
      `Transfer(${ZERO}, ${chain.alice}, 1)`,
      `Transfer(${ZERO}, ${chain.alice}, 2)`,
      `Transfer(${ZERO}, ${chain.bob}, 3)`,
      `Transfer(${ZERO}, ${chain.alice}, 4)`,
    ])
    expect(await collection.read.balanceOf([chain.alice])).toBe(3n)
    expect(await collection.read.nextTokenId()).toBe(5n)
  })

  test('executed a second time reverts: the start id is no longer next', async () => {
    const data = encodeMint({ startId: 1n, runs: [{ receiver: chain.alice, count: 3 }], digest: random(32) })
    await chain.send(chain.operator, collection.address, data)
    const again = await chain.node.send({ from: chain.operator, to: collection.address, data })
    expect(again.status).toBe('reverted')
    expect(await chain.revertOf(chain.operator, collection.address, data)).toBe('StaleStartId')
    expect(await collection.read.totalSupply()).toBe(3n)
  })

  test.each([0n, 2n, 2n ** 256n - 1n])('that starts at %s where 1 is next reverts', async (startId) => {
    expect(await collection.mintRevert({ startId })).toBe('StaleStartId')
  })

  test('has a directory and at least one token', async () => {
    expect(await collection.mintRevert({ digest: `0x${'00'.repeat(32)}` })).toBe('EmptyDigest')
    expect(await collection.mintRevert({ runs: [] })).toBe('EmptyBatch')
    const none = [
      { receiver: chain.bob, count: 1 },
      { receiver: chain.alice, count: 0 },
    ]
    expect(await collection.mintRevert({ runs: none })).toBe('MintZeroQuantity')
  })

  test('gives nothing to the zero address', async () => {
    const runs = [
      { receiver: chain.alice, count: 1 },
      { receiver: ZERO, count: 1 },
    ]
    expect(await collection.mintRevert({ runs })).toBe('MintToZeroAddress')
  })

  test('has as many counts as receivers', async () => {
    const args = [1n, [chain.alice, chain.bob], [1n], random(32)] as const
    expect(await collection.revertOf(chain.operator, 'mint', args)).toBe('LengthMismatch')
    const more = [1n, [chain.alice], [1n, 1n], random(32)] as const
    expect(await collection.revertOf(chain.operator, 'mint', more)).toBe('LengthMismatch')
  })

  test('has 200 tokens at most, however they are spread', async () => {
    const full = [
      { receiver: chain.alice, count: 199 },
      { receiver: chain.bob, count: 1 },
    ]
    expect(await collection.mintRevert({ runs: full })).toBeNull()
    expect(await collection.mintRevert({ runs: [...full, { receiver: chain.carol, count: 1 }] })).toBe('BatchTooLarge')
    expect(await collection.mintRevert({ runs: [{ receiver: chain.alice, count: 201 }] })).toBe('BatchTooLarge')
    const single = Array.from({ length: 201 }, () => ({ receiver: chain.alice, count: 1 }))
    expect(await collection.mintRevert({ runs: single })).toBe('BatchTooLarge')
    const overflowing = [1n, [chain.alice, chain.bob], [2n ** 256n - 1n, 2n], random(32)] as const
    expect(await collection.revertOf(chain.operator, 'mint', overflowing)).toBe('BatchTooLarge')
  })

  test('of one holder is cut in pieces of 10: its last token costs no fortune to transfer', async () => {
    await collection.mint([{ receiver: chain.alice, count: 200 }])
    // ERC721A looks for the owner backwards, 2,100 gas a step, and a transfer opens the next slot.
    const last = await collection.send(chain.alice, 'transferFrom', [chain.alice, chain.bob, 200n])
    expect(last.gasUsed).toBeLessThan(110_000n)
    expect(await collection.read.ownerOf([200n])).toBe(chain.bob)
    const neighbours = await Promise.all([1n, 10n, 11n, 199n].map((id) => collection.read.ownerOf([id])))
    expect(new Set(neighbours)).toEqual(new Set([chain.alice]))
  })
})

describe('the right to mint', () => {
  test('is the operators’ alone, not the owner’s, the admin’s or a stranger’s', async () => {
    for (const from of [chain.owner, chain.admin, chain.stranger, chain.alice]) {
      expect(await collection.mintRevert({}, from)).toBe('NotOperator')
    }
    expect(await collection.mintRevert({}, chain.operator)).toBeNull()
  })

  test('ends while the owner has switched the API off, and comes back with it', async () => {
    await collection.send(chain.owner, 'setEnableApi', [false])
    expect(await collection.mintRevert({})).toBe('ApiDisabled')
    await collection.send(chain.owner, 'setEnableApi', [true])
    expect(await collection.mintRevert({})).toBeNull()
  })

  test('is not there in a collection made without the API', async () => {
    const closed = await makeCollection(chain, { enableApi: false })
    expect(await closed.mintRevert({})).toBe('ApiDisabled')
  })

  test('is told before a wrong start id: trying again would not help', async () => {
    expect(await collection.mintRevert({ startId: 7n }, chain.stranger)).toBe('NotOperator')
    await collection.send(chain.owner, 'setEnableApi', [false])
    expect(await collection.mintRevert({ startId: 7n })).toBe('ApiDisabled')
  })
})

describe('tokenURI', () => {
  test('names the directory of the token’s batch and its index there, across batches', async () => {
    const batches = [
      { digest: random(32), count: 1 },
      { digest: random(32), count: 12 },
      { digest: random(32), count: 3 },
    ]
    for (const { digest, count } of batches) await collection.mint([{ receiver: chain.alice, count }], digest)
    const uris = await Promise.all(
      Array.from({ length: 16 }, (_, index) => collection.read.tokenURI([BigInt(index + 1)])),
    )
    expect(uris).toEqual(
      batches.flatMap(({ digest, count }) =>
        Array.from({ length: count }, (_, index) => `ipfs://${cidOf(digest)}/${index}.json`),
      ),
    )
  })

  test('stays the same when the token moves', async () => {
    await collection.mint([{ receiver: chain.alice, count: 3 }])
    const before = await collection.read.tokenURI([2n])
    await collection.send(chain.alice, 'transferFrom', [chain.alice, chain.bob, 2n])
    expect(await collection.read.tokenURI([2n])).toBe(before)
  })

  test('finds the head of the largest batch', async () => {
    const digest = random(32)
    await collection.mint([{ receiver: chain.alice, count: 200 }], digest)
    expect(await collection.read.tokenURI([200n])).toBe(`ipfs://${cidOf(digest)}/199.json`)
  })

  test('is the CID that the IPFS libraries write, for any digest', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 32, maxLength: 32 }), async (bytes) => {
        const digest: Hex = `0x${Buffer.from(bytes).toString('hex')}`
        fc.pre(BigInt(digest) !== 0n)
        const id = await collection.read.nextTokenId()
        await collection.mint([{ receiver: chain.alice, count: 1 }], digest)
        expect(await collection.read.tokenURI([id])).toBe(`ipfs://${cidOf(digest)}/0.json`)
      }),
      { numRuns: 30 },
    )
  })

  test('there is none for a token that does not exist', async () => {
    await collection.mint([{ receiver: chain.alice, count: 2 }])
    await expect(collection.read.tokenURI([0n])).rejects.toThrow('URIQueryForNonexistentToken')
    await expect(collection.read.tokenURI([3n])).rejects.toThrow('URIQueryForNonexistentToken')
  })
})
