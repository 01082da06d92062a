import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { operationDigest } from '../../../src/api/operation-digest.ts'
import {
  type Answer,
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { store } from '../../helpers/explorer.ts'
import { makeKey } from '../../helpers/keys.ts'
import { seededRandom } from '../../helpers/seed.ts'
import { SOLANA_COLLECTION, solanaWallet } from '../../helpers/solana.ts'

const [OWNER, ALICE, BOB] = WALLETS
const STATUS = expect.stringMatching(/^(initiated|deployed)$/)

let backend: TestBackend
let collection: TestCollection

beforeAll(async () => {
  backend = await backendForFile()
})
beforeEach(async () => {
  collection = await createTestCollection(backend, { enable_transfer: true })
})

interface Row {
  reference: string
  title?: string
  receiver?: string
}

const metadataOf = ({ reference, title = reference }: Row) => ({ title, description: '', file_fields: [] })

const bodyOf = (rows: readonly Row[], more: object = {}) => ({
  contract_address: collection.address,
  blockchain: 'polygon',
  receiver_wallet_address: rows[0]?.receiver ?? ALICE,
  metadata: rows.map(metadataOf),
  reference_ids: rows.map(({ reference }) => reference),
  ...more,
})
const send = (rows: readonly Row[], headers: Record<string, string> = {}, more: object = {}) =>
  backend.post('/api/v1/createnft', bodyOf(rows, more), headers)
const named = (...references: string[]): Row[] => references.map((reference) => ({ reference }))

const idsOf = ({ json }: Answer): string[] => json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
const createdOf = ({ json }: Answer): boolean[] => json.nfts.map((nft: { created: boolean }) => nft.created)

const listIds = async (): Promise<string[]> =>
  (await call(backend, 'getnftgdnids', { contract_addresses: collection.address, blockchain: 'polygon' })).nft_gdn_ids

const lookUp = async (...reference_ids: string[]) => {
  const where = { contract_address: collection.address, blockchain: 'polygon', operation: 'createnft' }
  return (await call(backend, 'getreferences', { ...where, reference_ids })).references
}

describe('a request without reference IDs', () => {
  it('gets the same response as before, with a header that announces them', async () => {
    const { reference_ids: _, ...body } = bodyOf(named('a'))
    const { json, headers } = await backend.post('/api/v1/createnft', body)
    expect(headers.get('reference-ids-supported')).toBe('yes')
    expect(headers.get('updates-supported')).toBe('yes')
    expect(Object.keys(json.nfts[0])).toEqual(['nft_gdn_ids', 'accepted_date'])
    expect(Object.keys(json.requests)).toEqual(['contract_address', 'receiver_wallet_address', 'metadata'])
  })

  it('creates again each time', async () => {
    await mint(backend, collection, plainMetadata(1))
    await mint(backend, collection, plainMetadata(1))
    expect(await listIds()).toHaveLength(2)
  })
})

describe('the same reference IDs with the same operations', () => {
  it('return the existing NFTs and create nothing, in any grouping of requests', async () => {
    const first = await send(named('a', 'b', 'c', 'd'))
    expect(createdOf(first)).toEqual([true, true, true, true])
    const [a, b, c, d] = idsOf(first)
    expect(idsOf(await send(named('d', 'b')))).toEqual([d, b])
    expect(idsOf(await send(named('c')))).toEqual([c])
    const secondResponse = await send(named('b', 'a', 'd', 'c'))
    expect(idsOf(secondResponse)).toEqual([b, a, d, c])
    expect(createdOf(secondResponse)).toEqual([false, false, false, false])
    expect(secondResponse.json.nfts[0]).toEqual({ ...first.json.nfts[1], created: false })
    expect(await listIds()).toEqual([a, b, c, d])
  })

  it('may be mixed with new ones: the IDs are in the order of the request', async () => {
    const [b] = idsOf(await send(named('b')))
    const mixed = await send(named('a', 'b', 'c'))
    expect(createdOf(mixed)).toEqual([true, false, true])
    expect(idsOf(mixed)[1]).toBe(b)
    expect(await listIds()).toEqual([b, idsOf(mixed)[0], idsOf(mixed)[2]])
  })

  it('do not depend on the order of keys, white space, or the case of addresses', async () => {
    const [first] = idsOf(await send(named('a')))
    const { metadata, ...rest } = bodyOf(named('a'))
    const reordered = metadata.map(({ title, ...others }) => ({ ...others, title }))
    const body = JSON.stringify({ metadata: reordered, ...rest }, null, 2).replace(ALICE, ALICE.toLowerCase())
    expect(idsOf(await backend.post('/api/v1/createnft', body))).toEqual([first])
  })

  it('may be a string with one metadata object', async () => {
    const single = { metadata: metadataOf({ reference: 'a' }), reference_ids: 'a' }
    const first = await send([], {}, single)
    expect(idsOf(await send(named('a')))).toEqual(idsOf(first))
    expect(first.json.requests.reference_ids).toBe('a')
  })

  it('are kept across a restart', async () => {
    const first = await send(named('a', 'b'))
    await backend.close()
    backend = await backendForFile({ dataDir: backend.dataDir })
    expect(idsOf(await send(named('b', 'a')))).toEqual(idsOf(first).reverse())
  })

  it('store nothing, unless the request has an Idempotency-Key', async () => {
    await send(named('a'))
    const countRequests = () =>
      withStore(backend.dataDir, async ({ db }) => (await db.selectFrom('requests').select('id').execute()).length)
    const count = await countRequests()
    await send(named('a'))
    expect(await countRequests()).toBe(count)
    await send(named('a'), { 'idempotency-key': `${collection.id}-kept` })
    expect(await countRequests()).toBe(count + 1)
  })

  it('return existing NFTs even if a new one would be rejected', async () => {
    const first = await send(named('a'))
    await withStore(backend.dataDir, ({ db }) =>
      db.updateTable('collections').set({ enable_api: 0 }).where('id', '=', collection.id).execute(),
    )
    expect(idsOf(await send(named('a')))).toEqual(idsOf(first))
    expect((await send(named('a', 'b'))).status).toBe(400)
    expect(await lookUp('b')).toEqual([])
  })

  it('differ between collections and endpoints', async () => {
    const first = await send(named('a'))
    const grant = { ...bodyOf(named('a')), sender_wallet_address: OWNER }
    const granted = await backend.post('/api/v1/createnfttrans', grant)
    expect(createdOf(granted)).toEqual([true])
    expect(idsOf(await backend.post('/api/v1/createnfttrans', grant))).toEqual(idsOf(granted))
    collection = await createTestCollection(backend)
    const second = await send(named('a'))
    expect(createdOf(second)).toEqual([true])
    expect(new Set([first, granted, second].flatMap(idsOf)).size).toBe(3)
  })

  it('work the same on Solana, where addresses have one spelling', async () => {
    collection = await createTestCollection(backend, { ...SOLANA_COLLECTION, image: await store(backend, 'logo') })
    const onSolana = (receiver: string) =>
      send([{ reference: 'a', receiver }, { reference: 'b' }], {}, { blockchain: 'solana' })
    const first = await onSolana(solanaWallet('receiver'))
    const secondResponse = await onSolana(solanaWallet('receiver'))
    expect([idsOf(secondResponse), createdOf(secondResponse)]).toEqual([idsOf(first), [false, false]])
    expect((await onSolana(solanaWallet('other'))).status).toBe(409)
    expect((await settled(backend, idsOf(first))).map(({ status }) => status)).toEqual(['deployed', 'deployed'])
  })

  it('create each NFT once for any simultaneous requests', async () => {
    const { random } = seededRandom('references')
    const rows = Array.from({ length: 12 }, (_, n) => `row-${n}`)
    const some = () => rows.filter(() => random() < 0.4).sort(() => random() - 0.5)
    const groups = [...Array.from({ length: 30 }, some).filter((group) => group.length > 0), rows]
    const answers = await Promise.all(groups.map((group) => send(named(...group))))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const ids = new Map(idsOf(answers.at(-1) as Answer).map((id, n) => [rows[n], id]))
    for (const [n, answer] of answers.entries()) {
      expect(idsOf(answer)).toEqual(groups[n]?.map((reference) => ids.get(reference)))
    }
    expect(answers.flatMap(createdOf).filter(Boolean)).toHaveLength(rows.length)
    expect([...(await listIds())].sort()).toEqual([...ids.values()].sort())
  })
})

describe('a reference ID that belongs to another operation', () => {
  it('returns 409 with both digests and creates nothing of the request', async () => {
    const [a] = idsOf(await send(named('a')))
    const refused = await send([{ reference: 'new' }, { reference: 'a', title: 'Another' }])
    expect([refused.status, refused.headers.get('error-code')]).toEqual([409, 'reference_id_conflict'])
    const [digest, request_digest] = ['a', 'Another'].map((title) =>
      operationDigest('createnft', { metadata: metadataOf({ reference: title }), receiver_wallet_address: ALICE }),
    )
    expect(refused.json.error).toEqual({
      title: 'Conflict',
      message: `reference_ids[1] "a" belongs to another operation: ${a} has the digest ${digest}, but this request has ${request_digest}; nothing was accepted`,
      conflict_count: 1,
      conflicts: [{ reference_id: 'a', index: 1, nft_gdn_id: a, status: STATUS, digest, request_digest }],
    })
    expect(await listIds()).toEqual([a])
    expect(await lookUp('new')).toEqual([])
  })

  it('returns 409 even if only the receiver or the sender differs', async () => {
    await send(named('a'))
    expect((await send([{ reference: 'a', receiver: BOB }])).status).toBe(409)
    const grant = (sender_wallet_address: string) =>
      backend.post('/api/v1/createnfttrans', { ...bodyOf(named('a')), sender_wallet_address })
    expect((await grant(OWNER)).status).toBe(200)
    expect((await grant(BOB)).status).toBe(409)
  })

  it('returns 409 for all but one of several simultaneous operations', async () => {
    const titles = Array.from({ length: 10 }, (_, n) => `Title ${n}`)
    const answers = await Promise.all(titles.map((title) => send([{ reference: 'a', title }])))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array<number>(9).fill(409)])
    expect(await listIds()).toHaveLength(1)
  })

  it('is one of at most 50 in the response, which has the total', async () => {
    const rows = Array.from({ length: 60 }, (_, n) => `row-${n}`)
    await send(named(...rows))
    const { json } = await send(rows.map((reference) => ({ reference, title: 'Another' })))
    expect([json.error.conflict_count, json.error.conflicts.length]).toEqual([60, 50])
  })
})

