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
const JANUARY = { reference_label: 'jan/drop.csv' }
const FEBRUARY = { reference_label: 'feb/drop.csv' }

let backend: TestBackend
let collection: TestCollection

beforeAll(async () => {
  backend = await backendForFile()
})
beforeEach(async () => {
  collection = await createTestCollection(backend, { enable_transfer: true })
})

const metadataOf = (title: string) => ({ title, description: '', file_fields: [] })

const bodyOf = (references: readonly string[], more: object = {}) => ({
  contract_address: collection.address,
  blockchain: 'polygon',
  receiver_wallet_address: ALICE,
  metadata: references.map(metadataOf),
  reference_ids: references,
  ...more,
})
const send = (references: readonly string[], more: object = {}, headers: Record<string, string> = {}) =>
  backend.post('/api/v1/createnft', bodyOf(references, more), headers)

const lookUp = async (...reference_ids: string[]) => {
  const where = { contract_address: collection.address, blockchain: 'polygon', operation: 'createnft' }
  return (await call(backend, 'getreferences', { ...where, reference_ids })).references
}
const labelsOf = async (...references: string[]) =>
  (await lookUp(...references)).map(({ reference_id, reference_label, reference_kind }) => [
    ...[reference_id, reference_label, reference_kind],
  ])

const relabel = (references: readonly string[], replaces_label: string, reference_label: string, headers = {}) =>
  backend.post(
    '/api/v1/relabelreferences',
    {
      ...{ operation: 'createnft', contract_address: collection.address, blockchain: 'polygon' },
      ...{ reference_ids: references, replaces_label, reference_label },
    },
    headers,
  )

const countNfts = async (): Promise<number> =>
  (await call(backend, 'getnftgdnids', { contract_addresses: collection.address, blockchain: 'polygon' })).nft_gdn_ids
    .length

const OTHER_LABEL = 'reference_label_conflict'

describe('a label', () => {
  it('is announced, stored with the kinds of the reference IDs, and returned', async () => {
    const { json, headers } = await send(['a', 'b'], { ...JANUARY, reference_kinds: ['id', 'content'] })
    expect(headers.get('reference-labels-supported')).toBe('yes')
    expect(json.requests).toMatchObject({ ...JANUARY, reference_kinds: ['id', 'content'] })
    expect(await labelsOf('a', 'b')).toEqual([
      ['a', 'jan/drop.csv', 'id'],
      ['b', 'jan/drop.csv', 'content'],
    ])
  })

  it('is not part of the operation: the same label, or none, returns what exists', async () => {
    const first = await send(['a'], JANUARY)
    for (const more of [JANUARY, {}]) {
      const secondResponse = await send(['a'], more)
      expect(secondResponse.json.nfts).toEqual([{ ...first.json.nfts[0], created: false }])
    }
    expect(await labelsOf('a')).toEqual([['a', 'jan/drop.csv', null]])
  })

  it('does not become that of a reference ID without one', async () => {
    await send(['a'])
    expect((await send(['a'], JANUARY)).status).toBe(200)
    expect(await labelsOf('a')).toEqual([['a', null, null]])
  })

  it('may be a run, a path with emoji, or anything else in one line of 500 characters', async () => {
    const labels = ['drop', '2026/jänner/🚀.csv', 'x'.repeat(500), '../up.csv', '"quoted" <b>']
    for (const [n, reference_label] of labels.entries()) {
      expect((await send([`r${n}`], { reference_label })).status).toBe(200)
      expect(await labelsOf(`r${n}`)).toEqual([[`r${n}`, reference_label, null]])
    }
  })

  it('a label of hostile text is rejected', async () => {
    const problems = [
      ['', 'must not be empty'],
      ['x'.repeat(501), 'must have at most 500 characters'],
      ['x'.repeat(10_000), 'must have at most 500 characters'],
      ['\u001b[2Jdrop.csv', 'has a control character'],
      ['jan\ndrop.csv', 'has a control character'],
      ['jan\u2028drop.csv', 'has a control character'],
      ['jan\u0000.csv', 'has a control character'],
      ['\ud83d', 'has an unpaired surrogate, which is not a valid character'],
    ]
    for (const [reference_label, problem] of problems) {
      const { status, json } = await send(['a'], { reference_label })
      expect([status, json.error.message]).toEqual([400, `reference_label ${problem}`])
    }
    expect(await countNfts()).toBe(0)
  })

  it('a label and kinds need reference IDs, and a kind for each', async () => {
    const { reference_ids: _, ...unnamed } = bodyOf(['a'])
    const messages = async (body: object) => {
      const { status, json } = await backend.post('/api/v1/createnft', body)
      return [status, json.error.message]
    }
    expect(await messages({ ...unnamed, ...JANUARY, reference_kinds: ['id'] })).toEqual([
      400,
      'reference_label needs reference_ids; reference_kinds needs reference_ids',
    ])
    expect(await messages(bodyOf(['a', 'b'], { reference_kinds: ['id'] }))).toEqual([
      400,
      'reference_kinds must have one entry for each of the 2 NFTs, but has 1',
    ])
    expect((await messages(bodyOf(['a'], { reference_kinds: ['name'] })))[0]).toBe(400)
  })
})

