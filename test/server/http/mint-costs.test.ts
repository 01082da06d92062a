/** @module-tag slow */
import { beforeAll, expect, it } from 'vitest'
import { cli, tempHome } from '../../cli/harness.ts'
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

let backend: TestBackend
beforeAll(async () => {
  backend = await backendForFile()
})

const mintOf = async (nft_gdn_id: string) =>
  (await call(backend, 'getnfthistory', { nft_gdn_id, limit: 1 })).events[0] as Record<string, unknown>

it('getnfthistory returns what the mint of an NFT paid: its share of the transaction', async () => {
  const collection = await createTestCollection(backend)
  const ids = await mint(backend, collection, plainMetadata(2))
  expect(await settled(backend, ids)).toMatchObject([{ status: 'deployed' }, { status: 'deployed' }])
  const [first = {}, second = {}] = await Promise.all(ids.map(mintOf))
  const digits = expect.stringMatching(/^[1-9][0-9]*$/)
  expect(first).toMatchObject({ kind: 'mint', gas_used: digits, fee_paid: digits, currency: 'POL', is_simulated: true })
  if (first.transaction_hash === second.transaction_hash) expect(second.gas_used).toBe(first.gas_used)
})

it.each([
  ['mint', []],
  ['grant', ['--sender', WALLETS[0]]],
])('gdn nft %s shows what it has paid', async (verb, more) => {
  const collection = await createTestCollection(backend, { enable_transfer: true })
  const { env } = await tempHome()
  const target = ['-c', collection.address, '-b', 'polygon', '--receiver', WALLETS[1], '--title', 'Dawn', ...more]
  const argv = ['nft', verb, ...target, '--base-url', backend.url]
  const options = { env: { ...env, GDN_API_KEY: backend.apiKey.reveal() } }
  const { code, stdout, stderr } = await cli([...argv, '--json'], options)
  expect(code, stderr).toBe(0)
  const digits = expect.stringMatching(/^[1-9][0-9]*$/)
  expect(JSON.parse(stdout)).toMatchObject({ gas_used: digits, fee_paid_wei: digits, currency: 'POL', simulated: true })
  const { stdout: card } = await cli([...argv, '--again'], { ...options, tty: true })
  expect(card).toMatch(/^paid +[0-9.]+ POL, for [0-9,]+ gas \(simulated\)$/im)
})
