/** @module-tag slow */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OWNER } from '../helpers/addresses.ts'
import { freshDataDir } from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { filesHolding } from '../helpers/leaks.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'

const EMAIL = 'shop@example.com'

let dataDir: Awaited<ReturnType<typeof freshDataDir>>
let home: Awaited<ReturnType<typeof freshDataDir>>
let backend: ServedBackend

beforeAll(async () => {
  dataDir = await freshDataDir()
  home = await freshDataDir()
  const log = ['--log-level', 'debug', '--log-file', join(dataDir.path, 'debug.log')]
  backend = await serve(dataDir.path, ['--rate-limits', 'off', '--single-use-urls', ...log]).ready
})
afterAll(async () => {
  await backend?.end('SIGTERM')
  await dataDir?.remove()
  await home?.remove()
})

interface Key {
  id: string
  prefix: string
  api_key: string
}

const as = (apiKey: string) => gdnAt({ url: backend.url, apiKey }, home.path)
const makeKey = (permissions: string, ...more: string[]) =>
  as('').json<Key>(
    ...['key', 'create', '--data-dir', dataDir.path, '--name', 'e2e', '--email', EMAIL],
    ...['--permission', permissions, ...more],
  )

async function post(path: string, key: string, body: object): Promise<{ status: number; json: unknown }> {
  const response = await fetch(new URL(path, backend.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify(body),
  })
  return { status: response.status, json: await response.json() }
}

test('a new key works at once beside the running backend, within its permissions, until it is revoked', async () => {
  const { api_key: key, prefix } = await makeKey('collection:create,nft:read')
  const collection = ['collection', 'create', '--name', 'Dawn', '--wallet', OWNER]
  const made = await as(key).json<{ contract_address: string; status: string }>(...collection)
  expect(made.status).toBe('deployed')

  const mint = ['nft', 'mint', '-c', made.contract_address, '--receiver', OWNER, '--title', 'x']
  const refused = await as(key).run(...mint, '--json')
  expect(refused.exitCode).toBe(4)
  expect(JSON.parse(refused.stderr).error).toMatchObject({
    code: 'forbidden',
    message: expect.stringContaining('nft:create'),
  })

  const list = ['nft', 'list', '-c', made.contract_address]
  expect(await as(key).json(...list)).toEqual([])
  const revoked = await as('').run('key', 'revoke', prefix, '--data-dir', dataDir.path)
  expect(revoked).toMatchObject({ exitCode: 0, stdout: '', stderr: expect.stringContaining(prefix) })
  const after = await as(key).run(...list, '--json')
  expect(after.exitCode).toBe(4)
  expect(JSON.parse(after.stderr).error.code).toBe('unauthorized')

  const keys = await as('').json<{ prefix: string; status: string }[]>('key', 'list', '--data-dir', dataDir.path)
  expect(keys.find((known) => known.prefix === prefix)?.status).toBe('revoked')
})

test('no request fails while keys are created and revoked', async () => {
  let running = true
  const statuses: number[] = []
  const request = { wallet_address: OWNER, name: 'Busy', blockchain: 'polygon' }
  const client = async () => {
    while (running) statuses.push((await post('/api/v1/createcollection', backend.apiKey, request)).status)
  }
  const clients = [client(), client(), client(), client()]
  for (let made = 0; made < 6 || statuses.length < 20; made++) {
    const { id } = await makeKey('all')
    await as('').run('key', 'revoke', id, '--data-dir', dataDir.path)
  }
  running = false
  await Promise.all(clients)
  expect(statuses.filter((status) => status !== 200)).toEqual([])
})

test('with --single-use-urls a signed URL works once, and the server keeps no wallet key', async () => {
  const { api_key: key } = await makeKey('wallet:create', '--expires', '1h')
  const { json } = await post('/api/v1/getpresignedurl', key, { email: EMAIL })
  const { url } = (json as { response: { url: string } }).response
  expect(new URL(url).origin).toBe(backend.url)
  const answers = await Promise.all(Array.from({ length: 8 }, () => fetch(url, { method: 'POST' })))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(410)])
  const made = await Promise.all(
    answers.map((answer) => answer.json() as Promise<{ wallet?: { private_key: string } }>),
  )
  const [secret = ''] = made.flatMap(({ wallet }) => wallet?.private_key ?? [])
  expect(secret).toMatch(/^0x[0-9a-f]{64}$/)
  expect(await readFile(join(dataDir.path, 'debug.log'), 'utf8')).toContain('ready')
  expect(await filesHolding(dataDir.path, secret)).toEqual([])
  expect(await filesHolding(dataDir.path, key)).toEqual([])
  expect(backend.stderr()).toBe('')
})
