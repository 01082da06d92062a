import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type CreatenftRequest,
  type CreatenfttransRequest,
  createClient,
  GdnError,
  readManifest,
  type TransfernftRequest,
} from '../../src/lib/index.ts'
import { ENDPOINTS } from '../helpers/endpoints.ts'
import { type HttpServer, type Reply, startHttpServer } from '../helpers/http-server.ts'

const KEY = 'a-key-of-this-test'

let folder: string
let server: HttpServer
let reply: Reply

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-lib-'))
  server = await startHttpServer(() => reply)
})
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => {
  server.seen.length = 0
  vi.stubEnv('GDN_PACE_DIR', join(folder, 'pace'))
})
afterEach(() => vi.unstubAllEnvs())

/** What creating a client throws. */
function refusal(...options: Parameters<typeof createClient>): string {
  try {
    createClient(...options)
  } catch (error) {
    if (error instanceof GdnError) return `${error.code}: ${error.message}: ${error.hint}`
    throw error
  }
  return ''
}

describe('createClient', () => {
  test('reads the server and the key from the environment', async () => {
    vi.stubEnv('GDN_BASE_URL', `${server.url}/`)
    vi.stubEnv('GDN_API_KEY', KEY)
    reply = { json: ENDPOINTS.getnfts.example.response }
    const gdn = createClient()
    expect(gdn.baseUrl).toBe(server.url)
    await gdn.api.getnfts({ nft_gdn_ids: ['a'] })
    expect(server.seen).toMatchObject([{ path: '/api/v1/getnfts', headers: { 'x-api-key': KEY } }])
    await gdn.close()
  })

  test('sends no typed trait to a server that does not announce typed traits', async () => {
    reply = { json: ENDPOINTS.createnft.example.response }
    const gdn = createClient({ baseUrl: server.url, apiKey: KEY })
    const { metadata: _, ...request } = ENDPOINTS.createnft.example.request as CreatenftRequest
    const mint = (attribute: { tag: string; value: string; display_type?: 'number' }) =>
      gdn.api.createnft({
        ...request,
        metadata: [{ title: 'Ada', description: '', file_fields: [], attribute: [attribute] }],
      })
    await expect(mint({ tag: 'Power', value: '72', display_type: 'number' })).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining(`the server doesn't support typed traits: "Power" has the type number`),
    })
    expect(server.seen.map(({ path }) => path)).not.toContain('/api/v1/createnft')
    await mint({ tag: 'Power', value: '72' }).catch(() => null)
    expect(server.seen.map(({ path }) => path)).toContain('/api/v1/createnft')
    await gdn.close()
  })

  test('rejects an option that does not exist, instead of using the environment in its place', () => {
    vi.stubEnv('GDN_BASE_URL', server.url)
    vi.stubEnv('GDN_API_KEY', KEY)
    expect(refusal({ url: 'https://api.example.com' } as object)).toBe(
      'invalid_config: url is not an option of createClient(): The options are baseUrl, apiKey, stateDir and apiVersion.',
    )
    expect(refusal({ apiVersion: 1.2 } as object)).toContain("apiVersion must be '1.1' or '1.2'")
    expect(refusal({ baseUrl: server.url, stop: async () => {} } as object)).toBe('')
  })

  test('rejects a base URL with the path of the API', () => {
    expect(refusal({ baseUrl: 'https://api.example.com/api/v1/', apiKey: KEY })).toBe(
      'invalid_config: the base URL ends with /api/v1: Remove /api/v1. gdn adds the path of each endpoint.',
    )
  })

  test('names what is missing or invalid at once', () => {
    vi.stubEnv('GDN_BASE_URL', '')
    vi.stubEnv('GDN_API_KEY', '')
    expect(refusal()).toBe(
      'invalid_config: no server is configured: Set baseUrl and apiKey, or GDN_BASE_URL and GDN_API_KEY.',
    )
    expect(refusal({ baseUrl: 'https://api.example.com' })).toBe(
      'unauthorized: there is no API key for https://api.example.com: Set apiKey, or GDN_API_KEY.',
    )
    expect(refusal({ baseUrl: 'http://api.example.com', apiKey: KEY })).toContain('in clear text')
    expect(refusal({ baseUrl: 'https://api.example.com', apiKey: 'a key' })).toContain('has invalid characters')
  })
})

