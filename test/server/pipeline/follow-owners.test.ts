/** @module-tag slow */
import fc from 'fast-check'
import { type EncodeFunctionDataParameters, encodeFunctionData, getAddress } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { encodeMint, encodeTransfer } from '../../../src/server/chain/evm/collection.ts'
import { collectionAddress, collectionInit } from '../../../src/server/chain/evm/collection-init.ts'
import { readCollectionState, readOwnerOf } from '../../../src/server/chain/evm/collection-reads.ts'
import { encodeDeployFactory, encodeMake, factoryAddress } from '../../../src/server/chain/evm/factory.ts'
import type { EvmNetwork, Hex, PublicNetwork, RawLog } from '../../../src/server/chain/evm/network.ts'
import { RpcError } from '../../../src/server/chain/rpc/rpc-response.ts'
import { type FollowOptions, followOwners } from '../../../src/server/pipeline/evm/follow-owners.ts'
import { createPublicOwnerFollower } from '../../../src/server/pipeline/evm/public-network/public-owner-follower.ts'
import { recordChain } from '../../../src/server/store/chains.ts'
import { findCollectionById } from '../../../src/server/store/collections.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { findCursor, listCursors } from '../../../src/server/store/owner-events.ts'
import { temporaryStore } from '../../helpers/backend.ts'
import { type PlainAnvil, startPlainAnvil } from '../../helpers/plain-anvil.ts'
import { insertAccountAndRequest, insertCollection, insertNfts } from '../../helpers/rows.ts'
import { COLLECTION_ABI, type OwnersCall } from '../../helpers/rpc-wallets.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'

const TOKENS = 4
const NOW = 1_800_000_000_000

let anvil: PlainAnvil
let store: Store
let admin: Hex
let operator: Hex
let owner: Hex
let people: Hex[]
let collection: { id: string; address: Hex }
let collections = 0

beforeAll(async () => {
  anvil = await startPlainAnvil()
  const [one, two, three, ...others] = anvil.accounts.map((account) => getAddress(account))
  if (!one || !two || !three) throw new Error('too few accounts')
  ;[admin, operator, owner, people] = [one, two, three, others]
  await anvil.send(admin, null, encodeDeployFactory([operator]))
})
afterAll(() => anvil?.stop())

beforeEach(async () => {
  store = await temporaryStore()
  await insertAccountAndRequest(store.db, { accepted_at: NOW })
  const chain = { genesis_timestamp: 0, factory_address: factoryAddress(admin), created_at: NOW }
  await recordChain(store.db, { ...chain, blockchain: 'polygon', start_block: 0 })
  collection = await deployCollection()
  await follow()
})

/** A collection whose tokens 1 to 4 belong to the first person, stored as after its final mint. */
async function deployCollection(): Promise<{ id: string; address: Hex }> {
  const id = `c${++collections}`
  const factory = factoryAddress(admin)
  const flags = { enable_api: 1, enable_transfer: 1, is_locked: 0, dynamic: 0, enable_burn: 0 }
  const defaults = { factory_address: factory, royalty_bps: 0, royalty_receiver: null, max_supply: null }
  const facts = { id, name: 'Followed', symbol: 'F', wallet_address: owner, ...flags, ...defaults }
  const address = collectionAddress(facts)
  await insertCollection(store.db, { ...facts, contract_address: address, next_token_id: '5' })
  await anvil.send(operator, factory, encodeMake(collectionInit(facts)))
  const receiver = person(0)
  const groups = [{ receiver, count: TOKENS }]
  await anvil.send(operator, address, encodeMint({ startId: 1n, groups, digest: `0x${'11'.repeat(32)}` }))
  const done = { status: 'deployed', step: 'done', owner: receiver } as const
  await insertNfts(
    store.db,
    Array.from({ length: TOKENS }, (_, index) => ({
      id: `${id}-${index + 1}`,
      request_id: 'r',
      collection_id: id,
      receiver,
      metadata: '{}',
      token_id: String(index + 1),
      next_attempt_at: NOW,
      ...done,
    })),
  )
  return { id, address }
}

const person = (index: number): Hex => people[index % people.length] ?? owner
const network = () => ({ blockchain: 'polygon' as const, request: anvil.request })

async function follow(options: Partial<FollowOptions> = {}): Promise<number> {
  for (let turns = 1; ; turns++) if (!(await followOwners({ store, network: network(), ...options }))) return turns
}

