/** @module-tag slow */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { createMediaReader } from '../../../src/server/explorer/media.ts'
import type { FileStorage } from '../../../src/server/storage/adapter.ts'
import { findCollectionById } from '../../../src/server/store/collections.ts'
import {
  backendForFile,
  createTestCollection,
  mint,
  settled,
  type TestBackend,
  type TestCollection,
} from '../../helpers/backend.ts'
import { look, png, show, store } from '../../helpers/explorer.ts'
import { longestTurn } from '../../helpers/longest-turn.ts'
import { insertNfts } from '../../helpers/rows.ts'
import { openTestStore } from '../../helpers/test-database.ts'

let backend: TestBackend
let collection: TestCollection

beforeAll(async () => {
  // HTML is among the hostile files here.
  backend = await backendForFile({ allowHtmlFiles: true })
  collection = await createTestCollection(backend, { name: '<script>alert(1)</script>' })
})

const mintWith = async (metadata: object): Promise<string> => {
  const [id = ''] = await mint(backend, collection, [{ title: 'T', description: '', file_fields: [], ...metadata }])
  await settled(backend, [id])
  return id
}

const unexpected = () => backend.log.filter((line) => line.includes('unexpectedly'))

it('a page of NFTs with 1 MB of metadata each does not block other requests and is parsed once', async () => {
  const own = await createTestCollection(backend, { name: 'Long' })
  const metadata = JSON.stringify({ title: 'Long', description: 'é\n'.repeat(400_000), file_fields: [] })
  const database = await openTestStore(backend.dataDir)
  const { request_id = '' } = (await findCollectionById(database.db, own.id)) ?? {}
  const rows = Array.from({ length: 40 }, (_, at) => ({
    ...{ id: `long-${at}`, request_id, collection_id: own.id, receiver: 'w', metadata, next_attempt_at: 0 },
    ...{ status: 'failed' as const, step: 'done' as const },
  }))
  for (const row of rows) await insertNfts(database.db, [row])
  await database.close()
  const ask = async () => {
    const { result, longest, total } = await longestTurn(() => show(backend, `collections/${own.id}/nfts?limit=40`))
    expect(result.items.map(({ title }: { title: string }) => title)).toEqual(rows.map(() => 'Long'))
    return { longest, total }
  }
  const [first, second] = [await ask(), await ask()]
  expect(first.longest / first.total).toBeLessThan(0.5)
  expect(second.total / first.total).toBeLessThan(0.5)
})

describe('titles', () => {
  it.each([
    '<img src=x onerror=alert(1)>',
    '"><script>alert(1)</script>',
    '\u202egnp.exe\u202c',
    '\u001b[2J\u0007',
    '{{constructor.constructor("alert(1)")()}}',
    '👩‍👩‍👧‍👦'.repeat(200),
    'Z̸̧̢̡͇͓̀́̂̃'.repeat(100),
    'a'.repeat(100_000),
    "'; drop table nfts; --",
    '%s%n%x',
    '__proto__',
  ])('are returned unchanged as JSON: %j', async (title) => {
    const id = await mintWith({ title, attribute: [{ tag: title.slice(0, 50), value: title }], constructor_: title })
    const answer = await backend.get(`/explorer/nfts/${id}`)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    const nft = (await answer.json()) as { title: string; attributes: object[] }
    expect(nft.title).toBe(title)
    expect(nft.attributes).toEqual([{ trait_type: title.slice(0, 50), value: title }])
    const { status } = await look(backend, `search?q=${encodeURIComponent(title.slice(0, 400).toWellFormed())}`)
    expect(status).toBe(200)
    expect(unexpected()).toEqual([])
  })
})

