import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Chain, type Collection, makeCollection, startChain, ZERO } from './fixture.ts'

let chain: Chain
let collection: Collection

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())
beforeEach(async () => {
  collection = await makeCollection(chain, { enableTransfer: true })
})

describe('ownership', () => {
  test('starts with the wallet of the request', async () => {
    expect(await collection.read.owner()).toBe(chain.owner)
  })

  test('is offered, and changes nothing until it is accepted', async () => {
    const { events } = await collection.send(chain.owner, 'transferOwnership', [chain.alice])
    expect(events).toEqual([`OwnershipTransferStarted(${chain.owner}, ${chain.alice})`])
    expect(await collection.read.owner()).toBe(chain.owner)
    expect(await collection.read.pendingOwner()).toBe(chain.alice)
    expect(await collection.read.lifecycle()).toMatchObject({ pendingOwner: chain.alice })
    expect(await collection.revertOf(chain.alice, 'setEnableApi', [false])).toBe('OwnableUnauthorizedAccount')
    expect(await collection.revertOf(chain.owner, 'setEnableApi', [false])).toBeNull()
  })

  test('is accepted only by the account of the last offer, and the previous owner loses all rights', async () => {
    expect(await collection.revertOf(chain.owner, 'acceptOwnership', [])).toBe('OwnableUnauthorizedAccount')
    await collection.send(chain.owner, 'transferOwnership', [chain.bob])
    await collection.send(chain.owner, 'transferOwnership', [chain.alice])
    for (const from of [chain.owner, chain.bob, chain.operator, chain.admin, chain.stranger]) {
      expect(await collection.revertOf(from, 'acceptOwnership', [])).toBe('OwnableUnauthorizedAccount')
    }
    const { events } = await collection.send(chain.alice, 'acceptOwnership', [])
    expect(events).toEqual([`OwnershipTransferred(${chain.owner}, ${chain.alice})`])
    expect(await collection.read.owner()).toBe(chain.alice)
    expect(await collection.read.pendingOwner()).toBe(ZERO)
    expect(await collection.revertOf(chain.owner, 'setEnableApi', [false])).toBe('OwnableUnauthorizedAccount')
    expect(await collection.revertOf(chain.alice, 'setEnableApi', [false])).toBeNull()
    expect(await collection.revertOf(chain.alice, 'acceptOwnership', [])).toBe('OwnableUnauthorizedAccount')
  })

  test('is no longer offered after an offer to the zero address', async () => {
    await collection.send(chain.owner, 'transferOwnership', [chain.alice])
    await collection.send(chain.owner, 'transferOwnership', [ZERO])
    expect(await collection.revertOf(chain.alice, 'acceptOwnership', [])).toBe('OwnableUnauthorizedAccount')
    expect(await collection.read.owner()).toBe(chain.owner)
  })

  test('is renounced with an event, which ends an offer', async () => {
    await collection.send(chain.owner, 'transferOwnership', [chain.alice])
    const { events } = await collection.send(chain.owner, 'renounceOwnership', [])
    expect(events).toEqual([`OwnershipTransferred(${chain.owner}, ${ZERO})`])
    expect(await collection.read.owner()).toBe(ZERO)
    expect(await collection.revertOf(chain.owner, 'revokeService', [])).toBe('OwnableUnauthorizedAccount')
    expect(await collection.revertOf(chain.alice, 'acceptOwnership', [])).toBe('OwnableUnauthorizedAccount')
  })

  test('is required for every setting: operators, admin and strangers can’t change any', async () => {
    for (const from of [chain.operator, chain.admin, chain.stranger]) {
      const reverts = await Promise.all([
        collection.revertOf(from, 'transferOwnership', [from]),
        collection.revertOf(from, 'renounceOwnership', []),
        collection.revertOf(from, 'setEnableApi', [false]),
        collection.revertOf(from, 'setEnableTransfer', [false]),
        collection.revertOf(from, 'revokeService', []),
        collection.revertOf(from, 'setContractURI', ['ipfs://x']),
        collection.revertOf(from, 'setDefaultRoyalty', [from, 500n]),
        collection.revertOf(from, 'deleteDefaultRoyalty', []),
        collection.revertOf(from, 'freezeMetadata', []),
        collection.revertOf(from, 'setMaxSupply', [10n]),
      ])
      expect(new Set(reverts)).toEqual(new Set(['OwnableUnauthorizedAccount']))
    }
  })
})

