/** @module-tag slow */
import { numberToHex } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Reader, readLifecycle, readMetadataState } from '../../../../../src/server/chain/evm/collection-reads.ts'
import { encodeFreeze, encodeUpdate } from '../../../../../src/server/chain/evm/collection-updates.ts'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import { type Chain, type Collection, cidOf, makeCollection, random, startChain, ZERO } from './fixture.ts'

let chain: Chain
let collection: Collection

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())
beforeEach(async () => {
  collection = await makeCollection(chain, { dynamic: true })
})

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => BigInt(first + i))
const mint = (count: number, digest?: Hex) => collection.mint([{ receiver: chain.alice, count }], digest)
const revisions = (ids: readonly bigint[]) =>
  Promise.all(ids.map(async (id) => (await collection.read.metadataState([id])).revision))
const freezeRevert = (ids: readonly bigint[], from = chain.operator) =>
  chain.revertOf(from, collection.address, encodeFreeze(ids))
const freeze = (ids: readonly bigint[]) => chain.send(chain.operator, collection.address, encodeFreeze(ids))

describe('an update', () => {
  test('changes the URI of its tokens only, to the directory of the update and the token ID', async () => {
    const [minted, updated] = [random(32), random(32)]
    await mint(4, minted)
    await collection.update([2n, 3n], { digest: updated })
    const uris = await Promise.all(range(1, 4).map((id) => collection.read.tokenURI([id])))
    expect(uris).toEqual([
      `ipfs://${cidOf(minted)}/0.json`,
      `ipfs://${cidOf(updated)}/2.json`,
      `ipfs://${cidOf(updated)}/3.json`,
      `ipfs://${cidOf(minted)}/3.json`,
    ])
  })

  test('is replaced by a later one for the tokens of both', async () => {
    const [first, second] = [random(32), random(32)]
    await mint(3)
    await collection.update([1n, 2n], { digest: first })
    await collection.update([2n, 3n], { digest: second })
    expect(await revisions([1n, 2n, 3n])).toEqual([1, 2, 2])
    expect(await collection.read.tokenURI([1n])).toBe(`ipfs://${cidOf(first)}/1.json`)
    expect(await collection.read.tokenURI([2n])).toBe(`ipfs://${cidOf(second)}/2.json`)
    expect(await collection.read.updateDigest([1n])).toBe(first)
    expect(await collection.read.lifecycle()).toMatchObject({ updateCount: 2 })
  })

  test('emits an ERC-4906 event for each run of tokens', async () => {
    await mint(20)
    const { events } = await collection.update([9n, 1n, 2n, 3n, 20n])
    expect(events).toEqual(['BatchMetadataUpdate(1, 3)', 'MetadataUpdate(9)', 'MetadataUpdate(20)'])
  })

  test('is supported by interface 0x49064906 in every collection', async () => {
    const still = await makeCollection(chain)
    expect(await still.read.supportsInterface(['0x49064906'])).toBe(true)
    expect(await collection.read.supportsInterface(['0x49064906'])).toBe(true)
  })

  test('keeps the revisions of neighbors at the borders of slots', async () => {
    await collection.mint(Array.from({ length: 10 }, () => ({ receiver: chain.alice, count: 20 })))
    await mint(100)
    const borders = [7n, 8n, 9n, 10n, 11n, 255n, 256n, 257n]
    for (const id of borders) await collection.update([id])
    const around = [...range(1, 20), ...range(245, 265)]
    const expected = around.map((id) => borders.indexOf(id) + 1)
    expect(await revisions(around)).toEqual(expected)

    await collection.update(range(100, 256))
    expect(await revisions([7n, 8n, 9n, 99n, 100n, 255n, 256n, 257n, 258n])).toEqual([1, 2, 3, 0, 9, 9, 9, 8, 0])
    await collection.update([8n, 9n, ...range(250, 263)])
    expect(await revisions([7n, 8n, 9n, 10n, 249n, 250n, 256n, 257n, 263n, 264n])).toEqual([
      ...[1, 10, 10, 4, 9, 10, 10, 10, 10, 0],
    ])
  })

  test('takes 200 scattered tokens, and no more', async () => {
    for (let batch = 0; batch < 2; batch++) await mint(200)
    const odd = range(0, 199).map((index) => 2n * index + 1n)
    const digest = random(32)
    const { events } = await collection.update(odd, { digest })
    expect(events).toEqual(odd.map((id) => `MetadataUpdate(${id})`))
    expect(await revisions(range(1, 400))).toEqual(range(1, 400).map((id) => Number(id % 2n)))
    expect(await collection.read.tokenURI([399n])).toBe(`ipfs://${cidOf(digest)}/399.json`)
    expect(await collection.updateRevert([...odd, 2n])).toBe('BatchTooLarge')
    expect(await collection.updateRevert(range(1, 200))).toBeNull()
    expect(await collection.updateRevert(range(1, 201))).toBe('BatchTooLarge')
    const huge = [2, [1n, 3n], [2n ** 256n - 1n, 2n], digest] as const
    expect(await collection.revertOf(chain.operator, 'update', huge)).toBe('BatchTooLarge')
  })

  test('reverts if it is executed a second time or out of order', async () => {
    await mint(2)
    const data = encodeUpdate({ sequence: 1, tokenIds: [1n], digest: random(32) })
    const second = encodeUpdate({ sequence: 2, tokenIds: [1n], digest: random(32) })
    expect(await chain.revertOf(chain.operator, collection.address, second)).toBe('StaleSequence')
    await chain.send(chain.operator, collection.address, data)
    expect(await chain.revertOf(chain.operator, collection.address, data)).toBe('StaleSequence')
    await chain.send(chain.operator, collection.address, second)
    expect(await revisions([1n, 2n])).toEqual([2, 0])
    expect(await collection.updateRevert([1n], { sequence: 2 ** 24 - 1 })).toBe('StaleSequence')
    expect(await collection.updateRevert([1n], { sequence: 0 })).toBe('StaleSequence')
  })

  test('is refused after 16,777,215 others, and none begins at 0 again', async () => {
    await mint(2)
    const LAST = 2 ** 24 - 1
    // The slot with the owner has the number of updates above the flags.
    const at = { address: collection.address, slot: numberToHex(2, { size: 32 }) }
    const word = BigInt(await chain.node.request<Hex>('eth_getStorageAt', [at.address, at.slot, 'latest']))
    expect(word & (2n ** 160n - 1n)).toBe(BigInt(chain.owner))
    const value = numberToHex(word | (BigInt(LAST - 1) << 168n), { size: 32 })
    await chain.node.request('anvil_setStorageAt', [at.address, at.slot, value])
    const before = await collection.read.state()
    await collection.update([1n], { sequence: LAST })
    expect(await revisions([1n, 2n])).toEqual([LAST, 0])
    for (const sequence of [0, 1, LAST]) expect(await collection.updateRevert([1n], { sequence })).toBe('StaleSequence')
    const data = encodeUpdate({ sequence: LAST, tokenIds: [1n], digest: random(32) })
    const larger = data.replace('ffffff', '1000000').replace('00000000', '0000000') as Hex
    expect(larger).toHaveLength(data.length)
    expect(await chain.revertOf(chain.operator, collection.address, larger)).toBe('unknown')
    expect(await collection.read.lifecycle()).toMatchObject({ updateCount: LAST, frozen: false, dynamic: true })
    expect(await collection.read.state()).toEqual(before)
    await freeze([2n])
    expect(await collection.read.metadataState([2n])).toMatchObject({ frozen: true, revision: 0 })
  })

  test('requires minted tokens, a directory, and as many counts as runs', async () => {
    await mint(3)
    expect(await collection.updateRevert([0n])).toBe('NotMinted')
    expect(await collection.updateRevert([4n])).toBe('NotMinted')
    expect(await collection.updateRevert([3n, 4n])).toBe('NotMinted')
    expect(await collection.updateRevert([2n ** 256n - 1n])).toBe('NotMinted')
    expect(await collection.updateRevert([])).toBe('EmptyBatch')
    expect(await collection.updateRevert([1n], { digest: `0x${'00'.repeat(32)}` })).toBe('EmptyDigest')
    const send = (firsts: bigint[], counts: bigint[]) =>
      collection.revertOf(chain.operator, 'update', [1, firsts, counts, random(32)])
    expect(await send([1n, 2n], [1n])).toBe('LengthMismatch')
    expect(await send([1n], [1n, 1n])).toBe('LengthMismatch')
    expect(await send([1n, 2n], [1n, 0n])).toBe('EmptyBatch')
  })

  test('has an effect once for a token that is named twice', async () => {
    await mint(3)
    await collection.send(chain.operator, 'update', [1, [1n, 2n], [2n, 2n], random(32)])
    expect(await revisions([1n, 2n, 3n])).toEqual([1, 1, 1])
  })

  test('includes a token that was burned in the meantime, and updates the others', async () => {
    await mint(3)
    await collection.send(chain.alice, 'burn', [chain.alice, 2n])
    await collection.update([1n, 2n, 3n])
    expect(await revisions([1n, 2n, 3n])).toEqual([1, 1, 1])
    expect(await collection.read.tokenURI([3n])).toMatch(/3\.json$/)
    await expect(collection.read.tokenURI([2n])).rejects.toThrow('URIQueryForNonexistentToken')
  })

  test('is refused as a whole for one token that is not dynamic', async () => {
    collection = await makeCollection(chain)
    await mint(5)
    await collection.mint([{ receiver: chain.alice, count: 10 }], random(32), true)
    await mint(5)
    expect(await collection.updateRevert(range(6, 15))).toBeNull()
    expect(await collection.updateRevert([5n])).toBe('NotDynamic')
    expect(await collection.updateRevert([16n])).toBe('NotDynamic')
    expect(await collection.updateRevert(range(5, 15))).toBe('NotDynamic')
    expect(await collection.updateRevert(range(6, 16))).toBe('NotDynamic')
    const dynamic = await Promise.all(range(1, 20).map((id) => collection.read.metadataState([id])))
    expect(dynamic.map((one) => one.dynamic)).toEqual(range(1, 20).map((id) => id >= 6n && id <= 15n))
  })

  test('is possible for a dynamic batch across the border of its bitmap', async () => {
    collection = await makeCollection(chain)
    await mint(150)
    await collection.mint([{ receiver: chain.alice, count: 200 }], random(32), true)
    expect(await collection.updateRevert(range(151, 350))).toBeNull()
    expect(await collection.updateRevert([150n, 151n])).toBe('NotDynamic')
    await mint(1)
    expect(await collection.updateRevert([350n, 351n])).toBe('NotDynamic')
  })
})

