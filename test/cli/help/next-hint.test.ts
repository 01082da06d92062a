import { expect, test } from 'vitest'
import { OWNER } from '../../helpers/addresses.ts'
import { service, TARGET } from '../batch/drop.ts'
import { fakeApi } from '../fake-api.ts'
import { cli, tempHome } from '../harness.ts'

test.each([
  ['table', true],
  ['json', false],
  ['ids', false],
])('nft mint -o %s suggests the next command: %s', async (mode, isSuggested) => {
  const { env } = await tempHome()
  const api = await fakeApi({ ...service(), '*': () => ({ status: 404, body: {} }) })
  const argv = ['nft', 'mint', '--title', 'Dawn', '--receiver', OWNER, ...TARGET, '--yes', '-o', mode]
  const { code, stderr } = await cli([...argv, '--base-url', api.url], { env: { ...env, GDN_API_KEY: 'a-key' } })
  expect(code, stderr).toBe(0)
  expect(stderr.includes('Next: gdn nft list')).toBe(isSuggested)
})
