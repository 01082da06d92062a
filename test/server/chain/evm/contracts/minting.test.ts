import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { encodeMint } from '../../../../../src/server/chain/evm/collection.ts'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import { type Chain, type Collection, cidOf, makeCollection, random, startChain, ZERO } from './fixture.ts'

let chain: Chain
let collection: Collection

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())
beforeEach(async () => {
  collection = await makeCollection(chain)
})

describe('a batch', () => {
  test('mints its runs in order, with one Transfer from the zero address for each token', async () => {
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

  test('reverts if it is executed a second time, as its start ID is no longer next', async () => {
    const data = encodeMint({ startId: 1n, groups: [{ receiver: chain.alice, count: 3 }], digest: random(32) })
    await chain.send(chain.operator, collection.address, data)
    const secondReceipt = await chain.node.send({ from: chain.operator, to: collection.address, data })
    expect(secondReceipt.status).toBe('reverted')
    expect(await chain.revertOf(chain.operator, collection.address, data)).toBe('StaleStartId')
    expect(await collection.read.totalSupply()).toBe(3n)
  })

  test.each([0n, 2n, 2n ** 256n - 1n])('reverts with the start ID %s if 1 is next', async (startId) => {
    expect(await collection.mintRevert({ startId })).toBe('StaleStartId')
  })

  test('requires a directory and at least one token', async () => {
    expect(await collection.mintRevert({ digest: `0x${'00'.repeat(32)}` })).toBe('EmptyDigest')
    expect(await collection.mintRevert({ groups: [] })).toBe('EmptyBatch')
    const none = [
      { receiver: chain.bob, count: 1 },
      { receiver: chain.alice, count: 0 },
    ]
    expect(await collection.mintRevert({ groups: none })).toBe('MintZeroQuantity')
  })

  test('reverts for the zero address', async () => {
    const groups = [
      { receiver: chain.alice, count: 1 },
      { receiver: ZERO, count: 1 },
    ]
    expect(await collection.mintRevert({ groups })).toBe('MintToZeroAddress')
  })

  test('requires as many counts as receivers', async () => {
    const args = [1n, [chain.alice, chain.bob], [1n], random(32)] as const
    expect(await collection.revertOf(chain.operator, 'mint', args)).toBe('LengthMismatch')
    const more = [1n, [chain.alice], [1n, 1n], random(32)] as const
    expect(await collection.revertOf(chain.operator, 'mint', more)).toBe('LengthMismatch')
  })

  test('has at most 200 tokens in all', async () => {
    const full = [
      { receiver: chain.alice, count: 199 },
      { receiver: chain.bob, count: 1 },
    ]
    expect(await collection.mintRevert({ groups: full })).toBeNull()
    expect(await collection.mintRevert({ groups: [...full, { receiver: chain.carol, count: 1 }] })).toBe(
      'BatchTooLarge',
    )
    expect(await collection.mintRevert({ groups: [{ receiver: chain.alice, count: 201 }] })).toBe('BatchTooLarge')
    const single = Array.from({ length: 201 }, () => ({ receiver: chain.alice, count: 1 }))
    expect(await collection.mintRevert({ groups: single })).toBe('BatchTooLarge')
    const overflowing = [1n, [chain.alice, chain.bob], [2n ** 256n - 1n, 2n], random(32)] as const
    expect(await collection.revertOf(chain.operator, 'mint', overflowing)).toBe('BatchTooLarge')
  })

  test('is split into parts of 10 per holder, so that its last token is cheap to transfer', async () => {
    await collection.mint([{ receiver: chain.alice, count: 200 }])
    // ERC721A searches backwards for the owner at 2,100 gas per step, and a transfer writes the next slot.
    const last = await collection.send(chain.alice, 'transferFrom', [chain.alice, chain.bob, 200n])
    expect(last.gasUsed).toBeLessThan(110_000n)
    expect(await collection.read.ownerOf([200n])).toBe(chain.bob)
    const neighbors = await Promise.all([1n, 10n, 11n, 199n].map((id) => collection.read.ownerOf([id])))
    expect(new Set(neighbors)).toEqual(new Set([chain.alice]))
  })
})

describe('the right to mint', () => {
  test('belongs to operators only, not to the owner, the admin or strangers', async () => {
    for (const from of [chain.owner, chain.admin, chain.stranger, chain.alice]) {
      expect(await collection.mintRevert({}, from)).toBe('NotOperator')
    }
    expect(await collection.mintRevert({}, chain.operator)).toBeNull()
  })

  test('is disabled and enabled with the API flag by the owner', async () => {
    await collection.send(chain.owner, 'setEnableApi', [false])
    expect(await collection.mintRevert({})).toBe('ApiDisabled')
    await collection.send(chain.owner, 'setEnableApi', [true])
    expect(await collection.mintRevert({})).toBeNull()
  })

  test('doesn’t exist in a collection created without the API', async () => {
    const closed = await makeCollection(chain, { enableApi: false })
    expect(await closed.mintRevert({})).toBe('ApiDisabled')
  })

  test('is checked before the start ID, as a retry wouldn’t help', async () => {
    expect(await collection.mintRevert({ startId: 7n }, chain.stranger)).toBe('NotOperator')
    await collection.send(chain.owner, 'setEnableApi', [false])
    expect(await collection.mintRevert({ startId: 7n })).toBe('ApiDisabled')
  })
})

describe('tokenURI', () => {
  test('is the directory of the token’s batch and the index in it', async () => {
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

  test('doesn’t change with a transfer', async () => {
    await collection.mint([{ receiver: chain.alice, count: 3 }])
    const before = await collection.read.tokenURI([2n])
    await collection.send(chain.alice, 'transferFrom', [chain.alice, chain.bob, 2n])
    expect(await collection.read.tokenURI([2n])).toBe(before)
  })

  test('works for the largest batch', async () => {
    const digest = random(32)
    await collection.mint([{ receiver: chain.alice, count: 200 }], digest)
    expect(await collection.read.tokenURI([200n])).toBe(`ipfs://${cidOf(digest)}/199.json`)
  })

  test('has the CID that the IPFS libraries format, for any digest', async () => {
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

  test('reverts for a token that does not exist', async () => {
    await collection.mint([{ receiver: chain.alice, count: 2 }])
    await expect(collection.read.tokenURI([0n])).rejects.toThrow('URIQueryForNonexistentToken')
    await expect(collection.read.tokenURI([3n])).rejects.toThrow('URIQueryForNonexistentToken')
  })
})