describe('the right to update, freeze and commit', () => {
  const acts = async (from: Hex) => [
    await collection.updateRevert([1n], {}, from),
    await freezeRevert([1n], from),
    await collection.revertOf(from, 'commitProvenance', [random(32)]),
  ]
  const all = (name: string | null) => [name, name, name]

  beforeEach(() => mint(1))

  test('belongs to operators only', async () => {
    for (const from of [chain.owner, chain.admin, chain.stranger, chain.alice]) {
      expect(await acts(from)).toEqual(all('NotOperator'))
    }
    expect(await acts(chain.operator)).toEqual(all(null))
  })

  test('depends on the API flag and not on that for transfers', async () => {
    await collection.send(chain.owner, 'setEnableTransfer', [true])
    await collection.send(chain.owner, 'setEnableApi', [false])
    expect(await acts(chain.operator)).toEqual(all('ApiDisabled'))
    await collection.send(chain.owner, 'setEnableApi', [true])
    await collection.send(chain.owner, 'setEnableTransfer', [false])
    expect(await acts(chain.operator)).toEqual(all(null))
  })

  test('ends when the owner revokes the service', async () => {
    await collection.send(chain.owner, 'revokeService', [])
    expect(await acts(chain.operator)).toEqual(all('ServiceIsRevoked'))
  })

  test('is checked before the sequence, as a retry would not help', async () => {
    expect(await collection.updateRevert([1n], { sequence: 9 }, chain.stranger)).toBe('NotOperator')
    await collection.send(chain.owner, 'freezeMetadata', [])
    expect(await collection.updateRevert([1n], { sequence: 9 })).toBe('MetadataIsFrozen')
  })

  test('does not depend on locked tokens', async () => {
    collection = await makeCollection(chain, { dynamic: true, locked: true })
    await mint(1)
    expect(await acts(chain.operator)).toEqual(all(null))
  })
})

