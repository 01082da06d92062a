import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Chain, type Collection, makeCollection, startChain, ZERO } from './fixture.ts'

let chain: Chain
let collection: Collection

beforeAll(async () => {
  chain = await startChain()
  collection = await makeCollection(chain, { locked: true, enableTransfer: true })
})
afterAll(() => chain.node.stop())

test('a locked collection mints, and reports every token as locked', async () => {
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

test('a locked collection supports ERC-5192', async () => {
  expect(await collection.read.supportsInterface(['0xb45a3c0e'])).toBe(true)
})

test('a token that does not exist is neither locked nor unlocked', async () => {
  await expect(collection.read.locked([0n])).rejects.toThrow('OwnerQueryForNonexistentToken')
  await expect(collection.read.locked([1000n])).rejects.toThrow('OwnerQueryForNonexistentToken')
})

test('neither holder nor service can transfer tokens of a locked collection', async () => {
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

test('a locked collection rejects approvals and reports none', async () => {
  expect(await collection.revertOf(chain.alice, 'approve', [chain.bob, 1n])).toBe('TokenLocked')
  expect(await collection.revertOf(chain.alice, 'setApprovalForAll', [chain.bob, true])).toBe('TokenLocked')
  expect(await collection.read.isApprovedForAll([chain.alice, chain.operator])).toBe(false)
})

test('a locked collection rejects a grant, which includes a transfer', async () => {
  expect(await collection.grantRevert({ startId: await collection.read.nextTokenId() })).toBe('TokenLocked')
})

test('tokens of other collections are not locked', async () => {
  const free = await makeCollection(chain)
  await free.mint([{ receiver: chain.alice, count: 1 }])
  expect(await free.read.locked([1n])).toBe(false)
})
