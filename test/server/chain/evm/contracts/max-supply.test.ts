/** @module-tag slow */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeGrant } from '../../../../../src/server/chain/evm/collection.ts'
import { encodeBurn } from '../../../../../src/server/chain/evm/collection-updates.ts'
import { type Chain, type Collection, makeCollection, random, startChain } from './fixture.ts'

let chain: Chain

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())

const limited = (maxSupply: bigint) => makeCollection(chain, { maxSupply, enableTransfer: true, enableBurn: true })
const toAlice = (count: number) => [{ receiver: chain.alice, count }]
const refusalOf = ({ mintRevert }: Collection, startId: bigint, count: number) =>
  mintRevert({ startId, groups: toAlice(count) })
const grantRefusal = ({ address }: Collection, startId: bigint, count: number) => {
  const receivers = Array.from({ length: count }, () => chain.bob)
  const data = encodeGrant({ startId, sender: chain.alice, receivers, digest: random(32) })
  return chain.revertOf(chain.operator, address, data)
}

describe('a limit of tokens', () => {
  test('lets the last token be minted and refuses the next, whichever call mints it', async () => {
    const collection = await limited(25n)
    expect(await refusalOf(collection, 1n, 26)).toBe('MaxSupplyExceeded')
    await collection.mint(toAlice(12))
    await collection.mint(toAlice(12), random(32), true)
    expect(await refusalOf(collection, 25n, 2)).toBe('MaxSupplyExceeded')
    expect(await grantRefusal(collection, 25n, 2)).toBe('MaxSupplyExceeded')
    expect(await grantRefusal(collection, 25n, 1)).toBeNull()
    await collection.mint(toAlice(1))
    expect(await refusalOf(collection, 26n, 1)).toBe('MaxSupplyExceeded')
    expect(await grantRefusal(collection, 26n, 1)).toBe('MaxSupplyExceeded')
    expect(await collection.read.totalSupply()).toBe(25n)
  })

  test('costs a mint at most 0.5 % more gas than no limit', async () => {
    const gasOf = async (max: bigint) => {
      const collection = await limited(max)
      await collection.mint(toAlice(1))
      const gas: number[] = []
      for (const count of [1, 50]) {
        const runs = Array.from({ length: count }, () => ({ receiver: random(20), count: 1 }))
        gas.push(Number((await collection.mint(runs)).gasUsed))
      }
      return gas
    }
    const [without, withLimit] = [await gasOf(0n), await gasOf(1000n)]
    for (const [index, gas] of without.entries()) {
      expect(Math.abs(Number(withLimit[index]) - gas) / gas).toBeLessThan(0.005)
    }
  })

  test('counts burned tokens', async () => {
    const collection = await limited(2n)
    await collection.mint(toAlice(2))
    const burn = encodeBurn({ holder: chain.alice, tokenId: 2n })
    await chain.send(chain.operator, collection.address, burn)
    expect(await collection.read.totalSupply()).toBe(1n)
    expect(await refusalOf(collection, 3n, 1)).toBe('MaxSupplyExceeded')
    expect(await collection.revertOf(chain.owner, 'setMaxSupply', [1n])).toBe('InvalidMaxSupply')
  })

  test.each([0n, 1n, 200n, 2n ** 53n, 2n ** 64n - 1n])(
    'is %s as at the creation, and 0 if there is none',
    async (max) => {
      const collection = await limited(max)
      expect(await collection.read.maxSupply()).toBe(max)
      expect(await collection.read.state()).toMatchObject({ maxSupply: max, nextTokenId: 1n })
      expect(await refusalOf(collection, 1n, 1)).toBeNull()
      expect(await refusalOf(collection, 1n, 200)).toBe(max === 1n ? 'MaxSupplyExceeded' : null)
    },
  )
})

describe('the owner', () => {
  test('can only lower the limit, to no less than what was ever minted', async () => {
    const collection = await limited(0n)
    await collection.mint(toAlice(3))
    const refused = (max: bigint) => collection.revertOf(chain.owner, 'setMaxSupply', [max])
    for (const max of [0n, 1n, 2n]) expect(await refused(max)).toBe('InvalidMaxSupply')
    const { events } = await collection.send(chain.owner, 'setMaxSupply', [2n ** 64n - 1n])
    expect(events).toEqual([`MaxSupplyChanged(0, ${2n ** 64n - 1n})`])
    expect(await refused(2n ** 64n - 1n)).toBe('InvalidMaxSupply')
    expect((await collection.send(chain.owner, 'setMaxSupply', [5n])).events).toEqual([
      `MaxSupplyChanged(${2n ** 64n - 1n}, 5)`,
    ])
    for (const max of [0n, 2n, 5n, 6n, 2n ** 64n - 1n]) expect(await refused(max)).toBe('InvalidMaxSupply')
    await collection.send(chain.owner, 'setMaxSupply', [3n])
    expect(await refusalOf(collection, 4n, 1)).toBe('MaxSupplyExceeded')
  })

  test("can't remove a limit of an empty collection, or set 0 where there is none", async () => {
    expect(await (await limited(1n)).revertOf(chain.owner, 'setMaxSupply', [0n])).toBe('InvalidMaxSupply')
    expect(await (await limited(0n)).revertOf(chain.owner, 'setMaxSupply', [0n])).toBe('InvalidMaxSupply')
  })

  test('changes no flag with the limit, and no limit with a flag, although they share a slot', async () => {
    const { owner, bob } = chain
    const collection = await makeCollection(chain, { dynamic: true, enableTransfer: true })
    const facts = async () => ({ ...(await collection.read.state()), ...(await collection.read.lifecycle()) })
    const before = await facts()
    await collection.send(owner, 'setMaxSupply', [2n ** 64n - 1n])
    expect(await facts()).toEqual({ ...before, maxSupply: 2n ** 64n - 1n })
    await collection.send(owner, 'setEnableTransfer', [false])
    await collection.send(owner, 'freezeMetadata', [])
    await collection.send(owner, 'setMaxSupply', [1n])
    await collection.send(owner, 'transferOwnership', [bob])
    await collection.send(bob, 'acceptOwnership', [])
    await collection.send(bob, 'revokeService', [])
    expect(await facts()).toEqual({
      ...{ ...before, owner: bob, maxSupply: 1n, frozen: true },
      ...{ enableApi: false, enableTransfer: false, revoked: true },
    })
  })
})
