/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { ApiVersion } from '../../../src/api/versions.ts'
import { backendForFile, freshDataDir, startTestBackend, type TestBackend } from '../../helpers/backend.ts'
import { ENDPOINTS } from '../../helpers/endpoints.ts'
import { makeKey } from '../../helpers/keys.ts'

let backend: TestBackend
const keys = new Map<ApiVersion | null, { 'x-api-key': string }>()

beforeAll(async () => {
  backend = await backendForFile()
  for (const apiVersion of ['1.1', '1.2', null] as const) {
    keys.set(apiVersion, (await makeKey(backend.dataDir, { apiVersion })).headers)
  }
})

/** The statuses of getnfts for a body that breaks the schema, and for one that isn't JSON. */
async function statusesOfGetnfts(to: TestBackend, headers: Record<string, string> = {}) {
  const answers = [await to.post('/api/v1/getnfts', {}, headers), await to.post('/api/v1/getnfts', '{', headers)]
  for (const { json } of answers) expect(json.error.title).toBe('Request Validation Error')
  return answers.map(({ status }) => status)
}

describe('the version of the API', () => {
  it('is that of the key, and 1.1 for a key that names none', async () => {
    expect(await statusesOfGetnfts(backend, keys.get('1.1'))).toEqual([422, 422])
    expect(await statusesOfGetnfts(backend, keys.get('1.2'))).toEqual([400, 400])
    expect(await statusesOfGetnfts(backend, keys.get(null))).toEqual([422, 422])
    expect(await statusesOfGetnfts(backend)).toEqual([422, 422])
  })

  // API reference v1.2, Errors.
  it.each([
    ['createnft', 400],
    ['createnfttrans', 400],
    ['transfernft', 400],
    ['getnfts', 400],
    ['getcollections', 400],
    ['getisgdnnft', 422],
    ['createcollection', 400],
    ['getpresignedurl', 400],
  ] as const)('1.2 returns the status of its reference for an invalid request to %s: %d', async (name, expected) => {
    const { status } = await backend.post(ENDPOINTS[name].path, {}, keys.get('1.2'))
    expect(status).toBe(expected)
  })

  it.each([
    ['the settings file', { file: 'api_version: 1.2\n' }, [400, 400]],
    ['a flag', { options: { apiVersion: '1.2' } }, [400, 400]],
    ['a flag over the settings file', { file: 'api_version: "1.2"\n', options: { apiVersion: '1.1' } }, [422, 422]],
  ] as const)('of keys that name none is set by %s', async (_what, source, expected) => {
    const place = await freshDataDir()
    onTestFinished(place.remove)
    if ('file' in source) await writeFile(join(place.path, 'backend.yaml'), source.file, { mode: 0o600 })
    const other = await startTestBackend(place.path, 'options' in source ? source.options : {})
    onTestFinished(other.close)
    expect(await statusesOfGetnfts(other)).toEqual(expected)
    const old = await makeKey(place.path, { apiVersion: '1.1' })
    expect(await statusesOfGetnfts(other, old.headers)).toEqual([422, 422])
  })

  it('in the settings file must be a known one', async () => {
    const place = await freshDataDir()
    onTestFinished(place.remove)
    await writeFile(join(place.path, 'backend.yaml'), 'api_version: 2\n', { mode: 0o600 })
    await expect(startTestBackend(place.path)).rejects.toMatchObject({
      code: 'invalid_config',
      message: 'must be "1.1" or "1.2"',
    })
  })
})

describe('/openapi.json', () => {
  // biome-ignore lint/suspicious/noExplicitAny: the tests check the document's shape
  const document = async (query: string): Promise<any> => (await backend.get(`/openapi.json${query}`)).json()

  it('is of the version of the server, or of the one in the query', async () => {
    const [own, old, current] = [
      await document(''),
      await document('?api_version=1.1'),
      await document('?api_version=1.2'),
    ]
    expect(own).toEqual(old)
    expect([old.info['x-api-version'], current.info['x-api-version']]).toEqual(['1.1', '1.2'])
    expect(old.paths['/api/v1/getnfts'].post.responses).toHaveProperty('422')
    expect(current.paths['/api/v1/getnfts'].post.responses).not.toHaveProperty('422')
    expect(old.paths['/api/v1/getcollections'].post['x-origin']).toBe('extension')
    expect(current.paths['/api/v1/getcollections'].post['x-origin']).toBe('reference')
  })

  it('is valid in version 1.2, with the parameters of its reference', async () => {
    const { paths, ...rest } = await document('?api_version=1.2')
    expect(await new Validator().validate({ ...rest, paths: structuredClone(paths) })).toMatchObject({ valid: true })
    const { transfernft, createnfttrans } = Object.fromEntries(
      ['transfernft', 'createnfttrans'].map((name) => {
        const { schema, example } = paths[`/api/v1/${name}`].post.requestBody.content['application/json']
        return [
          name,
          { required: [...(schema.anyOf?.[0] ?? schema).required].sort(), example: Object.keys(example).sort() },
        ]
      }),
    )
    const wallets = ['contract_address', 'receiver_wallet_address']
    const transfer = [...wallets, 'nft_gdn_id', 'sender_wallet_address', 'token_id'].sort()
    const grant = [...wallets, 'blockchain', 'metadata'].sort()
    expect(transfernft).toEqual({ required: transfer, example: transfer })
    expect(createnfttrans).toEqual({ required: grant, example: grant })
  })

  it('rejects an unknown version', async () => {
    const response = await backend.get('/openapi.json?api_version=2')
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: { title: 'Request Validation Error', message: 'api_version must be one of 1.1, 1.2' },
    })
  })
})
