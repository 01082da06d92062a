/** @module-tag slow */
import { afterEach, describe, expect, it } from 'vitest'
import {
  createTestCollection,
  freshDataDir,
  mint,
  plainMetadata,
  settled,
  showNfts,
  startTestBackend,
  type TestBackend,
  until,
  WALLETS,
} from '../../helpers/backend.ts'

const undo: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function dir(): Promise<string> {
  const { path, remove } = await freshDataDir()
  undo.push(remove)
  return path
}

async function startWith(faults: object[], dataDir?: string, seed = 1): Promise<TestBackend> {
  const text = JSON.stringify({ seed, faults })
  const backend = await startTestBackend(dataDir ?? (await dir()), { faults: { text, file: 'faults.yaml' } })
  undo.push(() => backend.close())
  return backend
}

const getNfts = (backend: TestBackend) => backend.post('/api/v1/getnfts', { nft_gdn_ids: ['x'] })

const create = (backend: TestBackend, signal?: AbortSignal) =>
  fetch(`${backend.url}/api/v1/createcollection`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': backend.apiKey.reveal(), 'idempotency-key': 'one' },
    body: JSON.stringify({ wallet_address: WALLETS[0], name: 'Faulty', blockchain: 'polygon' }),
    ...(signal === undefined ? {} : { signal }),
  })

