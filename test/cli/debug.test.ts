import { describe, expect, test } from 'vitest'
import { fakeApi, nft } from './fake-api.ts'
import { cli } from './harness.ts'

const KEY = 'canary-key-0123456789'
const env = { GDN_API_KEY: KEY }
const found = () => ({
  headers: { 'x-request-id': 'req-7' },
  body: { requests: { nft_gdn_ids: ['a'] }, nfts: [nft('a')], echo: KEY },
})

describe('--debug', () => {
  test('prints method, URL, headers and bodies of requests and responses, with status, time and request ID', async () => {
    const api = await fakeApi({ getnfts: found })
    const { stderr, stdout } = await cli(['nft', 'show', 'a', '--base-url', api.url, '--debug'], { env })
    const lines = stderr.split('\n').filter((line) => line.startsWith('debug: '))
    expect(lines).toContain(`debug: > POST ${api.url}/api/v1/getnfts`)
    expect(lines).toContain('debug: > x-api-key: [redacted]')
    expect(lines).toContain('debug: > content-type: application/json')
    expect(lines).toContain('debug: > {"nft_gdn_ids":["a"]}')
    expect(stderr).toMatch(/^debug: < 200 in \d+ ms, request ID req-7$/m)
    expect(lines).toContain('debug: < content-type: application/json')
    expect(stderr).toMatch(/^debug: < \{"requests".*"echo":"\[redacted\]"/m)
    expect(stdout + stderr).not.toContain(KEY)
  })

  test('is turned on by GDN_DEBUG too', async () => {
    const api = await fakeApi({ getnfts: found })
    const { stderr } = await cli(['nft', 'show', 'a', '--base-url', api.url], { env: { ...env, GDN_DEBUG: '1' } })
    expect(stderr).toContain(`debug: > POST ${api.url}/api/v1/getnfts`)
  })

  test('prints why there was no response', async () => {
    const { stderr } = await cli(['doctor', '--base-url', 'http://127.0.0.1:1', '--debug'], { env })
    expect(stderr).toMatch(/^debug: > GET http:\/\/127\.0\.0\.1:1\/healthz$/m)
    expect(stderr).toMatch(/^debug: < no response after \d+ ms: .*ECONNREFUSED/m)
  })

  test('is off by default', async () => {
    const api = await fakeApi({ getnfts: found })
    expect((await cli(['nft', 'show', 'a', '--base-url', api.url], { env })).stderr).not.toContain('debug')
  })
})

describe('credentials in a server URL', () => {
  const URL_WITH = 'https://someone:canary-password@api.example.com'

  test.each<[string, string[], Record<string, string>]>([
    ['a flag', ['nft', 'show', 'a', '--base-url', URL_WITH], {}],
    ['GDN_BASE_URL', ['nft', 'show', 'a'], { GDN_BASE_URL: URL_WITH }],
    ['config set', ['config', 'set', 'base_url', URL_WITH], {}],
    ['config list', ['config', 'list', '--base-url', URL_WITH], {}],
    ['auth login', ['auth', 'login', '--no-check', '--base-url', URL_WITH], {}],
    ['init', ['init', '--hosted', '--no-check', '--yes', '--base-url', URL_WITH], {}],
    ['a URL with another scheme', ['nft', 'show', 'a', '--base-url', 'ftp://someone:canary-password@h'], {}],
  ])('are rejected in %s and not repeated', async (_where, argv, more) => {
    const { code, stdout, stderr } = await cli(argv, { env: { ...env, ...more }, stdin: KEY })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringMatching(/user name or password|URL/) })
    expect(stdout + stderr).not.toMatch(/canary/)
  })
})
