/** @module-tag slow */
import { encode } from '@ipld/dag-pb'
import { CID } from 'multiformats/cid'
import { createPublicClient, getAddress, http, parseAbi } from 'viem'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  backendForFile,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showCollection,
  type TestBackend,
  until,
  usedNonces,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { dagPbCidOf, rawCidOf } from '../../helpers/published-cid.ts'

const ABI = parseAbi([
  'function ownerOf(uint256) view returns (address)',
  'function tokenURI(uint256) view returns (string)',
  'function totalSupply() view returns (uint256)',
  'function name() view returns (string)',
  'function symbol() view returns (string)',
  'function owner() view returns (address)',
  'function locked(uint256) view returns (bool)',
])
const [OWNER, ALICE, BOB] = WALLETS

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

const client = (blockchain = 'polygon') =>
  createPublicClient({ transport: http(`${backend.url}/rpc/${blockchain}`, { retryCount: 0 }) })

const transactionsOf = (collectionId: string) =>
  withStore(backend.dataDir, ({ db }) =>
    db.selectFrom('transactions').selectAll().where('collection_id', '=', collectionId).execute(),
  )

const read = (address: string, functionName: 'ownerOf' | 'tokenURI' | 'locked', id: string) =>
  client().readContract({ address: getAddress(address), abi: ABI, functionName, args: [BigInt(id)] })

const bytesOf = async (url: unknown) =>
  Buffer.from(await (await backend.get(`/ipfs/${String(url).slice('ipfs://'.length)}`)).arrayBuffer())

describe('a collection on chain', () => {
  it('has the requested name and owner', async () => {
    const { id, address } = await createTestCollection(backend, { name: 'Été 2026 🌅', wallet_address: OWNER })
    await until(
      () => showCollection(backend, id),
      ({ status }) => status === 'deployed',
    )
    const of = { address: getAddress(address), abi: ABI } as const
    expect(await client().readContract({ ...of, functionName: 'name' })).toBe('Été 2026 🌅')
    expect(await client().readContract({ ...of, functionName: 'owner' })).toBe(OWNER)
  })

  it.each(['bnb-testnet', 'astar'])('has deployed NFTs on %s, too', async (blockchain) => {
    const collection = await createTestCollection(backend, { blockchain })
    const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
    expect(nft).toMatchObject({ status: 'deployed', token_id: '1' })
    const owner = await client(blockchain).readContract({
      address: getAddress(collection.address),
      abi: ABI,
      functionName: 'ownerOf',
      args: [1n],
    })
    expect(owner).toBe(ALICE)
  })
})

describe('minting', () => {
  it('sends a mint only after the block with its collection', async () => {
    const collection = await createTestCollection(backend)
    const ids = await mint(backend, collection, plainMetadata(2))
    expect((await settled(backend, ids)).map((nft) => nft.status)).toEqual(['deployed', 'deployed'])
    const transactions = await transactionsOf(collection.id)
    const blockOf = (expectedKind: string) =>
      Number(transactions.find(({ kind }) => kind === expectedKind)?.block_number)
    expect(blockOf('mint')).toBeGreaterThan(blockOf('collection'))
  })

  it('assigns token IDs from 1 in the order of acceptance, and makes each receiver the owner on chain', {
    tags: ['promise'],
  }, async () => {
    const collection = await createTestCollection(backend)
    const expected: string[] = []
    const ids: string[] = []
    for (const [count, receiver] of [
      [3, ALICE],
      [1, BOB],
      [12, BOB],
      [2, ALICE],
    ] as const) {
      ids.push(...(await mint(backend, collection, plainMetadata(count), { receiver })))
      expected.push(...Array<string>(count).fill(receiver))
    }
    const nfts = await settled(backend, ids)
    expect(nfts.map((nft) => nft.token_id)).toEqual(expected.map((_, i) => String(i + 1)))
    expect(nfts.map((nft) => nft.receiver_wallet_address)).toEqual(expected)
    const owners = await Promise.all(nfts.map((nft) => read(collection.address, 'ownerOf', String(nft.token_id))))
    expect(owners).toEqual(expected)
    const uris = await Promise.all(nfts.map((nft) => read(collection.address, 'tokenURI', String(nft.token_id))))
    expect(uris).toEqual(nfts.map((nft) => nft.metadata_url))
  })

  it('batches requests behind a pending transaction into few transactions of at most 200 NFTs', async () => {
    const collection = await createTestCollection(backend)
    const requests = await Promise.all(
      Array.from({ length: 45 }, (_, i) =>
        mint(backend, collection, plainMetadata(10), { receiver: i % 2 === 0 ? ALICE : BOB }),
      ),
    )
    const nfts = await settled(backend, requests.flat())
    expect(nfts.every((nft) => nft.status === 'deployed')).toBe(true)
    expect(new Set(nfts.map((nft) => nft.token_id)).size).toBe(450)
    const mints = (await transactionsOf(collection.id)).filter((row) => row.kind === 'mint')
    expect(mints.length).toBeGreaterThanOrEqual(3)
    expect(mints.length).toBeLessThanOrEqual(12)
    expect(Math.max(...mints.map((row) => row.token_count))).toBeLessThanOrEqual(200)
    expect(mints.reduce((sum, row) => sum + row.token_count, 0)).toBe(450)
    for (const row of mints) {
      const receipt = await client().getTransactionReceipt({ hash: row.hash as `0x${string}` })
      expect(receipt.status).toBe('success')
      expect(receipt.gasUsed).toBeLessThanOrEqual(10_000_000n)
    }
    const supply = await client().readContract({
      address: getAddress(collection.address),
      abi: ABI,
      functionName: 'totalSupply',
    })
    expect(supply).toBe(450n)
  })

  it('mints a single request of more than 200 NFTs completely', async () => {
    const collection = await createTestCollection(backend)
    const nfts = await settled(backend, await mint(backend, collection, plainMetadata(230)))
    expect(nfts.map((nft) => nft.token_id)).toEqual(Array.from({ length: 230 }, (_, i) => String(i + 1)))
  })

  it('mints for 100 different receivers', async () => {
    const collection = await createTestCollection(backend, { is_locked: true })
    const receivers = Array.from({ length: 100 }, (_, i) => getAddress(`0x${(i + 1).toString(16).padStart(40, '0')}`))
    const ids = await Promise.all(
      receivers.map((receiver) => mint(backend, collection, plainMetadata(1), { receiver })),
    )
    const nfts = await settled(backend, ids.flat())
    expect(nfts.every((nft) => nft.status === 'deployed')).toBe(true)
    const owners = await Promise.all(nfts.map((nft) => read(collection.address, 'ownerOf', String(nft.token_id))))
    expect(owners).toEqual(receivers)
  })

  it('marks tokens of a locked collection as locked on chain', async () => {
    const collection = await createTestCollection(backend, { is_locked: true })
    const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
    expect(await read(collection.address, 'locked', String(nft?.token_id))).toBe(true)
    const open = await createTestCollection(backend)
    const [free] = await settled(backend, await mint(backend, open, plainMetadata(1)))
    expect(await read(open.address, 'locked', String(free?.token_id))).toBe(false)
  })

  it('uses every nonce of a signer once, without a gap', async () => {
    const signers = Object.values(await usedNonces(backend.dataDir))
    expect(signers.length).toBeGreaterThanOrEqual(6)
    for (const nonces of signers) expect(nonces).toEqual(nonces.map((_, i) => i))
  })
})

