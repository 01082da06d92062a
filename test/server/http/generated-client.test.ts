/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import openapiTS, { astToString } from 'openapi-typescript'
import { beforeAll, expect, it, vi } from 'vitest'
import type { Endpoint } from '../../../src/api/endpoint.ts'
import { buildOpenApi } from '../../../src/api/openapi/document.ts'
import { whenFileDone } from '../../helpers/clean-up.ts'
import { ENDPOINTS } from '../../helpers/endpoints.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

// The generator prints its types with the API of TypeScript 5 and 6, which TypeScript 7 doesn't have.
vi.mock('typescript', async () => ({ default: (await import('@ts-morph/common')).ts }))

const TSC = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))
const OPTIONS = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022', '--types', '']

/** A typed client, as users of generated types write it. */
const CLIENT = `import type { paths } from './api'
type Json = 'application/json'
type Contents<Path extends keyof paths> =
  paths[Path] extends { post: { requestBody: { content: infer Content } } } ? Content : never
type Body<Path extends keyof paths> = Contents<Path>[keyof Contents<Path>]
type Answer<Path extends keyof paths> =
  paths[Path] extends { post: { responses: { 200: { content: Record<Json, infer Answer> } } } } ? Answer : never
declare function post<Path extends keyof paths>(path: Path, body: Body<Path>): Answer<Path>
`

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder('gdn-generated-', whenFileDone)
  const routes = Object.values(ENDPOINTS).map(({ path }) => ({ method: 'POST', url: path }))
  const types = await openapiTS(JSON.stringify(await buildOpenApi(routes, { version: '1.2.3' })))
  await writeFile(join(folder, 'api.d.ts'), astToString(types))
})

/** What the compiler reports about statements that use the client. */
async function compile(name: string, statements: readonly string[]): Promise<string> {
  const file = join(folder, `${name}.ts`)
  await writeFile(file, [CLIENT, ...statements, 'export {}', ''].join('\n'))
  const { stdout } = await execa(process.execPath, [TSC, ...OPTIONS, file], { reject: false, cwd: folder })
  return stdout
}

const all: Endpoint[] = Object.values(ENDPOINTS)
const sampleOf = ({ contentType, example }: Endpoint): unknown =>
  contentType === 'application/json' ? example.request : { file: 'bytes' }
const callOf = (path: string, body: unknown) => `post(${JSON.stringify(path)}, ${JSON.stringify(body)})`

it('generated types accept the sample request and the sample response of every endpoint', async () => {
  const statements = all.flatMap((endpoint) => [
    `const ${endpoint.name}: Answer<'${endpoint.path}'> = ${JSON.stringify(endpoint.example.response)}`,
    callOf(endpoint.path, sampleOf(endpoint)),
  ])
  expect(await compile('samples', statements)).toBe('')
})

it('generated types accept extra metadata, one item in place of a list, and both spellings of token_id', async () => {
  const metadata = { title: 'a', description: 'b', file_fields: [{ key: 'image', url: 'ipfs://c' }], artist: 'd' }
  const withTraits = { ...metadata, attribute: [{ tag: 'e', value: 'f' }] }
  const { token_id: tokenid, ...transfer } = ENDPOINTS.transfernft.example.request as Record<string, unknown>
  const statements = [
    callOf('/api/v1/createnft', { ...ENDPOINTS.createnft.example.request, metadata }),
    callOf('/api/v1/createnfttrans', { ...ENDPOINTS.createnfttrans.example.request, metadata: [metadata, withTraits] }),
    callOf('/api/v1/getcollections', { transaction_gdn_ids: 'a' }),
    callOf('/api/v1/transfernft', { ...transfer, tokenid }),
  ]
  expect(await compile('spellings', statements)).toBe('')
})

it('generated types accept reference IDs, and their look-up with and without a collection', async () => {
  const { createnft, createcollection, transfernft, getreferences } = ENDPOINTS
  const statements = [
    callOf(createnft.path, { ...createnft.example.request, reference_ids: ['a'] }),
    callOf(createcollection.path, { ...createcollection.example.request, reference_id: 'a' }),
    callOf(transfernft.path, { ...(transfernft.example.request as object), reference_id: 'a' }),
    callOf(getreferences.path, { operation: 'createcollection', reference_ids: ['a'] }),
    `// @ts-expect-error: in no collection\n${callOf(getreferences.path, { operation: 'createnft', reference_ids: ['a'] })}`,
  ]
  expect(await compile('references', statements)).toBe('')
})

it('generated types reject a request without a required field', async () => {
  const errors = await compile(
    'incomplete',
    all.flatMap((endpoint) => {
      const fields = Object.entries(sampleOf(endpoint) as object)
      return fields.flatMap(([name]) => {
        const body = Object.fromEntries(fields.filter(([other]) => other !== name))
        const isOptional = endpoint.request.safeParse(body).success
        return isOptional ? [] : [`// @ts-expect-error: ${name} is missing\n${callOf(endpoint.path, body)}`]
      })
    }),
  )
  expect(errors).toBe('')
})

const REQUEST_NOTES: Record<string, Record<string, RegExp>> = {
  createnft: { contract_address: /collection/, receiver_wallet_address: /owner/ },
  createnfttrans: {
    contract_address: /collection/,
    sender_wallet_address: /first owner/,
    receiver_wallet_address: /transferred to/,
  },
  transfernft: {
    contract_address: /collection/,
    sender_wallet_address: /current owner/,
    receiver_wallet_address: /new owner/,
  },
  getisgdnnft: { receiver_wallet_address: /owner/ },
  getnftgdnids: { contract_addresses: /collection/ },
  createcollection: { wallet_address: /owns the collection/ },
}

it.each(Object.entries(REQUEST_NOTES))('%s describes each address by its role', async (name, notes) => {
  const endpoint = ENDPOINTS[name as keyof typeof ENDPOINTS]
  const document = await buildOpenApi([{ method: 'POST', url: endpoint.path }], { version: '1.2.3' })
  const described: [field: string, description: string][] = []
  JSON.stringify(document.paths, (field, value) => {
    if (field.includes('address') && typeof value?.description === 'string') described.push([field, value.description])
    return value
  })
  expect(described.length).toBeGreaterThanOrEqual(Object.keys(notes).length)
  for (const [field, description] of described) {
    if (field in notes) expect(`${field}: ${description}`).toMatch(notes[field] as RegExp)
    if (!field.startsWith('contract')) expect(`${field}: ${description}`).not.toContain('Address of the collection')
  }
})