describe('rejects a request', () => {
  it('with 422 if it has a reference ID twice', async () => {
    const { status, headers, json } = await send(named('a', 'b', 'a'))
    expect([status, headers.get('error-code')]).toEqual([422, 'reference_id_repeated'])
    expect(json.error.message).toContain('reference_ids[2] repeats "a"')
    expect(await listIds()).toEqual([])
  })

  it.each([
    ['fewer reference IDs than NFTs', { reference_ids: ['a'] }, /reference_ids must have one entry for each of the 2/],
    ['more of them', { reference_ids: ['a', 'b', 'c'] }, /reference_ids must have one entry for each of the 2/],
    ['an empty one', { reference_ids: ['a', ''] }, /reference_ids\[1\]/],
    ['one that is too long', { reference_ids: ['a', 'x'.repeat(201)] }, /reference_ids\[1\] must have 1 to 200/],
    ['one with a space', { reference_ids: ['a b', 'c'] }, /reference_ids\[0\]/],
    ['one that is null', { reference_ids: ['a', null] }, /reference_ids\[1\]/],
    ['an object', { reference_ids: {} }, /reference_ids/],
  ])('with 400 for %s', async (_, change, message) => {
    const { status, json } = await send(named('a', 'b'), {}, change)
    expect(status).toBe(400)
    expect(json.error).toEqual({ title: 'Request Validation Error', message: expect.stringMatching(message) })
    expect(await listIds()).toEqual([])
  })
})

