import { expect, test } from 'vitest'
import { service, TARGET } from '../batch/drop.ts'
import { fakeApi } from '../fake-api.ts'
import { cli, tempHome } from '../harness.ts'

const OWNER = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

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
