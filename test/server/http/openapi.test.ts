/** @module-tag slow */
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { beforeAll, describe, expect, it } from 'vitest'
import type { EndpointName } from '../../../src/api/endpoints.ts'
import { CAPABILITIES } from '../../../src/api/headers.ts'
import { buildOpenApi } from '../../../src/api/openapi/document.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  WALLETS,
} from '../../helpers/backend.ts'
import { ENDPOINTS } from '../../helpers/endpoints.ts'

let backend: TestBackend
// biome-ignore lint/suspicious/noExplicitAny: the tests check the document's shape
let document: any

beforeAll(async () => {
  backend = await backendForFile()
  document = await (await backend.get('/openapi.json')).json()
  ajv.addSchema(document, 'openapi')
})

/** The document of a server with every route. */
const everything = () =>
  buildOpenApi(
    [
      ...Object.values(ENDPOINTS).map(({ path }) => ({ method: 'POST', url: path as string })),
      ...['/ipfs/*', '/healthz', '/readyz', '/metrics', '/openapi.json'].map((url) => ({ method: 'GET', url })),
      ...['/rpc/:blockchain', '/v1/wallet/create'].map((url) => ({ method: 'POST', url })),
    ],
    { version: '1.2.3' },
  )

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })

const schemaOf = (operation: string, pointer: string): ValidateFunction => {
  const place = `/paths/${operation.replaceAll('/', '~1')}${pointer}`
  return ajv.compile({ $ref: `openapi#${place}` })
}

const answerSchema = (path: string, status: number) =>
  schemaOf(path, `/post/responses/${status}/content/application~1json/schema`)
const requestSchema = (path: string) => schemaOf(path, '/post/requestBody/content/application~1json/schema')

const apiPaths = () => Object.keys(document.paths).filter((path) => path.startsWith('/api/'))