describe('flags', () => {
  test('match the request', async () => {
    expect(await collection.read.state()).toEqual({
      owner: chain.owner,
      enableApi: true,
      enableTransfer: true,
      revoked: false,
      locked: false,
      nextTokenId: 1n,
      maxSupply: 0n,
    })
  })

  test('emit an event for every change, and only for changes', async () => {
    const off = await collection.send(chain.owner, 'setEnableApi', [false])
    expect(off.events).toEqual(['EnableApiChanged(false)'])
    const sameResult = await collection.send(chain.owner, 'setEnableApi', [false])
    expect(sameResult.events).toEqual([])
    const transfer = await collection.send(chain.owner, 'setEnableTransfer', [false])
    expect(transfer.events).toEqual(['EnableTransferChanged(false)'])
    expect(await collection.read.enableApi()).toBe(false)
    expect(await collection.read.enableTransfer()).toBe(false)
  })

  test('flags of the service are cleared by its revocation, with an event each', async () => {
    const { events } = await collection.send(chain.owner, 'revokeService', [])
    expect(events).toEqual(['EnableApiChanged(false)', 'EnableTransferChanged(false)', 'ServiceRevoked()'])
    expect(await collection.read.isRevoked()).toBe(true)
  })
})

describe('royalties', () => {
  test('are disabled until the owner sets them', async () => {
    expect(await collection.read.royaltyInfo([1n, 10_000n])).toEqual([ZERO, 0n])
  })

  test('are basis points of the price, for every token, and removable', async () => {
    await collection.send(chain.owner, 'setDefaultRoyalty', [chain.alice, 750n])
    expect(await collection.read.royaltyInfo([1n, 10_000n])).toEqual([chain.alice, 750n])
    expect(await collection.read.royaltyInfo([99n, 1_000_000n])).toEqual([chain.alice, 75_000n])
    await collection.send(chain.owner, 'deleteDefaultRoyalty', [])
    expect(await collection.read.royaltyInfo([1n, 10_000n])).toEqual([ZERO, 0n])
  })

  test('are limited to the full price and require a receiver', async () => {
    expect(await collection.revertOf(chain.owner, 'setDefaultRoyalty', [chain.alice, 10_000n])).toBeNull()
    expect(await collection.revertOf(chain.owner, 'setDefaultRoyalty', [chain.alice, 10_001n])).toBe(
      'ERC2981InvalidDefaultRoyalty',
    )
    expect(await collection.revertOf(chain.owner, 'setDefaultRoyalty', [ZERO, 1n])).toBe(
      'ERC2981InvalidDefaultRoyaltyReceiver',
    )
  })
})

describe('contractURI', () => {
  const json = (uri: string): unknown => {
    const [, base64] = /^data:application\/json;base64,(.*)$/.exec(uri) ?? []
    return JSON.parse(Buffer.from(base64 ?? '', 'base64').toString('utf8'))
  }

  test('is JSON with the name, regardless of its characters', async () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 80 }),
      fc.string({ unit: fc.constantFrom('"', '\\', '\n', '\u0000', '\u001f', 'é', '🌅') }),
    )
    await fc.assert(
      fc.asyncProperty(name, async (text) => {
        const named = await makeCollection(chain, { name: text })
        expect(json(await named.read.contractURI())).toEqual({ name: text })
        expect(await named.read.name()).toBe(text)
      }),
      { numRuns: 40 },
    )
  })

  test('is the owner’s value once set, with an event, and the default again once cleared', async () => {
    const { events } = await collection.send(chain.owner, 'setContractURI', ['ipfs://bafy/collection.json'])
    expect(events).toEqual(['ContractURIUpdated()'])
    expect(await collection.read.contractURI()).toBe('ipfs://bafy/collection.json')
    await collection.send(chain.owner, 'setContractURI', [''])
    expect(json(await collection.read.contractURI())).toEqual({ name: 'Sunrise' })
  })
})
