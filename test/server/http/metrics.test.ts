/** @module-tag slow */
import { beforeAll, describe, expect, it } from 'vitest'
import {
  backendForFile,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  until,
  withStore,
} from '../../helpers/backend.ts'

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

/** The value of each series by its name, such as `gdn_chain_height{blockchain="polygon"}`. */
async function scrape(): Promise<Map<string, number>> {
  const response = await backend.get('/metrics')
  expect([response.status, response.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^text\/plain/)])
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

describe('/metrics', () => {
  it('counts requests by route and status for any path, also before the first scrape', async () => {
    await backend.post('/api/v1/getnfts', { nft_gdn_ids: ['x'] })
    await backend.post('/api/v1/getnfts/', { nft_gdn_ids: ['x'] })
    await backend.post('/api/v1/getnfts', {}, { 'x-api-key': '' })
    await backend.get('/nowhere/1')
    await backend.get('/nowhere/2')
    const found = await until(scrape, (series) => (series.get(requests('none', 404, 'GET')) ?? 0) >= 2)
    expect(found.get(requests('/api/v1/getnfts', 200))).toBe(2)
    expect(found.get(requests('/api/v1/getnfts', 401))).toBe(1)
    expect(found.get(requests('none', 404, 'GET'))).toBe(2)
    const labels = 'method="POST",route="/api/v1/getnfts"'
    expect(found.get(`gdn_http_request_duration_seconds_count{${labels}}`)).toBe(3)
    expect(found.get(`gdn_http_request_duration_seconds_bucket{le="+Inf",${labels}}`)).toBe(3)
    expect(found.get(`gdn_http_request_duration_seconds_sum{${labels}}`)).toBeGreaterThan(0)
  })

  it('reports gas used, chain height and process metrics', async () => {
    const collection = await createTestCollection(backend)
    await settled(backend, await mint(backend, collection, plainMetadata(3)))
    const found = await scrape()
    expect(found.get('gdn_gas_used_total{blockchain="polygon",kind="mint"}')).toBeGreaterThan(50_000)
    expect(found.get('gdn_gas_used_total{blockchain="polygon",kind="collection"}')).toBeGreaterThan(50_000)
    expect(found.get('gdn_chain_height{blockchain="polygon"}')).toBeGreaterThanOrEqual(3)
    expect(found.get('process_resident_memory_bytes')).toBeGreaterThan(1e6)
    expect(found.get('gdn_build_info{version="0.0.0-test"}')).toBe(1)
  })

  it('reports NFTs deployed, file operations, free disk space and readiness', async () => {
    const before = (await scrape()).get('gdn_nfts_deployed_total{blockchain="polygon"}') ?? 0
    const collection = await createTestCollection(backend)
    const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(3)))
    const bytes = await (await backend.get(String(nft?.metadata_url).replace('ipfs://', '/ipfs/'))).text()
    await backend.get('/ipfs/bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku')
    const found = await scrape()
    expect(found.get('gdn_nfts_deployed_total{blockchain="polygon"}')).toBe(before + 3)
    const times = 'gdn_storage_operation_duration_seconds_count'
    expect(found.get(`${times}{operation="open",outcome="done"}`)).toBeGreaterThanOrEqual(1)
    expect(found.get(`${times}{operation="open",outcome="absent"}`)).toBeGreaterThanOrEqual(1)
    expect(found.get(`${times}{operation="read",outcome="done"}`)).toBeGreaterThanOrEqual(1)
    expect(found.get('gdn_storage_bytes_total{operation="read"}')).toBeGreaterThanOrEqual(Buffer.byteLength(bytes))
    expect(found.get('gdn_data_dir_free_bytes')).toBeGreaterThan(1e6)
    expect([found.get('gdn_ready'), found.get('gdn_database_up')]).toEqual([1, 1])
  })

  it('reports the number of waiting NFTs at each step and the age of the oldest', async () => {
    const before = await scrape()
    expect(before.get('gdn_pipeline_waiting{step="files"}')).toBe(0)
    expect(before.get('gdn_pipeline_oldest_seconds{step="files"}')).toBe(0)
    const collection = await createTestCollection(backend)
    const metadata = plainMetadata(2).map((one) => ({
      ...one,
      file_fields: [{ key: 'image', url: 'http://127.0.0.1:1/' }],
    }))
    const ids = await mint(backend, collection, metadata)
    await withStore(backend.dataDir, ({ db }) =>
      db
        .updateTable('requests')
        .set({ accepted_at: Date.now() - 90_000 })
        .where('endpoint', '=', 'createnft')
        .execute(),
    )
    const found = await until(scrape, (series) => series.get('gdn_pipeline_waiting{step="files"}') === 2)
    expect(found.get('gdn_pipeline_waiting{step="files"}')).toBe(2)
    expect(found.get('gdn_pipeline_oldest_seconds{step="files"}')).toBeGreaterThanOrEqual(90)
    expect(found.get('gdn_pipeline_oldest_seconds{step="files"}')).toBeLessThan(120)
    expect(ids).toHaveLength(2)
  })

  it('counts the nodes that exited and were replaced', async () => {
    const events = backend.log.map((line) => JSON.parse(line))
    const node = events.findLast(({ blockchain, type }) => blockchain === 'polygon' && type === 'ready')
    process.kill(node.pid, 'SIGKILL')
    const found = await until(scrape, (series) => series.has('gdn_chain_restarts_total{blockchain="polygon"}'))
    expect(found.get('gdn_chain_restarts_total{blockchain="polygon"}')).toBe(1)
  })

  it('cannot be read by pages of other origins', async () => {
    const { headers } = await backend.get('/metrics', { origin: 'https://elsewhere.example' })
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })
})

const requests = (route: string, status: number, method = 'POST') =>
  `gdn_http_requests_total{method="${method}",route="${route}",status="${status}"}`