describe('fault injection over HTTP', () => {
  it('latency: delays the correct response', async () => {
    const backend = await startWith([{ endpoint: 'getnfts', fault: 'latency', milliseconds: [200, 250] }])
    const since = performance.now()
    const { status, headers } = await getNfts(backend)
    expect(performance.now() - since).toBeGreaterThanOrEqual(195)
    expect([status, headers.get('x-gdn-fault')]).toEqual([200, 'latency'])
  })

  it.each([
    [429, 'Too Many Requests', '7'],
    [500, 'Internal Server Error', null],
    [503, 'Service Unavailable', null],
  ])('%d: returns form A, marked as injected', async (status, title, retryAfter) => {
    const backend = await startWith([
      { endpoint: '*', fault: 'status', status, ...(retryAfter === null ? {} : { retry_after: 7 }) },
    ])
    const { status: got, json, headers } = await getNfts(backend)
    expect([got, json.error.title, headers.get('retry-after'), headers.get('x-gdn-fault')]).toEqual([
      status,
      title,
      retryAfter,
      'status',
    ])
  })

  it('429 has a default Retry-After', async () => {
    const backend = await startWith([{ endpoint: '*', fault: 'status', status: 429 }])
    expect((await getNfts(backend)).headers.get('retry-after')).toBe('1')
  })

  it("doesn't affect endpoints without a rule or anything outside the API", async () => {
    const backend = await startWith([{ endpoint: 'createnft', fault: 'status', status: 500 }])
    expect((await getNfts(backend)).status).toBe(200)
    expect((await backend.get('/healthz')).status).toBe(200)
  })

  it('timeout: accepts the request and never responds', async () => {
    const dataDir = await dir()
    const backend = await startWith([{ endpoint: 'createcollection', fault: 'timeout' }], dataDir)
    await expect(create(backend, AbortSignal.timeout(700))).rejects.toThrow(/timeout|aborted/i)
    await replays(backend, dataDir)
  })

  it('cut after acceptance: accepts the request and closes the connection', { tags: ['promise'] }, async () => {
    const dataDir = await dir()
    const backend = await startWith([{ endpoint: 'createcollection', fault: 'cut', when: 'after' }], dataDir)
    await expect(create(backend)).rejects.toThrow('fetch failed')
    await replays(backend, dataDir)
  })

  it('cut before acceptance: closes the connection and accepts nothing', { tags: ['promise'] }, async () => {
    const dataDir = await dir()
    const backend = await startWith([{ endpoint: 'createcollection', fault: 'cut', when: 'before' }], dataDir)
    await expect(create(backend)).rejects.toThrow('fetch failed')
    await backend.close()
    const healthy = await startTestBackend(dataDir)
    undo.push(() => healthy.close())
    expect((await create(healthy)).headers.get('idempotency-replayed')).toBeNull()
  })

  it('cut after acceptance: still responds to a rejected request', async () => {
    const backend = await startWith([
      { endpoint: 'createcollection', fault: 'cut', when: 'after' },
      { endpoint: 'createnft', fault: 'timeout' },
    ])
    for (const name of ['createcollection', 'createnft']) {
      expect((await backend.post(`/api/v1/${name}`, {})).status).toBe(400)
    }
  })

  it('nft: fails NFTs at once with the given reason, and never mints them', async () => {
    const backend = await startWith([{ endpoint: 'createnft', fault: 'nft', becomes: 'failed', reason: 'the moon' }])
    const collection = await createTestCollection(backend)
    const ids = await mint(backend, collection, plainMetadata(2))
    const nfts = await settled(backend, ids)
    expect(nfts.map(({ status, error, token_id }) => [status, error, token_id])).toEqual([
      ['failed', 'the moon', null],
      ['failed', 'the moon', null],
    ])
  })

  it('nft: keeps NFTs initiated while others are deployed, also after a restart', async () => {
    const dataDir = await dir()
    const backend = await startWith(
      [{ endpoint: 'createnft', fault: 'nft', becomes: 'initiated', share: 0.5 }],
      dataDir,
    )
    const collection = await createTestCollection(backend)
    const ids: string[] = []
    for (let i = 0; i < 12; i++) ids.push(...(await mint(backend, collection, plainMetadata(1, `N${i}`))))
    const done = await until(
      () => showNfts(backend, ids),
      (nfts) => nfts.filter(({ status }) => status === 'deployed').length >= 5,
    )
    await backend.close()
    const again = await startWith([{ endpoint: 'getnfts', fault: 'latency', milliseconds: 1 }], dataDir)
    // Once a newer NFT is deployed, all pending work is done.
    await settled(again, await mint(again, collection, plainMetadata(1, 'younger')))
    const left = (await showNfts(again, ids)).filter(({ status }) => status === 'initiated')
    expect(left.length).toBeGreaterThanOrEqual(2)
    expect(left.length).toBeLessThanOrEqual(7)
    expect(left.every(({ token_id, error }) => token_id === null && (error ?? null) === null)).toBe(true)
    expect(done).toHaveLength(12)
  })

  it('injects the same faults in every run of the same file, and ignores rejected keys', async () => {
    const rules = [
      { endpoint: 'getnfts', fault: 'status', status: 503, share: 0.3 },
      { endpoint: 'getnfts', fault: 'status', status: 429, share: 0.3 },
    ]
    const run = async (disturbed: boolean, seed: number) => {
      const backend = await startWith(rules, undefined, seed)
      const statuses: number[] = []
      for (let i = 0; i < 40; i++) {
        if (disturbed) await backend.post('/api/v1/getnfts', {}, { 'x-api-key': 'gdn_wrong' })
        if (disturbed) await backend.post('/api/v1/getcollections', { transaction_gdn_ids: ['x'] })
        statuses.push((await getNfts(backend)).status)
      }
      return statuses
    }
    const first = await run(false, 5)
    expect(new Set(first)).toEqual(new Set([200, 429, 503]))
    expect(await run(true, 5)).toEqual(first)
    expect(await run(false, 6)).not.toEqual(first)
  })

  it('logs a warning that it is active, and each affected request', async () => {
    const backend = await startWith([{ endpoint: 'getnfts', fault: 'status', status: 500 }])
    expect(backend.faults).toEqual(['100 % of getnfts requests return HTTP 500'])
    const { headers } = await getNfts(backend)
    const lines = backend.log.map((line) => JSON.parse(line))
    expect(lines.find(({ faults }) => faults)).toMatchObject({ level: 40, faults: backend.faults })
    expect(lines.find(({ msg }) => msg === 'injected a fault')).toMatchObject({
      level: 40,
      request: headers.get('x-request-id'),
      endpoint: 'getnfts',
    })
  })

  it('rejects an invalid file at the start before anything is created', { tags: ['promise'] }, async () => {
    const dataDir = await dir()
    const faults = { text: 'faults: 1', file: 'bad.yaml' }
    await expect(startTestBackend(dataDir, { faults })).rejects.toMatchObject({
      code: 'invalid_config',
      place: { file: 'bad.yaml', line: 1, column: 9, field: 'faults' },
    })
  })
})

/** Expects that the request was accepted: without the faults, its Idempotency-Key returns the first response. */
async function replays(backend: TestBackend, dataDir: string): Promise<void> {
  await backend.close()
  const healthy = await startTestBackend(dataDir)
  undo.push(() => healthy.close())
  const answer = await create(healthy)
  expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
}