describe('beside an Idempotency-Key', () => {
  const key = (value: string) => ({ 'idempotency-key': `${collection.id}-${value}` })

  it('the same key and body replay the first response byte for byte', async () => {
    const first = await send(named('a'), key('1'))
    const second = await send(named('a'), key('1'))
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(second.json).toEqual(first.json)
  })

  it('another key returns the existing NFTs and stores that response', async () => {
    const first = await send(named('a'), key('1'))
    const second = await send(named('a'), key('2'))
    expect(second.headers.get('idempotency-replayed')).toBeNull()
    expect([idsOf(second), createdOf(second)]).toEqual([idsOf(first), [false]])
    const third = await send(named('a'), key('2'))
    expect([third.headers.get('idempotency-replayed'), third.json]).toEqual(['true', second.json])
    const other = await send(named('b'), key('2'))
    expect([other.status, other.headers.get('error-code')]).toEqual([422, 'idempotency_key_reused'])
  })

  it('a conflict does not store the key', async () => {
    await send(named('a'))
    expect((await send([{ reference: 'a', title: 'Another' }], key('1'))).status).toBe(409)
    expect((await send(named('b'), key('1'))).status).toBe(200)
  })
})

describe('an NFT that failed', () => {
  const withFile = (reference: string, url: string) => ({
    metadata: [{ ...metadataOf({ reference }), file_fields: [{ key: 'image', url }] }],
  })

  it('without a token frees its reference ID: a retry mints, also with other metadata', async () => {
    const missing = `${backend.url}/missing.png`
    const failed = await send(named('a'), {}, withFile('a', missing))
    const [{ status, error } = {}] = await settled(backend, idsOf(failed))
    expect([status, error]).toEqual(['failed', expect.any(String)])
    expect(await lookUp('a')).toMatchObject([{ nft_gdn_id: idsOf(failed)[0], status: 'failed', is_free: true }])
    const retried = await send(named('a'), {}, withFile('a', await store(backend, 'a file')))
    expect(createdOf(retried)).toEqual([true])
    expect(await settled(backend, idsOf(retried))).toMatchObject([{ status: 'deployed' }])
    expect(await lookUp('a')).toMatchObject([{ nft_gdn_id: idsOf(retried)[0], status: 'deployed', is_free: false }])
    expect((await send(named('a'), {}, withFile('a', missing))).status).toBe(409)
  })

  it('is created again only once by simultaneous requests', async () => {
    const failed = await send(named('a', 'b'))
    await fail(idsOf(failed))
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(named('b', 'a'))))
    expect(new Set(answers.map((answer) => idsOf(answer).join())).size).toBe(1)
    expect(answers.flatMap(createdOf).filter(Boolean)).toHaveLength(2)
    expect(await listIds()).toHaveLength(4)
  })

  const fail = (ids: readonly string[], transaction_id: string | null = null) =>
    withStore(backend.dataDir, async ({ db }) => {
      const change = { status: 'failed', step: 'done', transaction_id, token_id: null, generation: 1000 } as never
      await db.updateTable('nfts').set(change).where('id', 'in', ids).execute()
    })

  it.each([
    ['its transaction reverted', 'reverted', true],
    ['its transaction was cancelled', 'cancelled', true],
    ['its transaction is pending', 'signed', false],
    ['its transaction was mined', 'final', false],
  ])('has a free reference ID or not by the state of its transaction: %s', async (_, state, isFree) => {
    const created = await send(named('a'))
    const [nft] = await settled(backend, idsOf(created))
    await withStore(backend.dataDir, async ({ db }) => {
      const { transaction_id } = await db
        .selectFrom('nfts')
        .select('transaction_id')
        .where('id', '=', nft?.nft_gdn_id ?? '')
        .executeTakeFirstOrThrow()
      const change = { id: `${transaction_id}-copy`, hash: `copy-${state}`, nonce: -1, state, signer: collection.id }
      const model = await db
        .selectFrom('transactions')
        .selectAll()
        .where('id', '=', transaction_id)
        .executeTakeFirstOrThrow()
      // It is not due, so no worker processes it.
      const copy = { ...model, ...change, collection_id: null, next_attempt_at: Number.MAX_SAFE_INTEGER }
      await db
        .insertInto('transactions')
        .values(copy as never)
        .execute()
      await fail(idsOf(created), change.id)
    })
    expect(await lookUp('a')).toMatchObject([{ status: 'failed', is_free: isFree }])
    const secondResponse = await send(named('a'))
    expect(createdOf(secondResponse)).toEqual([isFree])
    if (!isFree) expect(idsOf(secondResponse)).toEqual(idsOf(created))
    await withStore(backend.dataDir, ({ db }) =>
      db.deleteFrom('transactions').where('hash', '=', `copy-${state}`).execute(),
    )
  })

  it('has no free reference ID if unknown tokens were found later, as one may be its own', async () => {
    const created = await send(named('a'))
    await fail(idsOf(created))
    const find = (found_at: number, hash: string) =>
      withStore(backend.dataDir, ({ db }) =>
        db
          .insertInto('unknown_mints')
          .values({
            ...{ collection_id: collection.id, hash, blockchain: 'polygon', block_number: 1, start_id: '1' },
            ...{ token_count: 1, state: 'released', found_at },
          })
          .execute(),
      )
    await find(1, 'earlier')
    expect(await lookUp('a')).toMatchObject([{ is_free: true }])
    await find(Date.now() + 60_000, 'later')
    expect(await lookUp('a')).toMatchObject([{ is_free: false }])
    expect([idsOf(await send(named('a'))), createdOf(await send(named('a')))]).toEqual([idsOf(created), [false]])
    expect((await send([{ reference: 'a', title: 'Another' }])).status).toBe(409)
  })
})

