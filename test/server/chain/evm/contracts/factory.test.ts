import fc from 'fast-check'
import { encodeFunctionData, getAddress, parseEther } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gdnCollection, gdnFactory } from '../../../../../src/server/chain/evm/contracts/generated/artifacts.ts'
import {
  encodeDeployFactory,
  encodeMake,
  factoryAddress,
  implementationAddress,
  predictCollection,
} from '../../../../../src/server/chain/evm/factory.ts'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import { anInit, type Chain, collectionAt, random, startChain, ZERO } from './fixture.ts'

let chain: Chain

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())

const make = (from: Hex, init = anInit(chain.owner)) => chain.revertOf(from, chain.factory, encodeMake(init))
const setOperator = (account: Hex, enabled: boolean) =>
  encodeFunctionData({ abi: gdnFactory.abi, functionName: 'setOperator', args: [account, enabled] })
const codeAt = (address: Hex) => chain.node.request<Hex>('eth_getCode', [address, 'latest'])

async function initialize(target: Hex, from: Hex) {
  const { requestId: _, ...init } = anInit(from)
  return chain.revertOf(
    from,
    target,
    encodeFunctionData({ abi: gdnCollection.abi, functionName: 'initialize', args: [init] }),
  )
}

describe('predicted addresses', () => {
  test('match the factory and its implementation in the admin’s first transaction', async () => {
    expect(await codeAt(chain.factory)).not.toBe('0x')
    expect(await codeAt(implementationAddress(chain.factory))).not.toBe('0x')
    expect(getAddress(chain.factory)).toBe(chain.factory)
  })

  test('match a collection, checksummed, for any name, symbol, owner and flags', async () => {
    const inits = fc.record({
      requestId: fc
        .uint8Array({ minLength: 32, maxLength: 32 })
        .map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`),
      name: fc.string({ unit: 'binary', maxLength: 70 }),
      symbol: fc.string({ unit: 'binary', maxLength: 40 }),
      owner: fc
        .bigInt({ min: 1n, max: 2n ** 160n - 1n })
        .map((value): Hex => `0x${value.toString(16).padStart(40, '0')}`),
      enableApi: fc.boolean(),
      enableTransfer: fc.boolean(),
      locked: fc.boolean(),
      dynamic: fc.boolean(),
      enableBurn: fc.boolean(),
      royaltyReceiver: fc.constant(chain.carol),
      royaltyBps: fc.bigInt({ min: 0n, max: 10_000n }),
      maxSupply: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    })
    await fc.assert(
      fc.asyncProperty(inits, async (init) => {
        const address = predictCollection(chain.factory, init)
        expect(getAddress(address)).toBe(address)
        const { events } = await chain.send(chain.operator, chain.factory, encodeMake(init))
        expect(events).toContain(`CollectionMade(${init.requestId}, ${address}, ${getAddress(init.owner)})`)
        const { read } = collectionAt(chain, address)
        expect(await Promise.all([read.lifecycle(), read.royaltyInfo([1n, 10_000n])])).toEqual([
          {
            version: 2n,
            dynamic: init.dynamic,
            enableBurn: init.enableBurn,
            frozen: false,
            updateCount: 0,
            pendingOwner: ZERO,
          },
          init.royaltyBps === 0n ? [ZERO, 0n] : [chain.carol, init.royaltyBps],
        ])
        expect(await Promise.all([read.name(), read.symbol(), read.state(), read.registry()])).toEqual([
          init.name,
          init.symbol,
          {
            owner: getAddress(init.owner),
            enableApi: init.enableApi,
            enableTransfer: init.enableTransfer,
            revoked: false,
            locked: init.locked,
            nextTokenId: 1n,
            maxSupply: init.maxSupply,
          },
          chain.factory,
        ])
      }),
      { numRuns: 30 },
    )
  })

  test('change with every argument', () => {
    const init = anInit(chain.owner)
    const changes = [
      {},
      { requestId: random(32) },
      { name: 'Sunset' },
      { symbol: 'SET' },
      { owner: chain.alice },
      { enableApi: false },
      { enableTransfer: true },
      { locked: true },
      { dynamic: true },
      { enableBurn: true },
      { royaltyReceiver: chain.alice },
      { royaltyBps: 1n },
      { maxSupply: 1n },
      // The same bytes split differently between fields.
      { name: 'SunriseS', symbol: 'UN' },
    ]
    const addresses = changes.map((change) => predictCollection(chain.factory, { ...init, ...change }))
    expect(new Set(addresses).size).toBe(changes.length)
    expect(predictCollection(factoryAddress(chain.stranger), init)).not.toBe(addresses[0])
  })

  test('work for a collection even if they already hold funds', async () => {
    const init = anInit(chain.owner)
    const address = predictCollection(chain.factory, init)
    await chain.node.send({ from: chain.stranger, to: address, data: '0x', value: parseEther('1') })
    await chain.send(chain.operator, chain.factory, encodeMake(init))
    expect(await collectionAt(chain, address).read.owner()).toBe(chain.owner)
  })
})

describe('creating a collection', () => {
  test('is allowed for operators only', async () => {
    for (const from of [chain.stranger, chain.owner, chain.admin]) expect(await make(from)).toBe('NotOperator')
    expect(await make(chain.operator)).toBeNull()
  })

  test('reverts the second time for the same request, and changes nothing', async () => {
    const init = anInit(chain.owner)
    await chain.send(chain.operator, chain.factory, encodeMake(init))
    const collection = collectionAt(chain, predictCollection(chain.factory, init))
    await collection.mint([{ receiver: chain.alice, count: 1 }])

    expect(await make(chain.operator, init)).toBe('AlreadyMade')
    const gas = 2_000_000n
    const secondReceipt = await chain.node.send({
      from: chain.operator,
      to: chain.factory,
      data: encodeMake(init),
      gas,
    })
    expect(secondReceipt).toMatchObject({ status: 'reverted', logs: [] })
    expect(secondReceipt.gasUsed).toBeLessThan(100_000n)
    expect(await collection.read.totalSupply()).toBe(1n)
  })

  test('requires an owner', async () => {
    expect(await make(chain.operator, anInit(ZERO))).toBe('OwnableInvalidOwner')
  })

  test('limits the royalty to the full price and requires its receiver', async () => {
    const royalty = (royaltyReceiver: Hex, royaltyBps: bigint) =>
      make(chain.operator, anInit(chain.owner, { royaltyReceiver, royaltyBps }))
    expect(await royalty(chain.alice, 10_000n)).toBeNull()
    expect(await royalty(chain.alice, 10_001n)).toBe('ERC2981InvalidDefaultRoyalty')
    expect(await royalty(ZERO, 1n)).toBe('ERC2981InvalidDefaultRoyaltyReceiver')
    expect(await royalty(ZERO, 0n)).toBeNull()
  })
})

describe('rejects', () => {
  test('the initialization of the implementation', async () => {
    const implementation = implementationAddress(chain.factory)
    for (const from of [chain.stranger, chain.operator, chain.admin, chain.owner]) {
      expect(await initialize(implementation, from)).toBe('NotRegistry')
    }
    expect(await initialize(implementation, chain.factory)).toBe('AlreadyInitialized')
    expect(await collectionAt(chain, implementation).read.owner()).toBe(ZERO)
  })

  test('a mint on the implementation, even by an operator', async () => {
    expect(await collectionAt(chain, implementationAddress(chain.factory)).mintRevert({})).toBe('ApiDisabled')
  })

  test('a second initialization of a collection', async () => {
    const init = anInit(chain.owner)
    await chain.send(chain.operator, chain.factory, encodeMake(init))
    const address = predictCollection(chain.factory, init)
    for (const from of [chain.stranger, chain.operator, chain.admin, chain.owner]) {
      expect(await initialize(address, from)).toBe('NotRegistry')
    }
    expect(await initialize(address, chain.factory)).toBe('AlreadyInitialized')
  })

  test('the initialization of a clone that the factory didn’t create', async () => {
    const implementation = implementationAddress(chain.factory)
    const clone = await chain.deploy(
      `0x3d602d80600a3d3981f3363d3d373d3d3d363d73${implementation.slice(2)}5af43d82803e903d91602b57fd5bf3`,
    )
    expect(await initialize(clone, chain.stranger)).toBe('NotRegistry')
  })

  test('the authorization of an operator, except by the admin', async () => {
    for (const from of [chain.stranger, chain.operator, chain.owner]) {
      expect(await chain.revertOf(from, chain.factory, setOperator(from, true))).toBe('NotAdmin')
    }
  })

  test('the admin as an operator', async () => {
    expect(await chain.revertOf(chain.admin, chain.factory, setOperator(chain.admin, true))).toBe('InvalidOperator')
    const deployment = encodeDeployFactory([chain.stranger])
    const { status } = await chain.node.send({ from: chain.stranger, data: deployment })
    expect(status).toBe('reverted')
  })

  test('the zero address as an operator', async () => {
    expect(await chain.revertOf(chain.admin, chain.factory, setOperator(ZERO, true))).toBe('InvalidOperator')
  })
})

describe('the admin', () => {
  test('authorizes and removes operators for all collections at once, with events', async () => {
    const init = anInit(chain.owner, { enableTransfer: true })
    await chain.send(chain.operator, chain.factory, encodeMake(init))
    const collection = collectionAt(chain, predictCollection(chain.factory, init))
    await collection.mint([{ receiver: chain.alice, count: 1 }])

    const authorized = await chain.send(chain.admin, chain.factory, setOperator(chain.carol, true))
    expect(authorized.events).toEqual([`OperatorChanged(${chain.carol}, true)`])
    expect(await collection.mintRevert({ startId: 2n }, chain.carol)).toBeNull()
    expect(await make(chain.carol)).toBeNull()

    const dismissed = await chain.send(chain.admin, chain.factory, setOperator(chain.carol, false))
    expect(dismissed.events).toEqual([`OperatorChanged(${chain.carol}, false)`])
    expect(await collection.mintRevert({ startId: 2n }, chain.carol)).toBe('NotOperator')
    expect(await collection.revertOf(chain.carol, 'transferFrom', [chain.alice, chain.carol, 1n])).toBe(
      'TransferCallerNotOwnerNorApproved',
    )
    expect(await make(chain.carol)).toBe('NotOperator')
  })

  test('transfers its rights only to a key that accepts them', async () => {
    const offer = (account: Hex) =>
      encodeFunctionData({ abi: gdnFactory.abi, functionName: 'offerAdmin', args: [account] })
    const accept = encodeFunctionData({ abi: gdnFactory.abi, functionName: 'acceptAdmin' })
    expect(await chain.revertOf(chain.stranger, chain.factory, offer(chain.stranger))).toBe('NotAdmin')
    expect(await chain.revertOf(chain.bob, chain.factory, accept)).toBe('NotAdmin')

    await chain.send(chain.admin, chain.factory, offer(chain.operator))
    expect(await chain.revertOf(chain.operator, chain.factory, accept)).toBe('InvalidOperator')

    await chain.send(chain.admin, chain.factory, offer(chain.bob))
    expect(await chain.revertOf(chain.bob, chain.factory, setOperator(chain.carol, true))).toBe('NotAdmin')
    expect(await chain.revertOf(chain.stranger, chain.factory, accept)).toBe('NotAdmin')
    const { events } = await chain.send(chain.bob, chain.factory, accept)
    expect(events).toEqual([`AdminChanged(${chain.admin}, ${chain.bob})`])
    // The offer is no longer valid.
    expect(await chain.revertOf(chain.bob, chain.factory, accept)).toBe('NotAdmin')
    expect(await chain.revertOf(chain.admin, chain.factory, setOperator(chain.carol, true))).toBe('NotAdmin')
    expect(await chain.revertOf(chain.bob, chain.factory, setOperator(chain.carol, true))).toBeNull()

    await chain.send(chain.bob, chain.factory, offer(chain.admin))
    await chain.send(chain.admin, chain.factory, accept)
  })
})