describe('a file', () => {
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20" onload="alert(1)"><script>alert(1)</script></svg>'
  const gif = Buffer.from('474946383961400020000000', 'hex')
  const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffc00011080030004003012200021101031101ffd9', 'hex')

  it.each([
    ['a PNG', png(20_000, 20_000), { kind: 'image', content_type: 'image/png', width: 20_000, height: 20_000 }],
    ['an SVG with a script', svg, { kind: 'svg', content_type: 'image/svg+xml', width: 30, height: 20 }],
    ['a GIF', gif, { kind: 'image', content_type: 'image/gif', width: 64, height: 32 }],
    ['a JPEG', jpeg, { kind: 'image', content_type: 'image/jpeg', width: 64, height: 48 }],
    ['a web page', '<!doctype html><script>alert(1)</script>', { kind: 'other', width: null }],
    ['text', 'just text', { kind: 'other', content_type: 'text/plain; charset=utf-8', width: null }],
    [
      'a truncated PNG',
      Buffer.from('89504e470d0a1a0a', 'hex'),
      { kind: 'image', content_type: 'image/png', width: null },
    ],
    ['a PNG of no size', png(0, 0), { kind: 'image', width: null, height: null }],
    ['a PNG of absurd size', png(4_000_000_000, 1), { kind: 'image', width: null, height: null }],
    ['an SVG that never ends', `<svg ${'a="b" '.repeat(50_000)}`, { kind: 'svg', width: null }],
    ['an SVG with many opening tags', '<svg '.repeat(100_000), { kind: 'svg', width: null }],
    ['a glTF model', Buffer.from('676c5446020000000c000000', 'hex'), { kind: 'model', width: null }],
    [
      'a video',
      Buffer.from('0000001c6674797069736f6d', 'hex'),
      { kind: 'video', content_type: 'video/mp4', width: null },
    ],
    ['a sound', Buffer.from('4944330300000000', 'hex'), { kind: 'audio', content_type: 'audio/mpeg', width: null }],
  ])('is recognized by its bytes, regardless of its name: %s', async (_, content, expected) => {
    const url = await store(backend, content)
    const nft = await show(backend, `nfts/${await mintWith({ file_fields: [{ key: 'image', url }] })}`)
    expect(nft.media).toMatchObject([{ field: 'image', source: url, ...expected }])
  })

  it('a file that is not an image is replaced in a gallery by one that is', async () => {
    const page = await store(backend, '<!doctype html><p>no picture</p>')
    const picture = await store(backend, png(3, 2, 'other'))
    const both = [
      { key: 'image', url: page },
      { key: 'front', url: picture },
    ]
    expect((await show(backend, `nfts/${await mintWith({ file_fields: both })}`)).image).toMatchObject({
      ...{ field: 'front', kind: 'image', width: 3, height: 2 },
    })
    const none = await show(backend, `nfts/${await mintWith({ file_fields: [{ key: 'image', url: page }] })}`)
    expect(none.image).toMatchObject({ field: 'image', kind: 'other' })
  })

  it('in a directory is shown at its path', async () => {
    const nft = await show(backend, `nfts/${await mintWith({})}`)
    const url = nft.metadata_url
    const inside = await show(backend, `nfts/${await mintWith({ file_fields: [{ key: 'data', url }] })}`)
    expect(inside.media).toMatchObject([{ url: nft.metadata_path, kind: 'other', content_type: 'application/json' }])
    expect((await backend.get(inside.media[0].url)).status).toBe(200)
  })

  const bytes = fc.uint8Array({ maxLength: 400 })
  const heads = fc.constantFrom(
    ...[png(5, 5), gif, jpeg, Buffer.from(svg), Buffer.from('RIFF\0\0\0\0WEBPVP8X'), Buffer.from('\0\0\0\x1cftypavif')],
  )
  it('a file of any bytes is inspected without an error by reading only its beginning', async () => {
    await fc.assert(
      fc.asyncProperty(heads, bytes, fc.nat(300), async (head, rest, cutAt) => {
        let readBytes = 0
        const content = Buffer.concat([Buffer.from(head).subarray(0, cutAt), rest])
        const file = {
          type: 'file' as const,
          cid: 'c',
          size: 10_000_000_000,
          async *stream({ end = 0 } = {}) {
            readBytes = Math.max(readBytes, end)
            yield content
          },
        }
        const storage = { open: async () => file } as unknown as FileStorage
        const seen = await createMediaReader(storage).detect('c')
        expect(seen.size).toBe(10_000_000_000)
        expect(readBytes).toBeLessThanOrEqual(128 * 1024)
      }),
      { numRuns: process.env.GDN_SOAK === '1' ? 20_000 : 300 },
    )
  })

  it('is inspected once; slow or unavailable storage does not delay the response', async () => {
    let opened = 0
    const content = {
      type: 'file' as const,
      cid: 'c',
      size: 3,
      stream: async function* () {
        yield Buffer.from('abc')
      },
    }
    const open = async () => {
      opened++
      return content
    }
    const good = createMediaReader({ open } as unknown as FileStorage)
    await Promise.all(Array.from({ length: 50 }, () => good.detect('c')))
    expect(opened).toBe(1)
    const silent = createMediaReader({ open: () => new Promise(() => {}) } as unknown as FileStorage, 50)
    expect((await silent.detect('c')).content_type).toBe(null)
    let away = true
    const flaky = createMediaReader({
      open: async () => {
        if (away) throw new Error('away')
        return content
      },
    } as unknown as FileStorage)
    expect((await flaky.detect('c')).content_type).toBe(null)
    away = false
    expect((await flaky.detect('c')).content_type).toBe('text/plain; charset=utf-8')
  })
})

