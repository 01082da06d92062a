import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { encodeGrant } from '../../../../../src/server/chain/evm/collection.ts'
import { type Chain, type Collection, makeCollection, random, startChain, ZERO } from './fixture.ts'

let chain: Chain
let collection: Collection

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())
beforeEach(async () => {
  collection = await makeCollection(chain, { enableTransfer: true })
  await collection.mint([{ receiver: chain.alice, count: 2 }])
})

const transferByOperator = () => collection.revertOf(chain.operator, 'transferFrom', [chain.alice, chain.bob, 1n])

describe('transfers by the service', () => {
  test('an operator may transfer any token while transfers are enabled', async () => {
    expect(await collection.read.isApprovedForAll([chain.alice, chain.operator])).toBe(true)
    const { events } = await collection.send(chain.operator, 'transferFrom', [chain.alice, chain.bob, 1n])
    expect(events).toEqual([`Transfer(${chain.alice}, ${chain.bob}, 1)`])
    expect(await collection.read.ownerOf([1n])).toBe(chain.bob)
  })

  test('are disabled and enabled again by the owner', async () => {
    await collection.send(chain.owner, 'setEnableTransfer', [false])
    expect(await collection.read.isApprovedForAll([chain.alice, chain.operator])).toBe(false)
    expect(await transferByOperator()).toBe('TransferCallerNotOwnerNorApproved')
    await collection.send(chain.owner, 'setEnableTransfer', [true])
    expect(await transferByOperator()).toBeNull()
  })

  test('are disabled in a collection created without them', async () => {
    const closed = await makeCollection(chain)
    await closed.mint([{ receiver: chain.alice, count: 1 }])
    expect(await closed.revertOf(chain.operator, 'transferFrom', [chain.alice, chain.bob, 1n])).toBe(
      'TransferCallerNotOwnerNorApproved',
    )
  })

  test('stay enabled if minting is disabled', async () => {
    await collection.send(chain.owner, 'setEnableApi', [false])
    expect(await transferByOperator()).toBeNull()
  })

  test('are allowed for operators only, not for the admin or the collection’s owner', async () => {
    for (const from of [chain.admin, chain.owner, chain.stranger]) {
      expect(await collection.revertOf(from, 'transferFrom', [chain.alice, chain.bob, 1n])).toBe(
        'TransferCallerNotOwnerNorApproved',
      )
    }
  })

  test('don’t let an operator approve others, as an approval would outlive the right', async () => {
    expect(await collection.revertOf(chain.operator, 'approve', [chain.stranger, 1n])).toBe(
      'ApprovalCallerNotOwnerNorApproved',
    )
  })

  test('a holder may still approve an operator for their tokens, even if the collection’s owner decides otherwise', async () => {
    await collection.send(chain.owner, 'setEnableTransfer', [false])
    await collection.send(chain.alice, 'setApprovalForAll', [chain.operator, true])
    expect(await transferByOperator()).toBeNull()
  })
})

describe('grant: mint to the sender and transfer to the receiver', () => {
  test('emits for every token the mint to the sender, then the transfer to its receiver', async () => {
    const { events } = await collection.grant(chain.carol, [chain.bob, chain.stranger, chain.bob])
    for (const [index, receiver] of [chain.bob, chain.stranger, chain.bob].entries()) {
      const id = 3 + index
      expect(events.filter((event) => event.endsWith(`, ${id})`))).toEqual([
        `Transfer(${ZERO}, ${chain.carol}, ${id})`,
        `Transfer(${chain.carol}, ${receiver}, ${id})`,
      ])
      expect(await collection.read.ownerOf([BigInt(id)])).toBe(receiver)
    }
    expect(events).toHaveLength(6)
    expect(await collection.read.balanceOf([chain.carol])).toBe(0n)
    expect(await collection.read.balanceOf([chain.bob])).toBe(2n)
    expect(await collection.read.nextTokenId()).toBe(6n)
  })

  test('accepts the sender as a receiver', async () => {
    await collection.grant(chain.carol, [chain.carol])
    expect(await collection.read.ownerOf([3n])).toBe(chain.carol)
  })

  test('has a separate directory, with indexes from 0', async () => {
    await collection.grant(chain.carol, [chain.bob, chain.bob])
    expect(await collection.read.tokenURI([4n])).toMatch(/\/1\.json$/)
    expect(await collection.read.tokenURI([2n])).not.toBe(await collection.read.tokenURI([4n]))
  })

  test('requires minting and transfers to be enabled', async () => {
    await collection.send(chain.owner, 'setEnableTransfer', [false])
    expect(await collection.grantRevert({ startId: 3n })).toBe('TransferDisabled')
    await collection.send(chain.owner, 'setEnableTransfer', [true])
    await collection.send(chain.owner, 'setEnableApi', [false])
    expect(await collection.grantRevert({ startId: 3n })).toBe('ApiDisabled')
  })

  test('is allowed for operators only, even if the caller is the sender', async () => {
    expect(await collection.grantRevert({ startId: 3n, sender: chain.stranger }, chain.stranger)).toBe('NotOperator')
  })

  test('reverts if it is executed a second time', async () => {
    const data = encodeGrant({ startId: 3n, sender: chain.alice, receivers: [chain.bob], digest: random(32) })
    await chain.send(chain.operator, collection.address, data)
    expect(await chain.revertOf(chain.operator, collection.address, data)).toBe('StaleStartId')
  })

  test('requires 1 to 200 receivers, none of them the zero address, and a directory', async () => {
    const many = (count: number) => Array.from({ length: count }, () => chain.bob)
    expect(await collection.grantRevert({ startId: 3n, receivers: many(200) })).toBeNull()
    expect(await collection.grantRevert({ startId: 3n, receivers: many(201) })).toBe('BatchTooLarge')
    expect(await collection.grantRevert({ startId: 3n, receivers: [] })).toBe('EmptyBatch')
    expect(await collection.grantRevert({ startId: 3n, receivers: [ZERO] })).toBe('TransferToZeroAddress')
    expect(await collection.grantRevert({ startId: 3n, sender: ZERO })).toBe('MintToZeroAddress')
    expect(await collection.grantRevert({ startId: 3n, digest: `0x${'00'.repeat(32)}` })).toBe('EmptyDigest')
  })
})

describe('revocation by the owner', () => {
  beforeEach(() => collection.send(chain.owner, 'revokeService', []))

  test('removes every right of the service', async () => {
    expect(await collection.mintRevert({ startId: 3n })).toBe('ServiceIsRevoked')
    expect(await collection.grantRevert({ startId: 3n })).toBe('ServiceIsRevoked')
    expect(await transferByOperator()).toBe('TransferCallerNotOwnerNorApproved')
    expect(await collection.read.state()).toMatchObject({ enableApi: false, enableTransfer: false, revoked: true })
  })

  test('can’t be reverted, not even by the owner', async () => {
    expect(await collection.revertOf(chain.owner, 'setEnableApi', [true])).toBe('ServiceIsRevoked')
    expect(await collection.revertOf(chain.owner, 'setEnableTransfer', [true])).toBe('ServiceIsRevoked')
    expect(await collection.revertOf(chain.owner, 'revokeService', [])).toBe('ServiceIsRevoked')
  })

  test('doesn’t affect the tokens and rights of holders', async () => {
    expect(await collection.read.ownerOf([1n])).toBe(chain.alice)
    expect(await collection.revertOf(chain.alice, 'transferFrom', [chain.alice, chain.bob, 1n])).toBeNull()
  })
})