describe('freezing', () => {
  test('tokens prevents their updates only, with an event for each run', async () => {
    await mint(20)
    const { events } = await freeze([7n, 8n, 9n, 12n])
    expect(events).toEqual(['TokensFrozen(7, 9)', 'TokensFrozen(12, 12)'])
    for (const id of [7n, 8n, 9n, 12n]) expect(await collection.updateRevert([id])).toBe('TokenFrozen')
    expect(await collection.updateRevert(range(1, 7))).toBe('TokenFrozen')
    expect(await collection.updateRevert([6n, 10n, 11n, 13n])).toBeNull()
    expect(await collection.read.metadataState([8n])).toEqual({ revision: 0, dynamic: true, frozen: true })
    expect(await collection.read.metadataState([10n])).toMatchObject({ frozen: false })
  })

  test('tokens keeps their last update, and has no effect the second time', async () => {
    await mint(2)
    const digest = random(32)
    await collection.update([1n], { digest })
    await freeze([1n])
    await freeze([1n])
    expect(await collection.read.tokenURI([1n])).toBe(`ipfs://${cidOf(digest)}/1.json`)
    expect(await collection.updateRevert([1n])).toBe('TokenFrozen')
  })

  test('is limited to 200 minted tokens', async () => {
    for (let batch = 0; batch < 2; batch++) await mint(200)
    expect(await freezeRevert(range(101, 300))).toBeNull()
    expect(await freezeRevert(range(100, 300))).toBe('BatchTooLarge')
    expect(await freezeRevert([400n, 401n])).toBe('NotMinted')
    expect(await freezeRevert([])).toBe('EmptyBatch')
    await freeze(range(101, 300))
    const frozen = await Promise.all(
      [100n, 101n, 255n, 256n, 300n, 301n].map((id) => collection.read.metadataState([id])),
    )
    expect(frozen.map((one) => one.frozen)).toEqual([false, true, true, true, true, false])
  })

  test('a collection is the right of its owner, and final for all tokens', async () => {
    await mint(2)
    const { events } = await collection.send(chain.owner, 'freezeMetadata', [])
    expect(events).toEqual(['MetadataFrozen()'])
    await mint(1)
    for (const id of [1n, 3n]) {
      expect(await collection.updateRevert([id])).toBe('MetadataIsFrozen')
      expect(await collection.read.metadataState([id])).toMatchObject({ frozen: true })
    }
    expect(await readLifecycle(chain.node, collection.address)).toEqual({
      ...{ version: 2n, dynamic: true, enableBurn: false, frozen: true, updateCount: 0, pendingOwner: ZERO },
    })
    // Contract metadata and royalties stay the owner's.
    expect(await collection.revertOf(chain.owner, 'setContractURI', ['ipfs://x'])).toBeNull()
    expect(await collection.revertOf(chain.owner, 'setDefaultRoyalty', [chain.owner, 1n])).toBeNull()
  })
})