describe('parameters', () => {
  const paths = () => [
    'collections',
    `collections/${collection.id}/nfts`,
    'owners/0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB/nfts',
    'runs',
  ]
  it.each([
    'offset=-1',
    'offset=1e99',
    'offset=1.5',
    'offset=NaN',
    'offset=0x10',
    'offset=9999999999',
    'offset=1&offset=2',
    'offset[]=1',
    'limit=0',
    'limit=201',
    'limit=-1',
    'limit=%00',
    'limit=１２',
  ])('that are invalid return 400: %s', async (query) => {
    for (const path of paths()) {
      const { status, json } = await look(backend, `${path}?${query}`)
      // Unknown parameters are ignored.
      if (query === 'offset[]=1') expect(status).toBe(200)
      else expect([status, json.error.title]).toEqual([400, 'Request Validation Error'])
    }
  })

  it.each(['status=done', 'status=initiated&status=failed', 'q=%00', `q=${'x'.repeat(501)}`, 'owner=%00'])(
    'of a filter that are invalid return 400: %s',
    async (query) => {
      expect((await look(backend, `collections/${collection.id}/nfts?${query}`)).status).toBe(400)
    },
  )

  it('parameters of any kind return 200, 400 or 404, never an internal error', async () => {
    const name = fc.constantFrom('offset', 'limit', 'q', 'status', 'owner', 'blockchain', '__proto__', 'x')
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('-1', '1e99', '\0', '%', '%00', '[]', '{}', '\ud800', '../..', "'", '"', '\\', 'null', '💥'),
      fc.integer().map(String),
    )
    const place = fc.oneof(
      fc.constantFrom('overview', 'collections', 'runs', 'search', `collections/${collection.id}/nfts`),
      value.map((text) => `nfts/${encodeURIComponent(text.toWellFormed())}`),
      value.map((text) => `collections/${encodeURIComponent(text.toWellFormed())}`),
      value.map((text) => `runs/${encodeURIComponent(text.toWellFormed())}/nfts`),
      value.map((text) => `owners/${encodeURIComponent(text.toWellFormed())}/nfts`),
    )
    const query = fc.array(fc.tuple(name, value, fc.boolean()), { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(place, query, async (path, pairs) => {
        const spelled = pairs.map(
          ([key, text, raw]) =>
            `${key}=${raw ? text.replace(/[^\x21-\x7e]|#/g, '') : encodeURIComponent(text.toWellFormed())}`,
        )
        const { status } = await look(backend, `${path}?${spelled.join('&')}`)
        expect([200, 400, 404]).toContain(status)
      }),
      { numRuns: process.env.GDN_SOAK === '1' ? 5000 : 200 },
    )
    expect(unexpected()).toEqual([])
  })

  it('methods other than GET return 404', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const response = await fetch(`${backend.url}/explorer/collections`, { method })
      expect(response.status).toBe(404)
    }
  })
})