describe('getreferences', () => {
  it('returns the operation of each reference ID in the order of the request and omits unknown ones', async () => {
    const [a, b] = idsOf(await send(named('a', 'b')))
    const records = await lookUp('b', 'unknown', 'a', 'b')
    expect(records.map(({ reference_id, nft_gdn_id }) => [reference_id, nft_gdn_id])).toEqual([
      ['b', b],
      ['a', a],
    ])
    expect(records[1]).toEqual({
      ...{ reference_id: 'a', nft_gdn_id: a, is_free: false },
      status: STATUS,
      digest: operationDigest('createnft', {
        metadata: metadataOf({ reference: 'a' }),
        receiver_wallet_address: ALICE,
      }),
      accepted_date: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      ...{ reference_label: null, reference_kind: null, reference_alias: null },
    })
  })

  it('accepts up to 1,000 reference IDs and names the errors of a request', async () => {
    const many = Array.from({ length: 1001 }, (_, n) => `row-${n}`)
    expect(await lookUp(...many.slice(0, 1000))).toEqual([])
    const where = { contract_address: collection.address, blockchain: 'polygon' }
    const ask = async (body: object) => {
      const { status, json } = await backend.post('/api/v1/getreferences', body)
      return [status, json.error?.message]
    }
    expect(await ask({ ...where, operation: 'createnft', reference_ids: many })).toEqual([
      400,
      'reference_ids must have at most 1000 entries',
    ])
    expect(await ask({ ...where, operation: 'getnfts', reference_ids: ['a'] })).toEqual([
      400,
      'operation must be one of createnft, createnfttrans, transfernft, creatednft, updatednft, freezenft, burnnft, commitprovenance, createcollection',
    ])
    expect(await ask({ operation: 'createnft', reference_ids: ['a'] })).toEqual([
      400,
      expect.stringContaining('contract_address is required'),
    ])
    expect(await ask({ ...where, operation: 'createcollection', reference_ids: ['a'] })).toEqual([
      400,
      expect.stringContaining('contract_address is not a known field'),
    ])
    expect(await ask([])).toEqual([400, expect.any(String)])
  })

  it('needs the permission nft:read', async () => {
    const writer = await makeKey(backend.dataDir, { email: 'writer@example.com', permissions: ['nft:create'] })
    const body = { operation: 'createcollection', reference_ids: ['a'] }
    expect((await backend.post('/api/v1/getreferences', body, writer.headers)).status).toBe(403)
  })
})

