/** @module-tag slow */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  backendForFile,
  call,
  createTestCollection,
  settled,
  type TestBackend,
  type TestCollection,
  WALLETS,
} from '../../helpers/backend.ts'
import { makeKey } from '../../helpers/keys.ts'

const [OWNER, ALICE] = WALLETS
const LABEL = 'jan/drop.csv'

let backend: TestBackend
let collection: TestCollection

beforeAll(async () => {
  backend = await backendForFile()
})
beforeEach(async () => {
  collection = await createTestCollection(backend, { enable_transfer: true, enable_burn: true })
})

const where = () => ({ contract_address: collection.address, blockchain: 'polygon' as const })
const metadataOf = (title: string) => ({ title, description: '', file_fields: [] })

const send = (references: readonly string[], more: object = {}) =>
  backend.post('/api/v1/createnft', {
    ...{ ...where(), receiver_wallet_address: ALICE, metadata: references.map(metadataOf) },
    ...{ reference_ids: references, reference_label: LABEL, reference_kinds: references.map(() => 'content'), ...more },
  })

/** Mints NFTs of rows without an ID, and returns their IDs. */
async function mint(references: readonly string[], more: object = {}): Promise<string[]> {
  const { status, json } = await send(references, more)
  expect([status, json.error]).toEqual([200, undefined])
  return json.nfts.map(({ nft_gdn_ids }: { nft_gdn_ids: string }) => nft_gdn_ids)
}

const alias = (reference_ids: readonly string[], nft_gdn_ids: readonly unknown[], more: object = {}, headers = {}) =>
  backend.post(
    '/api/v1/aliasreferences',
    { operation: 'createnft', ...where(), reference_ids, nft_gdn_ids, ...more },
    headers,
  )

const lookUp = async (...reference_ids: string[]) =>
  (await call(backend, 'getreferences', { operation: 'createnft', ...where(), reference_ids })).references

const unaliased = async (more: object = {}) => {
  const of = { operation: 'createnft', ...where(), reference_label: LABEL, ...more }
  const { references } = await call(backend, 'getcontentreferences', of)
  return references.map(({ reference_id, nft_gdn_id }) => [reference_id, nft_gdn_id])
}

const codeOf = ({ status, headers }: { status: number; headers: Headers }) => [status, headers.get('error-code')]
const CONFLICT = [409, 'reference_id_conflict']

