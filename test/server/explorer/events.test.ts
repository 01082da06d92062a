/** @module-tag slow */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  startTestBackend,
  type TestBackend,
  temporaryDataDir,
  until,
} from '../../helpers/backend.ts'
import { makeKey, revokeKey } from '../../helpers/keys.ts'
import { openTestStore } from '../../helpers/test-database.ts'
import { OUTER_ADDRESS } from '../../helpers/this-machine.ts'

const looks = vi.hoisted(() => ({ count: 0 }))

vi.mock(import('../../../src/server/store/change-marker.ts'), async (original) => {
  const real = await original()
  return {
    ...real,
    changeMarker(db) {
      looks.count += 1
      return real.changeMarker(db)
    },
  }
})

/** Resolves after the backend has looked for changes, and sent them. */
async function afterNextLook(): Promise<void> {
  const before = looks.count
  // What the first look finds is sent before the second.
  await until(
    () => looks.count,
    (count) => count >= before + 2,
  )
}

let dataDir: string
let backend: TestBackend
const open: Listening[] = []

beforeEach(async () => {
  dataDir = await temporaryDataDir()
})
afterEach(async () => {
  for (const listening of open.splice(0)) listening.end()
  await backend?.close()
})

interface Listening {
  status: number
  headers: Headers
  /** The events received, with their data. */
  // biome-ignore lint/suspicious/noExplicitAny: the tests check the shape of the data
  events: { event: string; data: any }[]
  comments: number
  ended: boolean
  end(): void
}

async function listen(query = '', { url = backend.url, headers = {} } = {}): Promise<Listening> {
  const cut = new AbortController()
  const response = await fetch(`${url}/explorer/events${query}`, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: cut.signal,
  })
  const listening: Listening = {
    status: response.status,
    headers: response.headers,
    events: [],
    comments: 0,
    ended: false,
    end: () => cut.abort(),
  }
  open.push(listening)
  const read = async () => {
    let text = ''
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes as Uint8Array).toString()
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) {
        const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(part) ?? []
        if (event !== undefined) listening.events.push({ event, data: JSON.parse(data ?? '') })
        else if (part.startsWith(':')) listening.comments++
      }
    }
  }
  read()
    .catch(() => {})
    .finally(() => {
      listening.ended = true
    })
  return listening
}

const untilSeen = (listening: Listening, right: (events: Listening['events']) => boolean) =>
  until(async () => listening.events, right)