/** A public network that expects reorgs up to two blocks deep. */
const sharedNetwork = (blocksPerBatch: number): EvmNetwork & { publicNetwork: PublicNetwork } => {
  const hashesOf = (blocks: readonly number[]) =>
    Promise.all(
      blocks.map(async (block) => {
        const found = await anvil.request<{ hash: Hex } | null>('eth_getBlockByNumber', [hex(block), false])
        return found?.hash ?? null
      }),
    )
  const publicNetwork: Pick<PublicNetwork, 'finality' | 'blockHashes' | 'logs'> = {
    finality: 2,
    blockHashes: hashesOf,
    async logs(filters, blocks) {
      const logs = await Promise.all(
        filters.map(({ from, to, addresses: address, topics }) => {
          if (to - from + 1 > blocksPerBatch) throw new RpcError(-32000, 'too many blocks')
          const range = { fromBlock: hex(from), toBlock: hex(to), address, topics: [topics] }
          return anvil.request<RawLog[]>('eth_getLogs', [range])
        }),
      )
      return { logs: logs.flat(), hashes: await hashesOf(blocks) }
    },
  }
  return { ...network(), publicNetwork } as EvmNetwork & { publicNetwork: PublicNetwork }
}

async function followShared({ blocksPerBatch = 100 }: Partial<FollowOptions> = {}): Promise<void> {
  const turn = createPublicOwnerFollower({ store, network: sharedNetwork(blocksPerBatch), log: SILENT_LOG })
  while (await turn());
}

const hex = (value: number): Hex => `0x${value.toString(16)}`

const move = async (token: number, to: Hex) => {
  const from = await readOwnerOf(network(), collection.address, BigInt(token))
  await anvil.send(from, collection.address, encodeTransfer({ from, to, tokenId: BigInt(token) }))
}
/** Calls the collection from its owner's wallet. */
const byOwner = (call: OwnersCall, from = owner) => {
  const data = encodeFunctionData({ abi: COLLECTION_ABI, ...call } as EncodeFunctionDataParameters)
  return anvil.send(from, collection.address, data)
}
const setEnableApi = (on: boolean) => byOwner({ functionName: 'setEnableApi', args: [on] })
const setEnableTransfer = (on: boolean) => byOwner({ functionName: 'setEnableTransfer', args: [on] })

async function known() {
  const row = await findCollectionById(store.db, collection.id)
  const nfts = await store.db
    .selectFrom('nfts')
    .select('owner')
    .where('collection_id', '=', collection.id)
    .orderBy('seq')
    .execute()
  return {
    owners: nfts.map((nft) => nft.owner),
    wallet: row?.wallet_address,
    api: row?.enable_api === 1,
    transfer: row?.enable_transfer === 1,
    revoked: row?.revoked === 1,
  }
}

async function onChain(): Promise<Awaited<ReturnType<typeof known>>> {
  const state = await readCollectionState(network(), collection.address)
  if (state === null) throw new Error('the collection is gone')
  const owners: Hex[] = []
  for (let token = 1; token <= TOKENS; token++) {
    owners.push(await readOwnerOf(network(), collection.address, BigInt(token)))
  }
  const { owner: wallet, enableApi: api, enableTransfer: transfer, revoked } = state
  return { owners, wallet, api, transfer, revoked }
}

describe('followOwners()', () => {
  it('agrees with the owners that a mint has stored', async () => {
    expect(await known()).toEqual(await onChain())
  })

  it('stores the owners of tokens, the owner of the collection and its flags', async () => {
    await move(1, person(1))
    await move(2, person(2))
    await move(2, person(3))
    await setEnableTransfer(false)
    await byOwner({ functionName: 'transferOwnership', args: [person(4)] })
    await follow()
    expect(await known()).toMatchObject({ wallet: owner })
    await byOwner({ functionName: 'acceptOwnership' }, person(4))
    await follow()
    expect(await known()).toEqual(await onChain())
    expect(await known()).toMatchObject({
      owners: [person(1), person(3), person(0), person(0)],
      wallet: person(4),
      transfer: false,
      api: true,
    })
    await byOwner({ functionName: 'revokeService' }, person(4))
    await follow()
    expect(await known()).toMatchObject({ api: false, transfer: false, revoked: true })
  })

  it('stores the last block with its hash, and requests no block twice', async () => {
    await move(1, person(1))
    await follow()
    const head = await anvil.request<{ number: Hex; hash: Hex }>('eth_getBlockByNumber', ['latest', false])
    expect(await findCursor(store.db, 'polygon')).toMatchObject({
      block_number: Number(head.number),
      block_hash: head.hash,
    })
    const requests: string[] = []
    const request: PlainAnvil['request'] = (method, params) => {
      requests.push(method)
      return anvil.request(method, params)
    }
    expect(await followOwners({ store, network: { blockchain: 'polygon', request } })).toBe(false)
    expect(requests).toEqual(['eth_getBlockByNumber'])
  })

  it('returns the same result when it reads one block at a time', async () => {
    await move(1, person(1))
    await setEnableApi(false)
    await move(1, person(2))
    await move(3, person(5))
    const turns = await follow({ blocksPerBatch: 1 })
    expect(await known()).toEqual(await onChain())
    expect(turns).toBe(4)
  })

  it('ignores an unknown collection', async () => {
    const before = await known()
    const ours = collection
    collection = await deployCollection()
    await store.db.deleteFrom('nfts').where('collection_id', '=', collection.id).execute()
    await store.db.deleteFrom('collections').where('id', '=', collection.id).execute()
    await move(1, person(1))
    collection = ours
    await follow()
    expect(await known()).toEqual(before)
    expect(await store.db.selectFrom('owner_events').selectAll().execute()).toEqual([])
  })
})