describe('an alias', () => {
  it('is announced, and names the NFT with the label and digest of its reference ID', {
    tags: ['promise'],
  }, async () => {
    const [a, b] = await mint(['a', 'b'])
    const { json, headers } = await alias(['id-a', 'id-b'], [a, b])
    expect(headers.get('reference-aliases-supported')).toBe('yes')
    expect(json).toMatchObject({ aliased: 2, requests: { reference_ids: ['id-a', 'id-b'], nft_gdn_ids: [a, b] } })
    const [of, named] = await lookUp('a', 'id-a')
    expect(of).toMatchObject({ nft_gdn_id: a, reference_kind: 'content', reference_alias: 'id-a' })
    const kinds = { reference_kind: 'id', reference_alias: null, reference_label: LABEL }
    expect(named).toMatchObject({ nft_gdn_id: a, digest: of?.digest, is_free: false, ...kinds })
  })

  it('may be stored again, which changes nothing', async () => {
    const [a, b] = await mint(['a', 'b'])
    await alias(['id-a'], [a])
    expect((await alias(['id-a', 'id-b'], [a, b])).json.aliased).toBe(1)
    expect((await alias(['id-a', 'id-b'], [a, b])).json.aliased).toBe(0)
  })

  it('prevents a second mint: createnft returns the NFT, or 409 for other content', { tags: ['promise'] }, async () => {
    const [a] = await mint(['a'])
    await alias(['id-a'], [a])
    const sameResponse = await send(['id-a'], { metadata: [metadataOf('a')], reference_kinds: ['id'] })
    expect(sameResponse.json.nfts).toMatchObject([{ nft_gdn_ids: a, created: false }])
    expect(codeOf(await send(['id-a'], { metadata: [metadataOf('edited')] }))).toEqual(CONFLICT)
    expect(await mint(['a'])).toEqual([a])
  })

  it('an alias of another NFT returns 409 and changes nothing, also where both are equal', async () => {
    const [a, b, same, duplicate] = await mint(['a', 'b', 'same', 'duplicate'], {
      metadata: ['a', 'b', 'same', 'same'].map(metadataOf),
    })
    await alias(['id-a', 'id-same'], [a, same])
    for (const [id, nft] of [
      ['id-a', b],
      ['id-same', duplicate],
    ]) {
      expect(codeOf(await alias(['new', id ?? ''], [nft === b ? duplicate : b, nft]))).toEqual(CONFLICT)
      expect(await lookUp('new')).toEqual([])
    }
    expect((await unaliased()).map(([id]) => id)).toEqual(['b', 'duplicate'])
  })

  it('is the only one of its NFT', async () => {
    const [a, b] = await mint(['a', 'b'])
    await alias(['1'], [a])
    const { status, json } = await alias(['3', '2'], [b, a])
    expect([status, json.error.message]).toEqual([
      409,
      `nft_gdn_ids[1] ${a} already has an alias other than "2"; nothing was changed`,
    ])
    expect(await lookUp('2', '3')).toEqual([])
  })

  it('is stored for one of several machines that pair differently at once, and never for both', async () => {
    const [a, b] = await mint(['a', 'b'], { metadata: ['same', 'same'].map(metadataOf) })
    const orders = Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? [a, b] : [b, a]))
    const answers = await Promise.all(orders.map((nfts) => alias(['1', '2'], nfts)))
    const [first, second] = await lookUp('1', '2')
    expect([first?.nft_gdn_id, second?.nft_gdn_id].sort()).toEqual([a, b].sort())
    for (const [n, { status }] of answers.entries()) {
      expect(status).toBe(orders[n]?.[0] === first?.nft_gdn_id ? 200 : 409)
    }
  })

  it('needs an NFT whose reference ID was made from content', async () => {
    const [named] = await mint(['named'], { reference_kinds: ['id'] })
    const [unknown] = await mint(['unknown'], { reference_kinds: undefined })
    const [plain] = await mint(['plain'], {
      reference_ids: undefined,
      reference_kinds: undefined,
      reference_label: undefined,
    })
    for (const nft of [named, unknown, plain, '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d']) {
      const { status, json } = await alias(['x'], [nft])
      expect([status, json.error.message]).toEqual([
        400,
        'nft_gdn_ids[0] is repeated, is not an NFT of this collection, or has a reference ID that was not derived from content',
      ])
    }
    expect(await lookUp('x')).toEqual([])
  })

  it('an alias of an NFT with another label returns 409', async () => {
    const [a] = await mint(['a'])
    expect(codeOf(await alias(['x'], [a], { reference_label: 'feb/drop.csv' }))).toEqual([
      409,
      'reference_label_conflict',
    ])
    expect((await alias(['x'], [a], { reference_label: LABEL })).status).toBe(200)
    expect(codeOf(await send(['x'], { metadata: [metadataOf('a')], reference_label: 'feb/drop.csv' }))).toEqual([
      409,
      'reference_label_conflict',
    ])
  })

  it('is given to another NFT after its own failed without a token', async () => {
    const missing = { file_fields: [{ key: 'image', url: `${backend.url}/missing.png` }] }
    const [failed] = await mint(['a'], { metadata: [{ ...metadataOf('a'), ...missing }] })
    await alias(['x'], [failed])
    await settled(backend, [failed ?? ''])
    const [again] = await mint(['x'], { metadata: [metadataOf('fixed')] })
    expect(await lookUp('x')).toMatchObject([{ nft_gdn_id: again, is_free: false }])
    const [other] = await mint(['a'])
    expect(await lookUp('a')).toMatchObject([{ nft_gdn_id: other, reference_alias: null }])
  })

  it('an alias of createnfttrans belongs to that operation', async () => {
    const body = {
      ...{ ...where(), sender_wallet_address: OWNER, receiver_wallet_address: ALICE, metadata: [metadataOf('a')] },
      ...{ reference_ids: ['a'], reference_kinds: ['content'] },
    }
    const { json } = await backend.post('/api/v1/createnfttrans', body)
    const [{ nft_gdn_ids: nft }] = json.nfts
    expect((await alias(['x'], [nft])).status).toBe(400)
    expect((await alias(['x'], [nft], { operation: 'createnfttrans' })).json.aliased).toBe(1)
    expect((await alias(['x'], [nft], { operation: 'creatednft' })).status).toBe(400)
  })

  it('rejects hostile input', async () => {
    const [a, b] = await mint(['a', 'b'])
    const many = Array.from({ length: 1001 }, (_, n) => `r${n}`)
    const cases: [readonly string[], readonly unknown[], object?][] = [
      [['x'], []],
      [[], []],
      [['x', 'y'], [a]],
      [['x'], [a, b]],
      [['x y'], [a]],
      [['x'.repeat(201)], [a]],
      [['x'], ['']],
      [['x'], ['x'.repeat(10_000)]],
      [['x'], [1]],
      [
        ['x', 'y'],
        [a, a],
      ],
      [many, many],
      [['x'], [a], { reference_label: 'a\u0007' }],
      [['x'], [a], { operation: 'transfernft' }],
      [['x'], [a], { extra: 1 }],
    ]
    for (const [ids, nfts, more] of cases) {
      expect([ids.slice(0, 2), (await alias(ids, nfts, more)).status]).toEqual([ids.slice(0, 2), 400])
    }
    expect((await alias(['x', 'x'], [a, b])).status).toBe(422)
    expect(await lookUp('x', 'y')).toEqual([])
  })

  it("needs the permission nft:create, and the account's own collection and NFT", async () => {
    const [a] = await mint(['a'])
    const reader = await makeKey(backend.dataDir, { email: 'reader@example.com', permissions: ['nft:read'] })
    expect((await alias(['x'], [a], {}, reader.headers)).status).toBe(403)
    const stranger = await makeKey(backend.dataDir, { email: 'stranger@example.com' })
    const foreign = await alias(['x'], [a], {}, stranger.headers)
    expect([foreign.status, foreign.json.error.message]).toEqual([
      400,
      `contract_address ${collection.address} is not a collection of this account`,
    ])
    // An NFT of another collection, own or not, is answered like one that does not exist.
    const first = collection
    collection = await createTestCollection(backend, {})
    expect((await alias(['x'], [a])).status).toBe(400)
    collection = first
    expect(await lookUp('x', 'a')).toMatchObject([{ reference_id: 'a', reference_alias: null }])
  })
})

