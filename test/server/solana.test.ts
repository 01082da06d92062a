/** @module-tag slow */
import { beforeAll, describe, expect, it } from 'vitest'
import {
  backendForFile,
  backendForTest,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showCollection,
  type TestBackend,
  until,
  WALLETS,
  withStore,
} from '../helpers/backend.ts'
import { startFileServer, status } from '../helpers/file-server.ts'
import { balanceOf, readChain, readMint, SOLANA_COLLECTION, solanaWallet } from '../helpers/solana.ts'

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

const createOnSolana = (request: Readonly<Record<string, unknown>> = {}) =>
  createTestCollection(backend, { ...SOLANA_COLLECTION, ...request })
const deployed = async (id: string) =>
  until(
    () => showCollection(backend, id),
    ({ status }) => status !== 'initiated',
  )
const RECEIVER = solanaWallet('receiver')
const none = { __option: 'None' }
const some = (value: unknown) => ({ __option: 'Some', value })

async function readIpfs(url: string): Promise<unknown> {
  return (await backend.get(url.replace('ipfs://', '/ipfs/'))).json()
}

describe('a collection', () => {
  it('has its maximum supply as the maximum size of its group, which refuses one more NFT', async () => {
    const collection = await createOnSolana({ max_supply: 2 })
    const two = await mint(backend, collection, plainMetadata(2), { receiver: RECEIVER })
    expect((await settled(backend, two)).map((nft) => nft.status)).toEqual(['deployed', 'deployed'])
    const machine = await readChain(backend.dataDir)
    expect(readMint(machine, collection.address)).toMatchObject({ group: { size: 2n, maxSize: 2n } })
    const body = { contract_address: collection.address, blockchain: 'solana', receiver_wallet_address: RECEIVER }
    const answer = await backend.post('/api/v1/createnft', { ...body, metadata: plainMetadata(1) })
    expect([answer.status, answer.headers.get('error-code')]).toEqual([409, 'max_supply'])
  })

  it('is a group mint with one token, owned by wallet_address', async () => {
    const collection = await createOnSolana({ name: 'First light' })
    expect(await deployed(collection.id)).toMatchObject({ status: 'deployed', contract_address: collection.address })
    const machine = await readChain(backend.dataDir)
    const found = readMint(machine, collection.address)
    expect(found).toMatchObject({
      supply: 1n,
      decimals: 0,
      mintAuthority: none,
      freezeAuthority: none,
      metadata: { name: 'First light', symbol: 'FIRST', updateAuthority: none },
      metadataPointer: { authority: none, metadataAddress: some(collection.address) },
      groupPointer: { authority: none, groupAddress: some(collection.address) },
      group: { mint: collection.address, size: 0n },
    })
    expect(await balanceOf(machine, collection.address, SOLANA_COLLECTION.wallet_address)).toBe(1n)
    expect(await readIpfs(found?.metadata?.uri ?? '')).toMatchObject({
      name: 'First light',
      description: SOLANA_COLLECTION.description,
      image: SOLANA_COLLECTION.image,
    })
  })

  it('has its address before it is deployed, and accepts NFTs at once', async () => {
    const collection = await createOnSolana()
    const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1), { receiver: RECEIVER }))
    expect(nft).toMatchObject({ status: 'deployed', contract_address: collection.address })
  })

  it.each(['description', 'image'])('requires %s', async (field) => {
    const body = { name: 'Test', ...SOLANA_COLLECTION, [field]: undefined }
    const answer = await backend.post('/api/v1/createcollection', body)
    expect(answer.status).toBe(400)
    expect(answer.json.error.message).toContain(`${field} is required on Solana`)
  })
})