describe('/openapi.json', () => {
  it('is a valid OpenAPI 3.1 document', async () => {
    expect(document.openapi).toBe('3.1.0')
    const result = await new Validator().validate(structuredClone(document))
    expect(result).toMatchObject({ valid: true })
  })

  it('is valid with every endpoint of the contract in it', async () => {
    const result = await new Validator().validate(structuredClone(await everything()))
    expect(result).toMatchObject({ valid: true })
  })

  it('lists exactly the endpoints that this server has', async () => {
    for (const { path } of Object.values(ENDPOINTS)) {
      const { status } = await backend.post(path, {}, { 'x-api-key': '' })
      expect([path, path in document.paths]).toEqual([path, status !== 404])
    }
  })

  it('lists the routes outside /api/v1', () => {
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining([
        '/rpc/{blockchain}',
        '/ipfs/{cid}',
        '/ipfs/{cid}/{path}',
        '/healthz',
        '/readyz',
        '/metrics',
      ]),
    )
  })

  it('describes the header of each capability', () => {
    const named = Object.keys(document.components.headers).map((name) => name.toLowerCase())
    expect(named).toEqual(expect.arrayContaining(Object.values(CAPABILITIES)))
    const headerNames = Object.keys(document.paths['/api/v1/getnfts'].post.responses[200].headers)
    expect(headerNames.map((name) => name.toLowerCase())).toEqual(expect.arrayContaining(Object.values(CAPABILITIES)))
  })

  it('describes the permissions, rate limit, headers and responses of every endpoint', async () => {
    const whole = (await everything()) as unknown as typeof document
    for (const {
      name,
      path,
      summary,
      permissions,
      needs,
      ratePerSecond,
      creates,
      errorForm,
      validationStatus,
    } of Object.values(ENDPOINTS)) {
      const { post } = whole.paths[path]
      expect(post).toMatchObject({
        operationId: name,
        summary,
        security: needs === 'any' ? permissions.map((one) => ({ apiKey: [one] })) : [{ apiKey: permissions }],
      })
      for (const permission of permissions) expect(post.description).toContain(permission)
      const references = JSON.stringify(post.parameters)
      expect([name, references.includes('IdempotencyKey')]).toEqual([name, creates !== null])
      expect([name, '429' in post.responses]).toEqual([name, ratePerSecond !== null])
      if (ratePerSecond !== null) {
        expect(post.description).toContain(`${ratePerSecond} requests per second for each key`)
        expect(Object.keys(post.responses[429].headers)).toEqual(
          expect.arrayContaining(['Retry-After', 'RateLimit', 'RateLimit-Policy']),
        )
      }
      for (const status of [validationStatus, 401, 403, 500]) {
        const { schema } = post.responses[status].content['application/json']
        expect(schema).toEqual({ $ref: `#/components/schemas/Error${errorForm}` })
      }
    }
    expect(whole.components.securitySchemes.apiKey).toMatchObject({ type: 'apiKey', in: 'header', name: 'x-api-key' })
  })

  it('has an example for every request and response, which is valid by its own schema', () => {
    expect(apiPaths().length).toBeGreaterThanOrEqual(6)
    for (const path of apiPaths()) {
      const { requestBody, responses } = document.paths[path].post
      for (const [status, answer] of Object.entries<typeof document>(responses)) {
        const { example } = answer.content['application/json']
        const validates = answerSchema(path, Number(status))
        expect([path, status, validates(example), validates.errors]).toEqual([path, status, true, null])
      }
      const body = requestBody.content['application/json']
      if (body === undefined) continue
      const validates = requestSchema(path)
      expect([path, validates(body.example), validates.errors]).toEqual([path, true, null])
    }
  })

  it('accepts the aliases of the API reference: one ID or object in place of a list, and tokenid', async () => {
    const whole = await everything()
    ajv.addSchema(whole, 'whole')
    const takes = (name: EndpointName, change: object, without: string[] = []) => {
      const body: Record<string, unknown> = { ...(ENDPOINTS[name].example.request as object), ...change }
      for (const field of without) delete body[field]
      const place = `~1api~1v1~1${name}/post/requestBody/content/application~1json/schema`
      return ajv.validate({ $ref: `whole#/paths/${place}` }, body)
    }
    expect(takes('createnft', { metadata: plainMetadata(1)[0] })).toBe(true)
    expect(takes('getisgdnnft', { nft_gdn_ids: 'one' })).toBe(true)
    expect(takes('transfernft', { tokenid: '1' }, ['token_id'])).toBe(true)
    expect(takes('transfernft', {}, ['token_id'])).toBe(false)
    expect(takes('createnft', { unknown: 1 })).toBe(false)
    expect(takes('createnft', { metadata: [] })).toBe(false)
  })

  it('cannot be read by pages of other origins', async () => {
    const { headers } = await backend.get('/openapi.json', { origin: 'https://elsewhere.example' })
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })
})