describe('getcontentreferences', () => {
  it('lists the NFTs of a label that were minted without an ID and have no alias', async () => {
    const [a, b] = await mint(['a', 'b'])
    await mint(['named'], { reference_kinds: ['id'] })
    await mint(['other'], { reference_label: 'feb/drop.csv' })
    expect(await unaliased()).toEqual([
      ['a', a],
      ['b', b],
    ])
    await alias(['x'], [a])
    expect(await unaliased()).toEqual([['b', b]])
    expect(await unaliased({ operation: 'createnfttrans' })).toEqual([])
  })

  it('leaves out failed and burned NFTs', async () => {
    const missing = { file_fields: [{ key: 'image', url: `${backend.url}/missing.png` }] }
    const ids = await mint(['a', 'b', 'c'], {
      metadata: [{ ...metadataOf('a'), ...missing }, metadataOf('b'), metadataOf('c')],
    })
    await settled(backend, ids)
    await call(backend, 'burnnft', {
      ...{ contract_address: collection.address, nft_gdn_id: ids[1], holder_wallet_address: ALICE },
    })
    await expect.poll(unaliased).toEqual([['c', ids[2]]])
  })

  it('continues after the last reference ID', async () => {
    const ids = Array.from({ length: 50 }, (_, n) => `r${String(n).padStart(3, '0')}`)
    await mint(ids)
    expect((await unaliased({ after: 'r047' })).map(([id]) => id)).toEqual(['r048', 'r049'])
    const of = { operation: 'createnft', ...where(), reference_label: LABEL }
    expect((await call(backend, 'getcontentreferences', of)).next).toBeNull()
  })

  it('rejects hostile input, and needs nft:read', async () => {
    const list = (more: object, headers = {}) =>
      backend.post(
        '/api/v1/getcontentreferences',
        { operation: 'createnft', ...where(), reference_label: LABEL, ...more },
        headers,
      )
    for (const more of [
      { reference_label: '' },
      { reference_label: undefined },
      { after: 'x y' },
      { operation: 'x' },
    ]) {
      expect((await list(more)).status).toBe(400)
    }
    const writer = await makeKey(backend.dataDir, { email: 'writer@example.com', permissions: ['nft:create'] })
    expect((await list({}, writer.headers)).status).toBe(403)
    const stranger = await makeKey(backend.dataDir, { email: 'another@example.com' })
    expect((await list({}, stranger.headers)).status).toBe(400)
  })
})