describe('a transfer', () => {
  it('with the same reference ID is executed once, even after another transfer of the NFT', async () => {
    const [nft_gdn_id] = await mint(backend, collection, plainMetadata(1), { receiver: ALICE })
    const [nft] = await settled(backend, [nft_gdn_id ?? ''])
    const transfer = (sender: string, receiver: string, reference_id: string) =>
      backend.post('/api/v1/transfernft', {
        ...{ contract_address: collection.address, blockchain: 'polygon', nft_gdn_id, token_id: nft?.token_id },
        ...{ sender_wallet_address: sender, receiver_wallet_address: receiver, reference_id },
      })
    const deployed = async ({ json }: Answer) => {
      const transaction_gdn_ids = [json.response.transaction_gdn_id]
      await until(
        () => call(backend, 'gettransactions', { transaction_gdn_ids }),
        ({ transactions }) => transactions[0]?.status === 'deployed',
      )
    }
    const together = await Promise.all(Array.from({ length: 8 }, () => transfer(ALICE, BOB, 'first')))
    expect(together.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(new Set(together.map(({ json }) => json.response.transaction_gdn_id)).size).toBe(1)
    const [first] = together as [Answer]
    await deployed(first)
    await deployed(await transfer(BOB, OWNER, 'second'))
    const secondResponse = await transfer(ALICE, BOB, 'first')
    expect(secondResponse.json.response).toMatchObject({ ...first.json.response, created: false })
    expect(secondResponse.json.requests.reference_id).toBe('first')
    const other = await transfer(ALICE, OWNER, 'first')
    expect([other.status, other.json.error.conflicts]).toMatchObject([
      409,
      [{ transaction_gdn_id: first.json.response.transaction_gdn_id, status: 'deployed' }],
    ])
    const where = { contract_address: collection.address, blockchain: 'polygon', operation: 'transfernft' }
    expect((await call(backend, 'getreferences', { ...where, reference_ids: ['first'] })).references).toMatchObject([
      { transaction_gdn_id: first.json.response.transaction_gdn_id, status: 'deployed', is_free: false },
    ])
  })

  it('a transfer that failed frees its reference ID', async () => {
    const [nft_gdn_id] = await mint(backend, collection, plainMetadata(1), { receiver: ALICE })
    const [nft] = await settled(backend, [nft_gdn_id ?? ''])
    const body = {
      ...{ contract_address: collection.address, blockchain: 'polygon', nft_gdn_id, token_id: nft?.token_id },
      ...{ sender_wallet_address: ALICE, receiver_wallet_address: BOB, reference_id: 'one' },
    }
    const first = await call(backend, 'transfernft', body)
    const ids = [first.response.transaction_gdn_id]
    await until(
      () => call(backend, 'gettransactions', { transaction_gdn_ids: ids }),
      ({ transactions }) => transactions[0]?.status === 'deployed',
    )
    // Makes the transfer look failed.
    await withStore(backend.dataDir, ({ db }) =>
      db
        .updateTable('transfers')
        .set({ status: 'failed' } as never)
        .where('id', 'in', ids)
        .execute(),
    )
    const where = { contract_address: collection.address, blockchain: 'polygon', operation: 'transfernft' }
    const ask = { ...where, reference_ids: ['one'] }
    expect((await call(backend, 'getreferences', ask)).references).toMatchObject([{ status: 'failed', is_free: true }])
    const onward = { ...body, sender_wallet_address: BOB, receiver_wallet_address: OWNER }
    const retried = await call(backend, 'transfernft', onward)
    expect(retried.response.created).toBe(true)
    expect(retried.response.transaction_gdn_id).not.toBe(ids[0])
  })
})

describe('a collection', () => {
  const create = (reference_id: string, more: object = {}) =>
    backend.post('/api/v1/createcollection', {
      ...{ wallet_address: OWNER, name: 'Named', blockchain: 'polygon', reference_id },
      ...more,
    })

  it('with the same reference ID is created once, in the account', async () => {
    const together = await Promise.all(Array.from({ length: 8 }, () => create('once')))
    expect(new Set(together.map(({ json }) => json.response.transaction_gdn_id)).size).toBe(1)
    expect(together.filter(({ json }) => json.response.created)).toHaveLength(1)
    const sameResponse = await create('once', { enable_api: true, wallet_address: OWNER.toLowerCase() })
    expect(sameResponse.json.response.created).toBe(false)
    expect((await create('once', { enable_api: false })).status).toBe(409)
    const { references } = await call(backend, 'getreferences', {
      operation: 'createcollection',
      reference_ids: 'once',
    })
    expect(references).toMatchObject([
      { transaction_gdn_id: sameResponse.json.response.transaction_gdn_id, is_free: false },
    ])
  })

  it('a collection that failed frees its reference ID', async () => {
    const first = await create('failing')
    const id = first.json.response.transaction_gdn_id
    // The pipeline would otherwise deploy the collection after it was set to failed.
    await until(
      () => call(backend, 'getcollections', { transaction_gdn_ids: [id] }),
      ({ collections }) => collections[0]?.status === 'deployed',
    )
    await withStore(backend.dataDir, ({ db }) =>
      db
        .updateTable('collections')
        .set({ status: 'failed', generation: 1000 } as never)
        .where('id', '=', id)
        .execute(),
    )
    const second = await create('failing', { name: 'Renamed' })
    expect([second.status, second.json.response.created]).toEqual([200, true])
    expect(second.json.response.transaction_gdn_id).not.toBe(id)
  })
})