describe('gdn.api', () => {
  const client = (apiVersion?: '1.1' | '1.2') => createClient({ baseUrl: server.url, apiKey: KEY, apiVersion })

  test('rejects an invalid request without sending it', async () => {
    await expect(client().api.getnfts({ nft_gdn_ids: [] })).rejects.toMatchObject({
      ...{ name: 'GdnError', code: 'invalid_input', place: { field: 'nft_gdn_ids' } },
      details: [{ field: 'nft_gdn_ids', message: 'must have at least one ID' }],
    })
    expect(server.seen).toEqual([])
  })

  test('names a field that only version 1.2 lets a request omit', async () => {
    const { blockchain, ...rest } = ENDPOINTS.transfernft.example.request as TransfernftRequest
    await expect(client().api.transfernft(rest as TransfernftRequest)).rejects.toMatchObject({
      ...{ code: 'invalid_input', place: { field: 'blockchain' }, message: 'blockchain is required' },
      hint: 'Set blockchain. Only version 1.2 of the API accepts requests without this field.',
    })
    const broken = { ...rest, nft_gdn_id: 7 } as unknown as TransfernftRequest
    await expect(client().api.transfernft(broken)).rejects.toMatchObject({ code: 'invalid_input', hint: undefined })
    expect(server.seen).toEqual([])
  })

  test('says how to permit transfers that the collection does not permit', async () => {
    reply = { status: 400, json: { error: { title: 'Bad request', message: 'enable_transfer is off' } } }
    await expect(
      client().api.transfernft(ENDPOINTS.transfernft.example.request as TransfernftRequest),
    ).rejects.toMatchObject({
      code: 'refused',
      hint: expect.stringContaining('`gdn collection set <contract_address> --enable-transfer'),
    })
  })

  test('sends what creates something once, also if its outcome is unknown', async () => {
    reply = 'drop'
    const { request } = ENDPOINTS.createnft.example
    await expect(client().api.createnft(request as CreatenftRequest)).rejects.toMatchObject({ code: 'unknown_outcome' })
    expect(server.seen).toHaveLength(1)
  })

  test('checks requests by the version of the API that the client names', async () => {
    reply = { json: ENDPOINTS.createnfttrans.example.response }
    const { sender_wallet_address: _, ...request } = ENDPOINTS.createnfttrans.example.request as CreatenfttransRequest
    await expect(client('1.1').api.createnfttrans(request)).rejects.toMatchObject({ code: 'invalid_input' })
    expect(server.seen).toEqual([])
    await client('1.2').api.createnfttrans(request)
    expect(server.seen).toHaveLength(1)
  })

  test('uploads a file by its path, and bytes with a name', async () => {
    reply = { json: { url: 'ipfs://a' } }
    const path = join(folder, 'dawn.png')
    await writeFile(path, 'the bytes')
    const { api } = client()
    expect(await api.files({ file: path })).toEqual({ url: 'ipfs://a' })
    await api.files({ file: new Uint8Array([1]), name: 'one.bin' })
    const [first, second] = server.seen.map(({ body }) => body.toString())
    expect(first).toMatch(/filename="dawn.png"[\s\S]*the bytes/)
    expect(second).toContain('filename="one.bin"')
  })

  test('ends with the reason of its signal', async () => {
    const reason = new Error('no longer needed')
    const call = client().api.getnfts({ nft_gdn_ids: ['a'] }, { signal: AbortSignal.abort(reason) })
    await expect(call).rejects.toBe(reason)
    expect(server.seen).toEqual([])
  })

  test('can be used again after close()', async () => {
    reply = { json: ENDPOINTS.getnfts.example.response }
    const gdn = client()
    await gdn.api.getnfts({ nft_gdn_ids: ['a'] })
    await gdn.close()
    await gdn.close()
    await gdn.api.getnfts({ nft_gdn_ids: ['a'] })
    expect(server.seen).toHaveLength(2)
    await gdn.close()
  })
})

describe('readManifest', () => {
  const ALICE = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

  test('returns the valid rows, and each problem with its location', async () => {
    const path = join(folder, 'drop.csv')
    const lines = ['id,title,description,receiver', `1,Dawn,x,${ALICE}`, `2,,x,${ALICE}`, '3,Dusk,x,0x12']
    await writeFile(path, lines.join('\n'))
    const { rows, problems, ...target } = await readManifest(path, { blockchain: 'polygon', contractAddress: ALICE })
    expect(target).toEqual({ blockchain: 'polygon', contractAddress: ALICE })
    expect(rows).toEqual([
      {
        ...{ line: 2, id: '1', receiver: ALICE, sender: null, localFiles: [] },
        metadata: { title: 'Dawn', description: 'x', file_fields: [] },
      },
    ])
    expect(problems).toMatchObject([
      {
        ...{ file: path, line: 3, column: 2, field: 'title', message: 'title is required' },
        text: `${path}:3:2: title is required`,
      },
      { text: `${path}:4:4: receiver must have 40 hex digits after 0x, but has 2` },
    ])
  })

  test('returns a missing file as a problem, and throws for an unknown blockchain', async () => {
    const path = join(folder, 'missing.csv')
    expect((await readManifest(path)).problems).toEqual([
      {
        text: `${path}: doesn't exist`,
        ...{ file: path, message: "doesn't exist" },
        hint: 'Check the path, or run `gdn batch template` to create a manifest.',
      },
    ])
    await expect(readManifest(path, { blockchain: 'polygn' })).rejects.toMatchObject({
      ...{ code: 'invalid_input', message: 'unknown blockchain "polygn"', place: { field: 'blockchain' } },
    })
  })
})