describe('an NFT', () => {
  it('is a member mint of its collection with a fixed supply of one, held by the receiver', async () => {
    const collection = await createOnSolana({ name: 'Dawns' })
    const wallets = [solanaWallet('a'), solanaWallet('b')]
    const ids: string[] = []
    for (const receiver of wallets) {
      ids.push(...(await mint(backend, collection, plainMetadata(3, receiver.slice(0, 4)), { receiver })))
    }
    const nfts = await settled(backend, ids)
    const machine = await readChain(backend.dataDir)
    for (const [index, nft] of nfts.entries()) {
      const receiver = wallets[Math.floor(index / 3)] ?? ''
      const title = `${receiver.slice(0, 4)} ${index % 3}`
      expect(nft).toMatchObject({ status: 'deployed', receiver_wallet_address: receiver })
      const token = nft.token_id ?? ''
      expect(readMint(machine, token)).toMatchObject({
        supply: 1n,
        decimals: 0,
        mintAuthority: none,
        freezeAuthority: none,
        nonTransferable: undefined,
        metadata: { name: title, symbol: 'DAWNS', uri: nft.metadata_url, mint: token, updateAuthority: none },
        metadataPointer: { authority: none, metadataAddress: some(token) },
        memberPointer: { authority: none, memberAddress: some(token) },
        member: { mint: token, group: collection.address },
      })
      expect(await balanceOf(machine, token, receiver)).toBe(1n)
      expect(await readIpfs(nft.metadata_url ?? '')).toMatchObject({ name: title })
    }
    expect(readMint(machine, collection.address)?.group?.size).toBe(6n)
    const numbers = nfts.map((nft) => readMint(machine, nft.token_id ?? '')?.member?.memberNumber)
    expect([...numbers].sort()).toEqual([1n, 2n, 3n, 4n, 5n, 6n])
  })

  it('shares its metadata directory with the NFTs signed together', async () => {
    const collection = await createOnSolana()
    await deployed(collection.id)
    const nfts = await settled(backend, await mint(backend, collection, plainMetadata(5), { receiver: RECEIVER }))
    const directory = nfts[0]?.metadata_url?.split('/')[2]
    expect(nfts.map((nft) => nft.metadata_url)).toEqual(nfts.map((_, i) => `ipfs://${directory}/${i}.json`))
  })

  it('an NFT of a locked collection can never be transferred', async () => {
    const collection = await createOnSolana({ is_locked: true })
    const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1), { receiver: RECEIVER }))
    const machine = await readChain(backend.dataDir)
    expect(readMint(machine, nft?.token_id ?? '')?.nonTransferable).toBeDefined()
    expect(readMint(machine, collection.address)?.nonTransferable).toBeUndefined()
  })

  it('has its name cut between characters if its transaction would be too large', async () => {
    const collection = await createOnSolana({ name: '光'.repeat(500), is_locked: true })
    const family = '👨‍👩‍👧‍👦'
    const titles = ['é'.repeat(400), family.repeat(60), 'x'.repeat(100_000), `a${'\u0301'.repeat(3000)}`, 'short ✓']
    const metadata = titles.map((title) => ({ title, description: '', file_fields: [] }))
    const nfts = await settled(backend, await mint(backend, collection, metadata, { receiver: RECEIVER }))
    expect(nfts.map((nft) => nft.status)).toEqual(titles.map(() => 'deployed'))
    const machine = await readChain(backend.dataDir)
    const names = nfts.map((nft) => readMint(machine, nft.token_id ?? '')?.metadata?.name ?? '')
    for (const [index, title] of titles.slice(0, 4).entries()) {
      const name = names[index] ?? ''
      expect(name.endsWith('…')).toBe(true)
      expect(name).not.toContain('\ufffd')
      expect(title.startsWith(name.slice(0, -1))).toBe(true)
      // As much as fits, except for the last character.
      expect(Buffer.byteLength(name)).toBeGreaterThan(index === 1 ? 290 : 310)
    }
    expect(names[1]?.slice(0, -1)).toBe(family.repeat((names[1] ?? '').split('👨').length - 1))
    expect(names[4]).toBe('short ✓')
    expect(await readIpfs(nfts[1]?.metadata_url ?? '')).toMatchObject({ name: titles[1] })
    expect(readMint(machine, collection.address)?.metadata?.name).toMatch(/^光{100,}…$/)
  })

  it('fails with the reason if its file is unavailable, and the others are minted', async () => {
    const web = await startFileServer({ '/none.png': status(404) })
    try {
      const collection = await createOnSolana()
      const withFile = (url: string) => ({ title: url, description: '', file_fields: [{ key: 'image', url }] })
      const files = [`${web.url}/1.png`, `${web.url}/none.png`, `${web.url}/2.png`].map(withFile)
      const nfts = await settled(backend, await mint(backend, collection, files, { receiver: RECEIVER }))
      expect(nfts.map((nft) => nft.status)).toEqual(['deployed', 'failed', 'deployed'])
      expect(nfts[1]).toMatchObject({ token_id: null, error: expect.stringContaining('404') })
    } finally {
      await web.close()
    }
  })

  it('is minted once for a request that is repeated with its Idempotency-Key', async () => {
    const collection = await createOnSolana()
    const headers = { 'idempotency-key': 'once' }
    const send = () => mint(backend, collection, plainMetadata(4), { receiver: RECEIVER, headers })
    const [first, second, third] = await Promise.all([send(), send(), send()])
    expect(second).toEqual(first)
    expect(third).toEqual(first)
    await settled(backend, first)
    expect(await send()).toEqual(first)
    expect((await call(backend, 'getnftgdnids', listing(collection.address))).nft_gdn_ids).toHaveLength(4)
    expect(readMint(await readChain(backend.dataDir), collection.address)?.group?.size).toBe(4n)
  })
})

const listing = (contract_addresses: string) => ({ contract_addresses, blockchain: 'solana' })

