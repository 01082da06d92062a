import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrivateKey } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { insertRequest } from '../../../src/server/store/requests.ts'
import { startTestBackend, type TestBackend, temporaryDataDir, withStore } from '../../helpers/backend.ts'
import { whenFileDone } from '../../helpers/clean-up.ts'
import { CREATING, ENDPOINTS } from '../../helpers/endpoints.ts'
import { writeKeystore, writePassword } from '../../helpers/keystore-file.ts'
import { insertCollection } from '../../helpers/rows.ts'
import { startNode } from '../../helpers/rpc-node.ts'

const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const ONLY = { 'gdn-only-without-value': 'yes' }

let dataDir: string
let node: Awaited<ReturnType<typeof startNode>>
let embedded: TestBackend
let backend: TestBackend
beforeAll(async () => {
  dataDir = await temporaryDataDir(whenFileDone)
  node = await startNode({})
  // Creates the local account.
  embedded = await startTestBackend(dataDir)
  const announced = await embedded.post(ENDPOINTS.getisgdnnft.path, {})
  expect(announced.headers.get('blockchains-without-value')).toBe('*')
  await embedded.close()
  await withStore(dataDir, async ({ db }) => {
    const { id: account_id } = await db.selectFrom('accounts').select('id').executeTakeFirstOrThrow()
    await insertRequest(db, {
      ...{ id: 'r', account_id, endpoint: 'createcollection', idempotency_key: null, body_hash: '', response: '' },
      ...{ accepted_at: 0, run: null },
    })
    await insertCollection(db, { account_id, contract_address: CONTRACT })
  })
  await writeKeystore(join(dataDir, 'operator.json'), generatePrivateKey())
  await writePassword(join(dataDir, 'password'))
  const chain = { rpc_urls: [node.url], operators: [{ keystore: 'operator.json', password_file: 'password' }] }
  const chains = { polygon: chain, base: { ...chain, test_network: true }, 'polygon-amoy': chain }
  await writeFile(join(dataDir, 'backend.yaml'), JSON.stringify({ chains }), { mode: 0o600 })
  backend = await startTestBackend(dataDir)
})
afterAll(async () => {
  await backend?.close()
  await node?.close()
})

/** The example of an endpoint, on polygon. */
function requestOf(name: (typeof CREATING)[number]): object {
  const request: Record<string, unknown> = { ...(ENDPOINTS[name].example.request as object) }
  if ('blockchain' in request) request.blockchain = 'polygon'
  if ('contract_address' in request) request.contract_address = CONTRACT
  return request
}

it('announces each blockchain whose coins have no value, in every response', async () => {
  const answers = [
    await backend.post(ENDPOINTS.getisgdnnft.path, {}),
    await backend.post('/api/v1/nothing', {}),
    await backend.get('/healthz'),
  ]
  for (const { headers } of answers) {
    const names = headers.get('blockchains-without-value')?.split(', ') ?? []
    expect(names).toEqual(expect.arrayContaining(['base', 'polygon-amoy', 'ethereum', 'solana']))
    expect(names).not.toContain('polygon')
  }
})

it.each(CREATING)('%s: rejects a request for a blockchain without value if its coins have value', async (name) => {
  const answer = await backend.post(ENDPOINTS[name].path, requestOf(name), { ...ONLY, 'idempotency-key': name })
  expect([answer.status, answer.headers.get('error-code')]).toEqual([412, 'blockchain_has_value'])
  expect(JSON.stringify(answer.json)).toContain('the coins of polygon have value on this server')
  const kept = await withStore(dataDir, ({ db }) => db.selectFrom('requests').select('id').execute())
  expect(kept).toEqual([{ id: 'r' }])
})

it.each([
  ['an embedded chain', 'ethereum', 200],
  ['a test network that is not set up', 'base', 503],
])('checks it like any other request on %s', async (_what, blockchain, status) => {
  const request = { ...requestOf('createcollection'), blockchain }
  expect(await backend.post(ENDPOINTS.createcollection.path, request, ONLY)).toMatchObject({ status })
})

it('rejects another value of the header, because it is money', async () => {
  const answer = await backend.post(ENDPOINTS.createcollection.path, requestOf('createcollection'), {
    'gdn-only-without-value': 'true',
  })
  expect([answer.status, answer.json.error.message]).toEqual([400, 'gdn-only-without-value must be yes'])
})