describe('a provenance hash', () => {
  test('is committed once, with the next token ID', async () => {
    await mint(4)
    const hash = random(32)
    expect(await collection.read.provenanceOf([hash])).toBe(0n)
    const { events } = await collection.send(chain.operator, 'commitProvenance', [hash])
    expect(events).toEqual([`ProvenanceCommitted(${hash}, 5)`])
    await mint(1)
    expect(await collection.revertOf(chain.operator, 'commitProvenance', [hash])).toBe('AlreadyCommitted')
    expect(await collection.read.provenanceOf([hash])).toBe(5n)
  })

  test('can be committed before any token, and is not empty', async () => {
    const hash = random(32)
    await collection.send(chain.operator, 'commitProvenance', [hash])
    expect(await collection.read.provenanceOf([hash])).toBe(1n)
    expect(await collection.revertOf(chain.operator, 'commitProvenance', [`0x${'00'.repeat(32)}`])).toBe('EmptyDigest')
  })
})

test('reads take a block, and return nothing without a contract', async () => {
  await mint(1)
  await collection.update([1n])
  const requests: unknown[] = []
  const reader: Reader = {
    request: (method, params) => {
      requests.push(params[1])
      return chain.node.request(method, params)
    },
  }
  const block = await chain.node.request<Hex>('eth_blockNumber', [])
  expect(await readMetadataState(reader, collection.address, 1n, block)).toMatchObject({ revision: 1 })
  expect(await readLifecycle(reader, collection.address, block)).toMatchObject({ updateCount: 1 })
  expect(requests).toEqual([block, block])
  expect(await readLifecycle(chain.node, chain.stranger)).toBeNull()
  await expect(readMetadataState(chain.node, chain.stranger, 1n)).rejects.toMatchObject({ code: 'not_found' })
})
