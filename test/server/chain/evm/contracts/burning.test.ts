import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeBurn } from '../../../../../src/server/chain/evm/collection-updates.ts'
import type { CollectionInit } from '../../../../../src/server/chain/evm/factory.ts'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import { type Chain, type Collection, makeCollection, startChain, ZERO } from './fixture.ts'

let chain: Chain

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())

/** A collection in which alice holds tokens 1 to 3, and bob token 4. */
async function filled(changes: Partial<CollectionInit> = {}): Promise<Collection> {
  const collection = await makeCollection(chain, changes)
  await collection.mint([
    { receiver: chain.alice, count: 3 },
    { receiver: chain.bob, count: 1 },
  ])
  return collection
}
const burnRevert = (collection: Collection, from: Hex, tokenId = 2n, holder = chain.alice) =>
  chain.revertOf(from, collection.address, encodeBurn({ holder, tokenId }))

describe('the holder', () => {
  test.each([
    ['in an ordinary collection', {}],
    ['in a locked collection', { locked: true }],
    ['without any right of the service', { enableApi: false, enableTransfer: false }],
    ['where the service may burn', { enableBurn: true, enableTransfer: true }],
  ])('burns a token %s', async (_, changes) => {
    const collection = await makeCollection(chain, { ...changes, enableApi: true })
    await collection.mint([{ receiver: chain.alice, count: 3 }])
    if ('enableApi' in changes) await collection.send(chain.owner, 'setEnableApi', [false])
    const { events } = await collection.send(chain.alice, 'burn', [chain.alice, 2n])
    expect(events).toEqual([`Transfer(${chain.alice}, ${ZERO}, 2)`])
    await expect(collection.read.ownerOf([2n])).rejects.toThrow('OwnerQueryForNonexistentToken')
    expect(await Promise.all([1n, 3n].map((id) => collection.read.ownerOf([id])))).toEqual([chain.alice, chain.alice])
    expect(await collection.read.balanceOf([chain.alice])).toBe(2n)
    expect(await collection.read.totalSupply()).toBe(2n)
  })

  test('burns a token after the service was revoked', async () => {
    const collection = await filled({ locked: true })
    await collection.send(chain.owner, 'revokeService', [])
    expect(await burnRevert(collection, chain.alice)).toBeNull()
  })

  test('burns no token of another, or one that does not exist', async () => {
    const collection = await filled({ enableBurn: true })
    expect(await burnRevert(collection, chain.alice, 4n)).toBe('NotHolder')
    expect(await burnRevert(collection, chain.alice, 4n, chain.bob)).toBe('NotOperator')
    expect(await burnRevert(collection, chain.alice, 5n)).toBe('OwnerQueryForNonexistentToken')
    await collection.send(chain.alice, 'burn', [chain.alice, 2n])
    expect(await burnRevert(collection, chain.alice)).toBe('OwnerQueryForNonexistentToken')
  })

  test("can't send value with a burn", async () => {
    const collection = await filled()
    const data = encodeBurn({ holder: chain.alice, tokenId: 2n })
    expect(await chain.revertOf(chain.alice, collection.address, data, 1n)).toBe('unknown')
  })
})

describe('an operator', () => {
  test.each([
    ['may', { enableBurn: true }, null],
    ['may in a locked collection', { enableBurn: true, locked: true }, null],
    ['may not without enableBurn', {}, 'BurnDisabled'],
    ['may not with the right to transfer', { enableTransfer: true }, 'BurnDisabled'],
    ['may not in a dynamic collection', { dynamic: true }, 'BurnDisabled'],
  ])('%s burn', async (_, changes, error) => {
    expect(await burnRevert(await filled(changes), chain.operator)).toBe(error)
  })

  test('may not while the API is off, and never after the service was revoked', async () => {
    const collection = await filled({ enableBurn: true })
    await collection.send(chain.owner, 'setEnableApi', [false])
    expect(await burnRevert(collection, chain.operator)).toBe('ApiDisabled')
    await collection.send(chain.owner, 'revokeService', [])
    expect(await burnRevert(collection, chain.operator)).toBe('ServiceIsRevoked')
  })

  test('burns only what the named account holds', async () => {
    const collection = await filled({ enableBurn: true, enableTransfer: true })
    await collection.send(chain.alice, 'transferFrom', [chain.alice, chain.bob, 2n])
    expect(await burnRevert(collection, chain.operator)).toBe('NotHolder')
    expect(await burnRevert(collection, chain.operator, 2n, chain.bob)).toBeNull()
  })

  test('burns its own tokens as any holder', async () => {
    const collection = await makeCollection(chain)
    await collection.mint([{ receiver: chain.operator, count: 1 }])
    expect(await burnRevert(collection, chain.operator, 1n, chain.operator)).toBeNull()
  })
})

describe('nobody else', () => {
  test('burns: neither owner, admin nor stranger', async () => {
    for (const enableBurn of [false, true]) {
      const collection = await filled({ enableBurn })
      for (const from of [chain.owner, chain.admin, chain.stranger, chain.bob]) {
        expect(await burnRevert(collection, from)).toBe('NotOperator')
      }
    }
  })

  test('burns with an approval for the token or for all', async () => {
    for (const enableBurn of [false, true]) {
      const collection = await filled({ enableBurn })
      await collection.send(chain.alice, 'approve', [chain.bob, 2n])
      await collection.send(chain.alice, 'setApprovalForAll', [chain.carol, true])
      for (const from of [chain.bob, chain.carol]) expect(await burnRevert(collection, from)).toBe('NotOperator')
    }
    const collection = await filled()
    await collection.send(chain.alice, 'setApprovalForAll', [chain.operator, true])
    expect(await burnRevert(collection, chain.operator)).toBe('BurnDisabled')
  })
})

test('a burned token has no approval, is not locked and is never minted again', async () => {
  const collection = await filled({ enableTransfer: true })
  await collection.send(chain.alice, 'approve', [chain.carol, 2n])
  await collection.send(chain.alice, 'burn', [chain.alice, 2n])
  await expect(collection.read.getApproved([2n])).rejects.toThrow('ApprovalQueryForNonexistentToken')
  await expect(collection.read.locked([2n])).rejects.toThrow('OwnerQueryForNonexistentToken')
  for (const from of [chain.carol, chain.operator, chain.alice]) {
    expect(await collection.revertOf(from, 'transferFrom', [chain.alice, chain.carol, 2n])).toBe(
      'OwnerQueryForNonexistentToken',
    )
  }
  expect(await collection.read.nextTokenId()).toBe(5n)
  const { events } = await collection.mint([{ receiver: chain.alice, count: 1 }])
  expect(events).toEqual([`Transfer(${ZERO}, ${chain.alice}, 5)`])
})