it('serves solana and solana-testnet as two separate chains', async () => {
  const main = await createOnSolana()
  const test = await createOnSolana({ blockchain: 'solana-testnet' })
  const polygon = await createTestCollection(backend)
  const ids = [
    ...(await mint(backend, main, plainMetadata(1), { receiver: RECEIVER })),
    ...(await mint(backend, test, plainMetadata(1), { receiver: RECEIVER })),
    ...(await mint(backend, polygon, plainMetadata(1))),
  ]
  const nfts = await settled(backend, ids)
  expect(nfts.map((nft) => nft.status)).toEqual(['deployed', 'deployed', 'deployed'])
  const [onMain, onTest] = [await readChain(backend.dataDir), await readChain(backend.dataDir, 'solana-testnet')]
  expect(readMint(onMain, main.address)?.group?.size).toBe(1n)
  expect(readMint(onTest, test.address)?.group?.size).toBe(1n)
  expect(readMint(onMain, test.address)).toBeNull()
  const wrong = { contract_address: main.address, blockchain: 'solana-testnet', receiver_wallet_address: RECEIVER }
  const answer = await backend.post('/api/v1/createnft', { ...wrong, metadata: plainMetadata(1) })
  expect(answer.status).toBe(400)
  expect(answer.json.error.message).toContain('that collection is on solana')
})

it('rejects a transfer as unsupported', async () => {
  const collection = await createOnSolana()
  const parties = { sender_wallet_address: solanaWallet('a'), receiver_wallet_address: RECEIVER }
  const common = { contract_address: collection.address, blockchain: 'solana', ...parties }
  const { ENDPOINTS } = await import('../helpers/endpoints.ts')
  const refusal = (result: { success: boolean; error?: { issues: { message: string }[] } | undefined }) =>
    result.error?.issues.map(({ message }) => message)
  expect(refusal(ENDPOINTS.createnfttrans.request.safeParse({ ...common, metadata: plainMetadata(1) }))).toEqual([
    'transfers are unsupported on Solana',
  ])
  const transfer = { ...common, token_id: solanaWallet('mint'), nft_gdn_id: 'x' }
  expect(refusal(ENDPOINTS.transfernft.request.safeParse(transfer))).toEqual(['transfers are unsupported on Solana'])
})

describe('an address', () => {
  const good = solanaWallet('good')
  const bad: [string, string][] = [
    ['contains 0, O, I and l, which are not in base58', '0OIl'],
    ['has 31 bytes', `${'1'.repeat(31)}`],
    ['has 33 bytes', `1${good}`],
    ['has 33 bytes in at most 44 characters', '1'.repeat(33)],
    ['has too many leading ones', `${'1'.repeat(12)}${good}`],
    ['is an EVM address', WALLETS[0]],
    ['is empty', ''],
    ['begins or ends with whitespace', ` ${good}`],
    ['contains a letter of another script', `${good.slice(0, -1)}é`],
    ['is truncated', good.slice(0, 20)],
  ]
  it.each(bad)('is rejected if it %s', async (_, wrong) => {
    const collection = await backend.post('/api/v1/createcollection', {
      name: 'Test',
      ...SOLANA_COLLECTION,
      wallet_address: wrong,
    })
    expect([collection.status, collection.json.error.message]).toEqual([400, expect.stringContaining('wallet_address')])
    const nft = await backend.post('/api/v1/createnft', {
      contract_address: good,
      blockchain: 'solana',
      receiver_wallet_address: wrong,
      metadata: plainMetadata(1),
    })
    expect([nft.status, nft.json.error.message]).toEqual([400, expect.stringContaining('receiver_wallet_address')])
  })

  it('an address of Solana is rejected on an EVM blockchain', async () => {
    const answer = await backend.post('/api/v1/createcollection', {
      name: 'Test',
      blockchain: 'polygon',
      wallet_address: good,
    })
    expect(answer.status).toBe(400)
    expect(answer.json.error.message).toContain('wallet_address is not an EVM address')
  })
})

it('fails an NFT that exceeds the maximum size of the group, although the database does not know the limit', async () => {
  // A chain of its own, because the test helper replays no failed transactions.
  const other = await backendForTest()
  const collection = await createTestCollection(other, { ...SOLANA_COLLECTION, max_supply: 1 })
  await until(
    () => showCollection(other, collection.id),
    ({ status }) => status === 'deployed',
  )
  await withStore(other.dataDir, ({ db }) => db.updateTable('collections').set({ max_supply: null }).execute())
  const ids = await mint(other, collection, plainMetadata(2), { receiver: RECEIVER })
  const nfts = await settled(other, ids)
  expect(nfts.map((nft) => nft.status).sort()).toEqual(['deployed', 'failed'])
  expect(nfts.find((nft) => nft.status === 'failed')?.error).toMatch(
    /\(the collection already has its maximum supply\)$/,
  )
})