describe('a reference ID of another label', () => {
  it('returns 409 with both labels, and creates nothing of the request', async () => {
    const [{ nft_gdn_ids: a }] = (await send(['a'], JANUARY)).json.nfts
    const { status, json, headers } = await send(['new', 'a'], FEBRUARY)
    expect([status, headers.get('error-code')]).toEqual([409, OTHER_LABEL])
    expect(json.error).toMatchObject({
      message:
        'reference_ids[1] "a" has the label "jan/drop.csv", but this request has "feb/drop.csv"; nothing was accepted',
      conflict_count: 1,
      conflicts: [
        { reference_id: 'a', index: 1, nft_gdn_id: a, reference_label: 'jan/drop.csv', request_label: 'feb/drop.csv' },
      ],
    })
    expect(await countNfts()).toBe(1)
  })

  it('returns 409 for the same metadata, other metadata, and the dynamic endpoint alike', async () => {
    await send(['a'], JANUARY)
    const dynamic = await backend.post('/api/v1/creatednft', bodyOf(['a'], FEBRUARY))
    const other = await send(['a'], { ...FEBRUARY, metadata: [metadataOf('Another')] })
    for (const answer of [await send(['a'], FEBRUARY), dynamic, other]) {
      expect([answer.status, answer.headers.get('error-code')]).toEqual([409, OTHER_LABEL])
    }
  })

  it('does not store the Idempotency-Key of the request', async () => {
    await send(['a'], JANUARY)
    const key = { 'idempotency-key': 'one' }
    expect((await send(['a'], FEBRUARY, key)).status).toBe(409)
    expect((await send(['a'], JANUARY, key)).status).toBe(200)
  })

  it('is accepted for one label of several simultaneous requests', async () => {
    const labels = Array.from({ length: 8 }, (_, n) => ({ reference_label: `${n}/drop.csv` }))
    const answers = await Promise.all(labels.map((label) => send(['a', 'b'], label)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(409)])
    expect(await countNfts()).toBe(2)
  })

  it('is free for any label after it failed without a token', async () => {
    const missing = { file_fields: [{ key: 'image', url: `${backend.url}/missing.png` }] }
    const failed = await send(['a'], { ...JANUARY, metadata: [{ ...metadataOf('a'), ...missing }] })
    expect(await settled(backend, [failed.json.nfts[0].nft_gdn_ids])).toMatchObject([{ status: 'failed' }])
    expect((await send(['a'], { ...FEBRUARY, reference_kinds: ['content'] })).status).toBe(200)
    expect(await labelsOf('a')).toEqual([['a', 'feb/drop.csv', 'content']])
  })

  it('does not matter in another collection', async () => {
    await send(['a'], JANUARY)
    collection = await createTestCollection(backend, {})
    expect((await send(['a'], FEBRUARY)).status).toBe(200)
  })
})

describe('relabelreferences', () => {
  it('replaces the label, counts what changed, and may be repeated', async () => {
    await send(['a', 'b'], { ...JANUARY, reference_kinds: ['id', 'id'] })
    await send(['c'])
    const { json } = await relabel(['a', 'b', 'c', 'unknown'], 'jan/drop.csv', 'archive/drop.csv')
    expect(json.relabeled).toBe(2)
    expect((await relabel(['a', 'b'], 'jan/drop.csv', 'archive/drop.csv')).json.relabeled).toBe(0)
    expect(await labelsOf('a', 'b', 'c')).toEqual([
      ['a', 'archive/drop.csv', 'id'],
      ['b', 'archive/drop.csv', 'id'],
      ['c', null, null],
    ])
    expect((await send(['a'], JANUARY)).status).toBe(409)
    expect((await send(['a'], { reference_label: 'archive/drop.csv' })).status).toBe(200)
  })

  it('changes nothing if one reference ID has a third label', async () => {
    await send(['a'], JANUARY)
    await send(['b'], FEBRUARY)
    const { status, headers, json } = await relabel(['a', 'b'], 'jan/drop.csv', 'new/drop.csv')
    expect([status, headers.get('error-code')]).toEqual([409, OTHER_LABEL])
    expect(json.error.conflicts).toMatchObject([{ reference_id: 'b', reference_label: 'feb/drop.csv' }])
    expect(await labelsOf('a', 'b')).toEqual([
      ['a', 'jan/drop.csv', null],
      ['b', 'feb/drop.csv', null],
    ])
  })

  it('rejects hostile labels and more than 1,000 reference IDs', async () => {
    for (const label of ['', 'a\u0007', 'x'.repeat(10_000)]) {
      expect((await relabel(['a'], 'x', label)).status).toBe(400)
      expect((await relabel(['a'], label, 'x')).status).toBe(400)
    }
    const many = Array.from({ length: 1001 }, (_, n) => `r${n}`)
    expect((await relabel(many, 'x', 'y')).status).toBe(400)
    expect((await relabel(many.slice(1), 'x', 'y')).json.relabeled).toBe(0)
  })

  it("needs the permission nft:create, and the account's own collection", async () => {
    await send(['a'], JANUARY)
    const reader = await makeKey(backend.dataDir, { email: 'reader@example.com', permissions: ['nft:read'] })
    expect((await relabel(['a'], 'jan/drop.csv', 'x', reader.headers)).status).toBe(403)
    const stranger = await makeKey(backend.dataDir, { email: 'stranger@example.com' })
    expect((await relabel(['a'], 'jan/drop.csv', 'x', stranger.headers)).status).toBe(400)
    expect(await labelsOf('a')).toEqual([['a', 'jan/drop.csv', null]])
  })
})

it('labels are kept by createnfttrans too', async () => {
  const body = { ...bodyOf(['a'], JANUARY), sender_wallet_address: OWNER }
  expect((await backend.post('/api/v1/createnfttrans', body)).status).toBe(200)
  expect((await backend.post('/api/v1/createnfttrans', { ...body, ...FEBRUARY })).status).toBe(409)
})
