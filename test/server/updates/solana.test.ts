/** @module-tag slow */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  settled,
  showNfts,
  type TestBackend,
} from '../../helpers/backend.ts'
import { expectRejected } from '../../helpers/expect-rejected.ts'
import { bytes, type FileServer, pngOf, startFileServer } from '../../helpers/file-server.ts'
import { balanceOf, readChain, readMint, SOLANA_COLLECTION, solanaWallet } from '../../helpers/solana.ts'
import { dynamicNfts, ended, historyOf, metadataOf, update } from '../../helpers/updates.ts'

const HOLDER = solanaWallet('holder')
const none = { __option: 'None' }

let backend: TestBackend
let files: FileServer

beforeAll(async () => {
  backend = await backendForFile()
  files = await startFileServer({ '/dusk.png': bytes(pngOf('dusk')) })
})
afterAll(async () => {
  await files?.close()
})

const post = (name: string, body: object) => backend.post(`/api/v1/${name}`, body)
const onSolana = (titles: readonly string[], more: object = {}) =>
  dynamicNfts(backend, titles, { ...SOLANA_COLLECTION, receiver: HOLDER, ...more })

async function mintOf(token: string | null | undefined) {
  return readMint(await readChain(backend.dataDir), token ?? '')
}

async function change(endpoint: 'freezenft' | 'burnnft', body: object) {
  const answer = await call(backend, endpoint, body)
  return await ended(backend, answer.response.transaction_gdn_id)
}

describe('an update on Solana', () => {
  it('replaces name, file and revision of the token, which wallets read', async () => {
    const { collection, ids, nfts } = await onSolana(['dawn', 'other'])
    expect(nfts).toMatchObject([{ is_dynamic: true, is_frozen: false, revision: 0 }, { revision: 0 }])
    const metadata = [{ ...metadataOf('dusk'), file_fields: [{ key: 'image', url: `${files.url}/dusk.png` }] }]
    const answer = await call(backend, 'updatednft', {
      nft_gdn_id: ids[0],
      contract_address: collection.address,
      metadata,
      replaces_revision: 0,
    })
    const done = await ended(backend, answer.response.transaction_gdn_id)
    expect(done).toMatchObject({ status: 'deployed', transaction_hash: expect.any(String), error: null })
    const [after, other] = await showNfts(backend, ids)
    expect(after).toMatchObject({ revision: 1, request_metadata: metadata[0], burned: false })
    expect(other).toMatchObject({ revision: 0, request_metadata: metadataOf('other') })
    const token = await mintOf(after?.token_id)
    expect(token).toMatchObject({
      supply: 1n,
      metadata: { name: 'dusk', uri: after?.metadata_url, additionalMetadata: new Map([['revision', '1']]) },
    })
    const file = await backend.get(`/ipfs/${after?.metadata_url?.slice('ipfs://'.length)}`)
    expect(await file.json()).toEqual({ name: 'dusk', description: '', image: expect.stringMatching(/^ipfs:/) })
  })

  it('is made in order, with texts of any length, and a name that is cut to fit', async () => {
    const { collection, ids } = await onSolana(['a'])
    const titles = ['b'.repeat(300), 'c', '光'.repeat(1000), 'd'.repeat(40)]
    for (const [index, title] of titles.entries()) {
      const id = await update(backend, collection, ids[0] ?? '', title, { replaces_revision: index })
      expect(await ended(backend, id)).toMatchObject({ status: 'deployed' })
      const [nft] = await showNfts(backend, ids)
      const token = await mintOf(nft?.token_id)
      expect(token?.metadata?.uri).toBe(nft?.metadata_url)
      expect(token?.metadata?.additionalMetadata).toEqual(new Map([['revision', String(index + 1)]]))
      expect(title.startsWith(token?.metadata?.name.replace('…', '') ?? '?')).toBe(true)
    }
  })

  it('is made for NFTs of creatednft in a collection that is not dynamic, also if it is locked', async () => {
    const collection = await createTestCollection(backend, { ...SOLANA_COLLECTION, is_locked: true })
    const [plain] = await mint(backend, collection, [metadataOf('plain')], { receiver: HOLDER })
    const created = await call(backend, 'creatednft', {
      ...{ contract_address: collection.address, blockchain: 'solana' },
      ...{ receiver_wallet_address: HOLDER, metadata: [metadataOf('dynamic')] },
    })
    const dynamic = created.nfts[0]?.nft_gdn_ids ?? ''
    const [before, other] = await settled(backend, [dynamic, plain ?? ''])
    expect([before?.is_dynamic, other?.is_dynamic]).toEqual([true, false])
    expect((await mintOf(other?.token_id))?.metadata?.updateAuthority).toEqual(none)
    expect(await ended(backend, await update(backend, collection, dynamic, 'new'))).toMatchObject({
      status: 'deployed',
    })
    expect((await mintOf(before?.token_id))?.metadata?.name).toBe('new')
    const body = { nft_gdn_id: plain, contract_address: collection.address, metadata: [metadataOf('new')] }
    expectRejected(await post('updatednft', body), /is not dynamic: only NFTs from creatednft/)
  })

  it('an update on Solana of a revision that was replaced, or of an NFT with a pending update, is refused', async () => {
    const { collection, ids } = await onSolana(['a'])
    await ended(backend, await update(backend, collection, ids[0] ?? '', 'b'))
    const body = { nft_gdn_id: ids[0], contract_address: collection.address, metadata: [metadataOf('c')] }
    expectRejected(
      await post('updatednft', { ...body, replaces_revision: 0 }),
      /replaces_revision is 0, but the NFT has revision 1/,
    )
    const [first, second] = await Promise.all([post('updatednft', body), post('updatednft', body)])
    expect([first.status, second.status].sort()).toEqual([200, 400])
  })

  it('is refused without an address of the collection', async () => {
    const { ids } = await onSolana(['a'])
    const body = { nft_gdn_id: ids[0], contract_address: solanaWallet('none'), metadata: [metadataOf('b')] }
    expectRejected(await post('updatednft', body), /is not a collection of this account/)
  })
})