describe('a reorg', () => {
  it.each([1, 2, 3, 5])('restores owners and flags at a depth of %i', async (depth) => {
    await move(1, person(1))
    for (let i = 0; i < 5; i++) await anvil.request('evm_mine', [])
    await follow()
    const before = await known()
    const steps = [
      () => move(1, person(2)),
      () => setEnableApi(false),
      () => move(2, person(3)),
      () => setEnableTransfer(false),
      () => move(1, person(4)),
    ]
    for (const step of steps.slice(0, depth)) {
      await step()
      await follow()
    }
    expect(await known()).not.toEqual(before)
    await anvil.reorg(depth)
    await follow()
    expect(await known()).toEqual(before)
    expect(await known()).toEqual(await onChain())
  })

  it('applies the events of the new blocks, even at the same positions', async () => {
    await move(1, person(1))
    await follow()
    await anvil.reorg(1)
    await anvil.request('evm_mine', [])
    await follow()
    expect((await known()).owners[0]).toBe(person(0))
    await anvil.reorg(1)
    await move(1, person(6))
    await follow()
    expect((await known()).owners[0]).toBe(person(6))
  })

  it('is detected if the chain is shorter than before', async () => {
    await follow()
    const before = await known()
    const snapshot = await anvil.request('evm_snapshot', [])
    await move(1, person(1))
    await move(2, person(1))
    await follow()
    await anvil.request('evm_revert', [snapshot])
    await follow()
    expect(await known()).toEqual(before)
    expect(await known()).toEqual(await onChain())
  })

  it('reads everything again if it is deeper than the stored blocks', async () => {
    const before = await known()
    await move(1, person(1))
    await move(2, person(2))
    await follow()
    await store.db
      .deleteFrom('owner_cursors')
      .where('block_number', '<', await height())
      .execute()
    await anvil.reorg(1)
    await follow()
    expect(await known()).toEqual(await onChain())
    expect((await known()).owners.slice(0, 2)).toEqual([person(1), before.owners[1]])
  })

  it('discards the old events if it happens while they are being read', async () => {
    await move(1, person(1))
    let reorged = false
    const request: PlainAnvil['request'] = async <Result>(method: string, params: readonly unknown[]) => {
      const result = await anvil.request<Result>(method, params)
      if (method === 'eth_getLogs' && !reorged) {
        reorged = true
        await anvil.reorg(1)
      }
      return result
    }
    await follow({ network: { blockchain: 'polygon', request } })
    expect(reorged).toBe(true)
    expect(await known()).toEqual(await onChain())
    expect((await known()).owners[0]).toBe(person(0))
  })

  it('can go back to at most 64 stored blocks', async () => {
    for (let i = 0; i < 70; i++) {
      await anvil.request('evm_mine', [])
      await follow()
    }
    const all = await store.db.selectFrom('owner_cursors').select('block_number').execute()
    expect(all).toHaveLength(64)
    expect((await listCursors(store.db, 'polygon'))[0]?.block_number).toBe(await height())
  })

  it.each(['embedded', 'public'])(
    'matches the chain after any transfers, flag changes, reads and reorgs (%s network)',
    async (kind) => {
      const read = kind === 'embedded' ? follow : followShared

      const action = fc.oneof(
        { weight: 4, arbitrary: fc.record({ do: fc.constant('move' as const), a: fc.nat(TOKENS - 1), b: fc.nat(6) }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('api' as const), a: fc.nat(1), b: fc.constant(0) }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('transfer' as const), a: fc.nat(1), b: fc.constant(0) }) },
        { weight: 3, arbitrary: fc.record({ do: fc.constant('follow' as const), a: fc.nat(3), b: fc.constant(0) }) },
        { weight: 2, arbitrary: fc.record({ do: fc.constant('reorg' as const), a: fc.nat(5), b: fc.constant(0) }) },
      )
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 25 }), async (actions) => {
          collection = await deployCollection()
          const since = await height()
          for (const step of actions) {
            if (step.do === 'move') await move(step.a + 1, person(step.b))
            if (step.do === 'api') await setEnableApi(step.a === 1)
            if (step.do === 'transfer') await setEnableTransfer(step.a === 1)
            if (step.do === 'follow') await read({ blocksPerBatch: step.a + 1 })
            const depth = Math.min(step.a + 1, (await height()) - since)
            if (step.do === 'reorg' && depth > 0) await anvil.reorg(depth)
          }
          await read()
          expect(await known()).toEqual(await onChain())
        }),
        { numRuns: 15 },
      )
    },
  )
})

const height = async () => Number(await anvil.request<Hex>('eth_blockNumber', []))