describe('the examples, sent with real IDs', () => {
  it('every listed endpoint returns 200 for its example, with a body valid by its schema', async () => {
    const collection = await createTestCollection(backend, {
      ...{ enable_transfer: true, wallet_address: WALLETS[0], dynamic: true, enable_burn: true },
    })
    const ids = await mint(backend, collection, plainMetadata(4), {
      receiver: WALLETS[0],
      headers: { 'gdn-run': 'a-run' },
    })
    const nfts = await settled(backend, ids)
    const [first, second] = nfts
    const unnamed = await call(backend, 'createnft', {
      ...{ contract_address: collection.address, blockchain: 'polygon', receiver_wallet_address: WALLETS[0] },
      ...{ metadata: plainMetadata(1), reference_ids: ['content'], reference_kinds: ['content'] },
    })
    // Values that replace those of the examples. The transfer is sent last, because it changes the owner.
    const real: Record<Exclude<EndpointName, 'files'>, object> = {
      createcollection: {},
      getpresignedurl: {},
      createnft: { contract_address: collection.address },
      createnfttrans: { contract_address: collection.address },
      creatednft: { contract_address: collection.address },
      updatednft: { contract_address: collection.address, nft_gdn_id: ids[0] },
      freezenft: { contract_address: collection.address, nft_gdn_ids: [ids[2]] },
      burnnft: { contract_address: collection.address, nft_gdn_id: ids[3], holder_wallet_address: WALLETS[0] },
      commitprovenance: { contract_address: collection.address },
      getprovenances: { contract_address: collection.address },
      getnftgdnids: { contract_addresses: collection.address },
      getnfts: { nft_gdn_ids: ids },
      getisgdnnft: { nft_gdn_ids: [first?.nft_gdn_id] },
      getcollections: { transaction_gdn_ids: [collection.id] },
      getcollectionsettings: { transaction_gdn_ids: [collection.id] },
      gettransactions: { transaction_gdn_ids: [collection.id] },
      getnfthistory: { nft_gdn_id: ids[0], offset: 0 },
      getnftowners: { contract_address: collection.address, after: undefined },
      getsupply: { contract_address: collection.address },
      getreferences: { contract_address: collection.address },
      getcontentreferences: { contract_address: collection.address },
      relabelreferences: { contract_address: collection.address },
      aliasreferences: {
        ...{ contract_address: collection.address, reference_ids: ['alias'], reference_label: undefined },
        nft_gdn_ids: unnamed.nfts.map(({ nft_gdn_ids }) => nft_gdn_ids),
      },
      getfees: {},
      getruncosts: { run: 'a-run' },
      setrunmaxcost: { run: 'a-run', contract_address: collection.address },
      setrunmaxfee: { run: 'a-run', contract_address: collection.address },
      transfernft: {
        contract_address: collection.address,
        nft_gdn_id: second?.nft_gdn_id,
        token_id: second?.token_id,
        sender_wallet_address: WALLETS[0],
        receiver_wallet_address: WALLETS[1],
      },
    }
    const order = apiPaths().sort((a, b) => Number(a.includes('transfer')) - Number(b.includes('transfer')))
    for (const path of order) {
      const { operationId, requestBody } = document.paths[path].post
      const json = requestBody.content['application/json']
      if (json === undefined) continue
      const body = { ...json.example, ...real[operationId as keyof typeof real] }
      const { status, json: answer, headers } = await backend.post(path, body)
      expect([path, status, status === 200 ? null : answer]).toEqual([path, 200, null])
      const validates = answerSchema(path, 200)
      expect([path, validates(answer), validates.errors]).toEqual([path, true, null])
      for (const name of Object.keys(document.paths[path].post.responses[200].headers)) {
        if (/replayed|^ratelimit$/i.test(name)) continue
        expect([path, name, headers.has(name)]).toEqual([path, name, true])
      }
    }
  })

  it('the multipart upload returns a body valid by its schema', async () => {
    const form = new FormData()
    form.set('file', new Blob(['a file']), 'a.txt')
    const { path } = ENDPOINTS.files
    const headers = { 'x-api-key': backend.apiKey.reveal() }
    const response = await fetch(backend.url + path, { method: 'POST', headers, body: form })
    expect(response.status).toBe(200)
    const validates = answerSchema(path, 200)
    expect(validates(await response.json())).toBe(true)
  })

  it('errors have the form and status that the document declares', async () => {
    for (const path of apiPaths()) {
      const key = { 'x-api-key': 'gdn_wrong' }
      const cases = [await backend.post(path, {}, key), await backend.post(path, '{', {}), await backend.post(path, {})]
      for (const { status, json } of cases) {
        const validates = answerSchema(path, status)
        expect([path, status, validates(json)]).toEqual([path, status, true])
      }
    }
  })

  it('routes without a key respond as declared', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const response = await backend.get(path)
      const validates = schemaOf(path, `/get/responses/${response.status}/content/application~1json/schema`)
      expect([path, validates(await response.json())]).toEqual([path, true])
    }
    const { example } = document.paths['/rpc/{blockchain}'].post.requestBody.content['application/json']
    const { status, json } = await backend.post('/rpc/polygon', example, { 'x-api-key': '' })
    expect([status, json]).toEqual([200, { jsonrpc: '2.0', id: 1, result: expect.stringMatching(/^0x/) }])
  })
})