describe('a freeze on Solana', () => {
  it('removes the update authority, so that nobody can update the token', async () => {
    const { collection, ids, nfts } = await onSolana(['a', 'b', 'c'])
    const body = { contract_address: collection.address, nft_gdn_ids: ids.slice(0, 2) }
    expect(await change('freezenft', body)).toMatchObject({ status: 'deployed' })
    const shownNfts = await showNfts(backend, ids)
    expect(shownNfts.map(({ is_frozen }) => is_frozen)).toEqual([true, true, false])
    expect((await mintOf(nfts[0]?.token_id))?.metadata?.updateAuthority).toEqual(none)
    expect((await mintOf(nfts[2]?.token_id))?.metadata?.updateAuthority).not.toEqual(none)
    const secondRequest = { nft_gdn_id: ids[0], contract_address: collection.address, metadata: [metadataOf('b')] }
    expectRejected(await post('updatednft', secondRequest), /the metadata of the NFT .* is frozen/)
    // A second freeze has no effect.
    expect(await change('freezenft', body)).toMatchObject({ status: 'deployed', error: null })
  })
})

describe('a burn on Solana', () => {
  it('is made by the service only where the collection was created with enable_burn', async () => {
    const { collection, ids, nfts } = await onSolana(['a', 'b'], { enable_burn: true, is_locked: true })
    const body = { contract_address: collection.address, nft_gdn_id: ids[0], holder_wallet_address: HOLDER }
    expectRejected(
      await post('burnnft', { ...body, holder_wallet_address: solanaWallet('other') }),
      /holder_wallet_address does not own the NFT$/,
    )
    expectRejected(
      await post('burnnft', { ...body, holder_wallet_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' }),
      /holder_wallet_address is an EVM address/,
    )
    const done = await change('burnnft', body)
    expect(done).toMatchObject({ status: 'deployed', transaction_hash: expect.any(String) })
    const [burned, other] = await showNfts(backend, ids)
    expect(burned).toMatchObject({ burned: true, receiver_wallet_address: null })
    expect(other).toMatchObject({ burned: false, receiver_wallet_address: HOLDER })
    const events = await historyOf(backend, ids[0] ?? '')
    expect(events).toMatchObject([{ kind: 'mint' }, { kind: 'burn', from: HOLDER, to: null }])
    expect((await mintOf(nfts[0]?.token_id))?.supply).toBe(0n)
    expect(await balanceOf(await readChain(backend.dataDir), nfts[0]?.token_id ?? '', HOLDER)).toBe(0n)
    expectRejected(await post('burnnft', body), /the NFT was burned/)
    const after = { nft_gdn_id: ids[0], contract_address: collection.address, metadata: [metadataOf('b')] }
    expectRejected(await post('updatednft', after), /the NFT was burned/)
  })

  it('is refused elsewhere, where the service could not make it: it is no delegate of the tokens', async () => {
    const { collection, ids, nfts } = await onSolana(['a'])
    const body = { contract_address: collection.address, nft_gdn_id: ids[0], holder_wallet_address: HOLDER }
    expectRejected(await post('burnnft', body), /created without enable_burn/)
    expect((await mintOf(nfts[0]?.token_id))?.permanentDelegate).toBeUndefined()
  })
})

it('refuses royalties, which Token-2022 does not have', async () => {
  const body = { name: 'T', ...SOLANA_COLLECTION, royalty_bps: 500 }
  const answer = await post('createcollection', body)
  expect(answer.status).toBe(400)
  expect(answer.json.error.message).toContain('royalty_bps is unsupported on Solana')
})
