import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Chain, type Collection, makeCollection, startChain, ZERO } from './fixture.ts'

let chain: Chain
let collection: Collection

beforeAll(async () => {
  chain = await startChain()
  collection = await makeCollection(chain, { locked: true, enableTransfer: true })
})
afterAll(() => chain.node.stop())

test('a locked collection mints, and says of every token that it is locked', async () => {
  const { events } = await collection.mint([
    { receiver: chain.alice, count: 1 },
    { receiver: chain.bob, count: 1 },
  ])
  expect(events).toEqual([
    `Transfer(${ZERO}, ${chain.alice}, 1)`,
    `Transfer(${ZERO}, ${chain.bob}, 2)`,
    'Locked(1)',
    'Locked(2)',
  ])
  expect(await collection.read.locked([1n])).toBe(true)
  expect(await collection.read.state()).toMatchObject({ locked: true })
})

test('it supports ERC-5192', async () => {
  expect(await collection.read.supportsInterface(['0xb45a3c0e'])).toBe(true)
})

test('a token that does not exist is neither locked nor unlocked', async () => {
  await expect(collection.read.locked([0n])).rejects.toThrow('OwnerQueryForNonexistentToken')
  await expect(collection.read.locked([1000n])).rejects.toThrow('OwnerQueryForNonexistentToken')
})

test('its tokens stay where they are: neither holder nor service transfers them', async () => {
  const reverts = await Promise.all([
    collection.revertOf(chain.alice, 'transferFrom', [chain.alice, chain.bob, 1n]),
    collection.revertOf(chain.alice, 'safeTransferFrom', [chain.alice, chain.bob, 1n]),
    collection.revertOf(chain.alice, 'safeTransferFrom', [chain.alice, chain.bob, 1n, '0x42']),
    collection.revertOf(chain.alice, 'transferFrom', [chain.alice, chain.alice, 1n]),
  ])
  expect(new Set(reverts)).toEqual(new Set(['TokenLocked']))
  expect(await collection.revertOf(chain.operator, 'transferFrom', [chain.alice, chain.bob, 1n])).toBe(
    'TransferCallerNotOwnerNorApproved',
  )
})

test('it takes no approvals, and nobody counts as approved', async () => {
  expect(await collection.revertOf(chain.alice, 'approve', [chain.bob, 1n])).toBe('TokenLocked')
  expect(await collection.revertOf(chain.alice, 'setApprovalForAll', [chain.bob, true])).toBe('TokenLocked')
  expect(await collection.read.isApprovedForAll([chain.alice, chain.operator])).toBe(false)
})

test('it grants nothing: that would be a transfer', async () => {
  expect(await collection.grantRevert({ startId: await collection.read.nextTokenId() })).toBe('TokenLocked')
})

test('in other collections no token is locked', async () => {
  const free = await makeCollection(chain)
  await free.mint([{ receiver: chain.alice, count: 1 }])
  expect(await free.read.locked([1n])).toBe(false)
})