describe('a subscriber', () => {
  it('gets the overview at once, then after each change, and nothing else', async () => {
    backend = await startTestBackend(dataDir)
    const since = performance.now()
    const listening = await listen()
    expect(listening.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(listening.headers.get('cache-control')).toBe('no-store, no-transform')
    expect(listening.headers.get('x-accel-buffering')).toBe('no')
    await untilSeen(listening, (events) => events.length > 0)
    expect(listening.events).toMatchObject([{ event: 'overview', data: { nfts: { deployed: 0 } } }])
    await afterNextLook()
    expect(listening.events).toHaveLength(1)
    const collection = await createTestCollection(backend)
    await settled(backend, await mint(backend, collection, plainMetadata(3)))
    await untilSeen(listening, (events) => events.at(-1)?.data.nfts.deployed === 3)
    expect(listening.events.at(-1)).toMatchObject({
      event: 'overview',
      data: { collections: { deployed: 1 }, nfts: { initiated: 0, deployed: 3, failed: 0 } },
    })
    // At most one event per second is sent, and one at the start.
    expect(listening.events.length).toBeLessThanOrEqual(2 + (performance.now() - since) / 1000)
  })

  it('gets events of the requested resources, and none for resources that do not exist', async () => {
    backend = await startTestBackend(dataDir)
    const collection = await createTestCollection(backend)
    const [id = ''] = await mint(backend, collection, plainMetadata(1), { headers: { 'gdn-run': 'some-run' } })
    const listening = await listen(`?nft=${id}&run=some-run&collection=${collection.id}`)
    const nobody = await listen('?nft=nothing&run=none&collection=0x0')
    await untilSeen(listening, (events) =>
      events.some(({ event, data }) => event === 'nft' && data.status === 'deployed'),
    )
    await untilSeen(listening, (events) =>
      events.some(({ event, data }) => event === 'run' && data.counts.deployed === 1),
    )
    expect(new Set(listening.events.map(({ event }) => event))).toEqual(
      new Set(['overview', 'nft', 'run', 'collection']),
    )
    expect(new Set(nobody.events.map(({ event }) => event))).toEqual(new Set(['overview']))
    const { token_id } = listening.events.findLast(({ event }) => event === 'nft')?.data ?? {}
    expect(token_id).toBe('1')
  })

  it('gets an NFT of several megabytes once', async () => {
    backend = await startTestBackend(dataDir)
    const collection = await createTestCollection(backend)
    const [metadata] = plainMetadata(1)
    const [id = ''] = await mint(backend, collection, [{ ...metadata, description: 'y'.repeat(3_000_000) }])
    await settled(backend, [id])
    const listening = await listen(`?nft=${id}`)
    await untilSeen(listening, (events) => events.some(({ event }) => event === 'nft'))
    expect(listening.events.find(({ event }) => event === 'nft')?.data.description).toHaveLength(3_000_000)
    await afterNextLook()
    expect([listening.ended, listening.events.filter(({ event }) => event === 'nft').length]).toEqual([false, 1])
  })

  it('gets events even if another subscriber’s resource cannot be read', async () => {
    backend = await startTestBackend(dataDir)
    const collection = await createTestCollection(backend)
    const [odd = ''] = await mint(backend, collection, plainMetadata(1))
    const [fine = ''] = await mint(backend, collection, plainMetadata(1))
    await settled(backend, [odd, fine])
    const store = await openTestStore(dataDir)
    // An invalid time.
    await store.db
      .updateTable('requests')
      .set({ accepted_at: 9e15 })
      .where('id', 'in', store.db.selectFrom('nfts').select('request_id').where('id', '=', odd))
      .execute()
    await store.close()
    const first = await listen(`?nft=${odd}`)
    await untilSeen(first, (events) => events.length > 0)
    const second = await listen(`?nft=${fine}`)
    await untilSeen(second, (events) => events.some(({ event }) => event === 'nft'))
    // A change is sent to all subscribers; the resource of the first can't be read.
    await createTestCollection(backend)
    await untilSeen(second, (events) => events.at(-1)?.data.collections?.deployed === 2)
    expect(second.events.at(-1)?.data.collections?.deployed).toBe(2)
    expect(first.events.some(({ event }) => event === 'nft')).toBe(false)
    expect(backend.log.join('\n')).toContain('changes could not be sent to web explorers')
  })

  it('gets heartbeats', async () => {
    backend = await startTestBackend(dataDir, { heartbeatMs: 50 })
    const listening = await listen()
    await until(
      async () => listening.comments,
      (comments) => comments > 2,
    )
    expect(listening.comments).toBeGreaterThan(2)
  })

  it('is disconnected at once when the backend stops', async () => {
    backend = await startTestBackend(dataDir)
    const listening = await listen()
    await untilSeen(listening, (events) => events.length > 0)
    await backend.close()
    await until(async () => listening.ended, Boolean)
  })

  it('is rejected with 503 beyond a hundred subscribers', async () => {
    backend = await startTestBackend(dataDir)
    const all = await Promise.all(Array.from({ length: 105 }, () => listen()))
    const statuses = all.map(({ status }) => status).sort()
    expect(statuses.filter((status) => status === 200)).toHaveLength(100)
    expect(statuses.slice(-5)).toEqual([503, 503, 503, 503, 503])
    expect(all.find(({ status }) => status === 503)?.headers.get('retry-after')).toBe('30')
    for (const { end } of all) end()
    // Closed connections free their slots.
    const again = await until(
      () => listen(),
      ({ status }) => status === 200,
    )
    await untilSeen(again, (events) => events.length > 0)
    expect(again.events).toHaveLength(1)
  })

  it.skipIf(OUTER_ADDRESS === undefined)(
    'with a session gets events of one account and is disconnected when its key is revoked',
    async () => {
      backend = await startTestBackend(dataDir, { host: '0.0.0.0', heartbeatMs: 100 })
      const url = `http://${OUTER_ADDRESS}:${new URL(backend.url).port}`
      const [mine, theirs] = [
        await makeKey(dataDir, { email: 'me@example.com' }),
        await makeKey(dataDir, { email: 'them@example.com' }),
      ]
      const login = await fetch(`${url}/explorer/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ api_key: mine.key }),
      })
      const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
      expect((await listen('', { url })).status).toBe(401)
      const listening = await listen('', { url, headers: { cookie } })
      const as = (key: typeof mine) => ({
        ...backend,
        post: (path: string, body: unknown) => backend.post(path, body, key.headers),
      })
      await createTestCollection(as(theirs), { name: 'Theirs' })
      await createTestCollection(as(mine), { name: 'Mine' })
      await untilSeen(listening, (events) => events.at(-1)?.data.collections.deployed === 1)
      const { collections } = listening.events.at(-1)?.data ?? {}
      expect(collections).toEqual({ initiated: 0, deployed: 1, failed: 0 })
      await revokeKey(dataDir, mine)
      await until(async () => listening.ended, Boolean)
      expect(listening.ended).toBe(true)
    },
  )
})