describe('the metadata file', () => {
  const FULL = {
    title: 'Dawn',
    description: 'The first of ten',
    file_fields: [],
    artist: 'A. Rtist',
    external_url: 'https://example.com/1',
    attribute: [
      { tag: 'Sky', value: 'red' },
      { tag: 'Sea', value: '' },
    ],
  }

  it('follows the ERC-721 schema, with unchanged extra keys and attributes as marketplaces read them', async () => {
    const collection = await createTestCollection(backend)
    const [nft] = await settled(backend, await mint(backend, collection, FULL))
    expect(JSON.parse((await bytesOf(nft?.metadata_url)).toString())).toEqual({
      name: 'Dawn',
      description: 'The first of ten',
      artist: 'A. Rtist',
      external_url: 'https://example.com/1',
      attributes: [
        { trait_type: 'Sky', value: 'red' },
        { trait_type: 'Sea', value: '' },
      ],
    })
  })

  it('has no attributes without any in the request', async () => {
    const collection = await createTestCollection(backend)
    const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
    expect(JSON.parse((await bytesOf(nft?.metadata_url)).toString())).toEqual({ name: 'NFT 0', description: '' })
  })

  it('is in the directory whose recomputed CID is that on chain', async () => {
    const collection = await createTestCollection(backend)
    // More than nine, so that the order of the names differs from that of the numbers.
    const nfts = await settled(backend, await mint(backend, collection, plainMetadata(12, 'Ünï')))
    const [directory] = String(nfts[0]?.metadata_url).slice('ipfs://'.length).split('/')
    const links = await Promise.all(
      nfts.map(async (nft, i) => {
        const content = await bytesOf(nft.metadata_url)
        return { Name: `${i}.json`, Hash: CID.parse(rawCidOf(content)), Tsize: content.length }
      }),
    )
    links.sort((a, b) => (a.Name < b.Name ? -1 : 1))
    // UnixFS: { Type: Directory }
    const block = encode({ Data: new Uint8Array([8, 1]), Links: links })
    expect(directory).toBe(dagPbCidOf(block))
    expect(await read(collection.address, 'tokenURI', '7')).toBe(`ipfs://${directory}/6.json`)
  })

  it.each([
    '<script>alert(1)</script>',
    '=HYPERLINK("http://example.com")',
    '\u001b[2J\u202egnp.exe\u200b\r\u0008',
    '👩‍👩‍👧‍👦'.repeat(100),
    'Å Å',
    'toString',
  ])('keeps hostile but legal text unchanged: %j', async (text) => {
    const collection = await createTestCollection(backend, { name: text.slice(0, 100).toWellFormed() })
    const metadata = { title: text, description: text, file_fields: [], hasOwnProperty: text, toString: text }
    const [nft] = await settled(backend, await mint(backend, collection, metadata))
    expect(nft?.request_metadata).toEqual(metadata)
    expect(JSON.parse((await bytesOf(nft?.metadata_url)).toString())).toEqual({
      name: text,
      description: text,
      hasOwnProperty: text,
      toString: text,
    })
  })
})
