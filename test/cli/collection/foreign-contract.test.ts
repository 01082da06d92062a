/** @module-tag slow */
import { beforeAll, expect, test } from 'vitest'
import { backendForFile, type TestBackend, WALLETS, withStore } from '../../helpers/backend.ts'
import { folder } from '../batch/drop.ts'
import { cli, errorOf } from '../harness.ts'

const [ALICE = '', BOB = ''] = WALLETS
const FOREIGN = '0xBC4CA0EdA7647A8aB7C2061c2E118A18a936f13D'

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

const NOT_OURS = `${FOREIGN} is not a collection of this account`

test.each<[string[], string]>([
  [['nft', 'mint', '--title', 'Dawn', '--receiver', BOB], NOT_OURS],
  [['nft', 'transfer', '1', '--sender', ALICE, '--receiver', BOB, '--yes'], NOT_OURS],
  [['nft', 'transfer', `${FOREIGN}/1`, '--receiver', BOB, '--yes'], NOT_OURS],
  [['batch', 'mint', 'drop.csv', '--yes'], NOT_OURS],
  [['apply', 'drop.csv', '--yes'], NOT_OURS],
])('%j of a contract that the server did not deploy is refused, and nothing is accepted', async (argv, message) => {
  const { path, options } = await folder({ 'drop.csv': `title,description,receiver\nDawn,x,${BOB}\n` })
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal() }
  const flags = ['-c', FOREIGN, '-b', 'polygon', '--base-url', backend.url, '--json']
  const named = argv.map((arg) => (arg === 'drop.csv' ? path(arg) : arg))
  const result = await cli([...named, ...flags], { ...options, env })
  expect(errorOf(result).message).toContain(message)
  expect([4, 5]).toContain(result.code)
  const rows = await withStore(backend.dataDir, async ({ db }) => [
    ...(await db.selectFrom('nfts').select('id').execute()),
    ...(await db.selectFrom('transactions').select('id').execute()),
  ])
  expect(rows).toEqual([])
})

test.each(['show', 'verify'])('nft %s of a number names the form that selects a token', async (verb) => {
  const { options } = await folder({})
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_CONTRACT: FOREIGN }
  const result = await cli(['nft', verb, '9', '--base-url', backend.url, '--json'], { ...options, env })
  expect([result.code, errorOf(result).hint]).toEqual([5, 'For a token ID, use `<contract>/9`.'])
})

test.each([
  ['collection', 'show', FOREIGN],
  ['collection', 'archive', FOREIGN, '--to', 'x.car'],
  ['collection', 'check', FOREIGN],
  ['collection', 'holders', FOREIGN],
  ['nft', 'show', `${FOREIGN}/1`],
])('without a server, %s %s of a contract names --rpc-url', async (...argv) => {
  const { options } = await folder({})
  const named = await cli([...argv, '-b', 'base', '--json'], options)
  expect([named.code, errorOf(named)]).toMatchObject([
    2,
    {
      message: 'no node is specified, and no server is configured',
      hint: expect.stringMatching(/^Add --rpc-url <url> .* add --local or --base-url <url>\.$/),
    },
  ])
  const unnamed = errorOf(await cli([...argv, '--json'], options))
  expect(unnamed.hint).toMatch(/-b <blockchain> and --rpc-url <url>|--blockchain <name>/)
})
