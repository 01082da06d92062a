/** @module-tag slow */
import { createPublicClient, createWalletClient, defineChain, getAddress, http, parseAbi } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { stateDb } from '../../../src/server/state/state-db.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import {
  backendForFile,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showCollection,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { holdSigning } from '../../helpers/hold.ts'

const ABI = parseAbi([
  'function setEnableApi(bool)',
  'function revokeService()',
  'function transferFrom(address,address,uint256)',
  'function ownerOf(uint256) view returns (address)',
])

let backend: TestBackend
const owner = privateKeyToAccount(generatePrivateKey())

beforeAll(async () => {
  backend = await backendForFile()
})
afterEach(() => {
  expect(backend.log.filter((line) => line.includes('failed unexpectedly'))).toEqual([])
})

const chain = () =>
  defineChain({
    id: 137,
    name: 'polygon',
    nativeCurrency: { name: 'POL', symbol: 'POL', decimals: 18 },
    rpcUrls: { default: { http: [`${backend.url}/rpc/polygon`] } },
  })
const reader = () => createPublicClient({ chain: chain(), transport: http(undefined, { retryCount: 0 }) })

/** Sends a wallet's transaction by /rpc; resolves once it is in a block. */
async function send(
  address: string,
  call:
    | { functionName: 'setEnableApi'; args: [boolean] }
    | { functionName: 'revokeService' }
    | { functionName: 'transferFrom'; args: [`0x${string}`, `0x${string}`, bigint] },
  account = owner,
) {
  const wallet = createWalletClient({ account, chain: chain(), transport: http(undefined, { retryCount: 0 }) })
  const hash = await wallet.writeContract({
    address: getAddress(address),
    abi: ABI,
    gas: 300_000n,
    ...call,
  } as Parameters<typeof wallet.writeContract>[0])
  const receipt = await until(
    () =>
      reader()
        .getTransactionReceipt({ hash })
        .catch(() => null),
    (found) => found !== null,
  )
  return receipt?.status
}

async function deployedCollection(request: object = {}): Promise<TestCollection> {
  const collection = await createTestCollection(backend, { wallet_address: owner.address, ...request })
  await settled(backend, await mint(backend, collection, plainMetadata(1)))
  return collection
}

const createNft = (collection: TestCollection) =>
  backend.post('/api/v1/createnft', {
    contract_address: collection.address,
    blockchain: 'polygon',
    receiver_wallet_address: WALLETS[1],
    metadata: plainMetadata(1),
  })

describe('rights on chain', () => {
  it.each([
    [
      'the owner switched enable_api off',
      { functionName: 'setEnableApi', args: [false] },
      /owner has disabled minting through the API/,
    ],
    [
      'the owner revoked the service',
      { functionName: 'revokeService' },
      /owner has revoked the service's right to mint/,
    ],
  ] as const)(
    'fails pending mints with the reason and rejects later requests after %s',
    async (_what, call, reason) => {
      const collection = await deployedCollection()
      const resume = await holdSigning(backend.dataDir, 'mint')
      const ids = await mint(backend, collection, plainMetadata(3))
      expect(await send(collection.address, call as Parameters<typeof send>[1])).toBe('success')
      await resume()
      const nfts = await settled(backend, ids)
      for (const nft of nfts) expect(nft).toMatchObject({ status: 'failed', error: expect.stringMatching(reason) })
      const refused = await createNft(collection)
      expect(refused).toMatchObject({ status: 400, json: { error: { title: 'Bad Request' } } })
      expect(refused.json.error.message).toMatch(/enable_api is off/)
      expect((await showCollection(backend, collection.id)).enable_api).toBe(false)
    },
  )

  it('still mints in other collections of the same signer', async () => {
    const [closed, open] = [await deployedCollection(), await deployedCollection()]
    const resume = await holdSigning(backend.dataDir, 'mint')
    const ids = [await mint(backend, closed, plainMetadata(2)), await mint(backend, open, plainMetadata(2))]
    await send(closed.address, { functionName: 'setEnableApi', args: [false] })
    await resume()
    const [failed = [], deployed = []] = await Promise.all(ids.map((some) => settled(backend, some)))
    expect(failed.map((nft) => nft.status)).toEqual(['failed', 'failed'])
    expect(deployed.map((nft) => nft.status)).toEqual(['deployed', 'deployed'])
  })

  it('lets holders transfer tokens, except those of a locked collection', async () => {
    const holder = privateKeyToAccount(generatePrivateKey())
    const move = { functionName: 'transferFrom', args: [holder.address, owner.address, 1n] } as const
    for (const [is_locked, status] of [
      [true, 'reverted'],
      [false, 'success'],
    ] as const) {
      const collection = await createTestCollection(backend, { wallet_address: owner.address, is_locked })
      await settled(backend, await mint(backend, collection, plainMetadata(1), { receiver: holder.address }))
      expect(await send(collection.address, { ...move, args: [...move.args] }, holder)).toBe(status)
    }
  })
})

describe('after a revert', () => {
  async function edit(change: (store: Store) => Promise<unknown>): Promise<void> {
    await backend.close()
    await withStore(backend.dataDir, change)
    backend = await backendForFile({ dataDir: backend.dataDir })
  }

  it.each(['1', '7'])('signs again for a start ID that is not next (%s), and mints every token once', async (stale) => {
    const collection = await deployedCollection()
    await settled(backend, await mint(backend, collection, plainMetadata(2)))
    await edit(({ db }) =>
      db.updateTable('collections').set({ next_token_id: stale }).where('id', '=', collection.id).execute(),
    )
    const nfts = await settled(backend, await mint(backend, collection, plainMetadata(3)))
    expect(nfts.map((nft) => [nft.status, nft.token_id])).toEqual(['4', '5', '6'].map((id) => ['deployed', id]))
    const missing = reader().readContract({
      address: getAddress(collection.address),
      abi: ABI,
      functionName: 'ownerOf',
      args: [7n],
    })
    await expect(missing).rejects.toThrow()
  })

  it('halves a batch until only the invalid NFT fails, and deploys the others', async () => {
    const collection = await deployedCollection()
    // Unavailable files keep the NFTs pending until their rows are edited.
    const stuck = plainMetadata(9).map((metadata) => ({
      ...metadata,
      file_fields: [{ key: 'image', url: 'http://127.0.0.1:9/a.png' }],
    }))
    const ids = await mint(backend, collection, stuck)
    await edit(async ({ db }) => {
      const ready = { step: 'mint', files: '{"image":"bafkqaaa"}' } as const
      await stateDb(db).updateTable('nfts').set(ready).where('id', 'in', ids).execute()
      // The API rejects the zero address, and so does the contract.
      await db
        .updateTable('nfts')
        .set({ receiver: `0x${'0'.repeat(40)}` })
        .where('id', '=', ids[4] ?? '')
        .execute()
    })
    const nfts = await settled(backend, ids)
    expect(nfts.map((nft) => nft.status)).toEqual(ids.map((_, i) => (i === 4 ? 'failed' : 'deployed')))
    expect(nfts[4]?.error).toMatch(/the mint failed on the network: its transaction 0x[0-9a-f]{64} reverted/)
    const tokens = nfts.flatMap((nft) => (nft.token_id === null ? [] : [Number(nft.token_id)]))
    expect(tokens.sort((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
    const [next] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
    expect(next?.token_id).toBe('10')
  })
})
