/** @module-tag slow */
import { request } from 'node:http'
import { beforeAll, describe, expect, it } from 'vitest'
import { backendForFile, type TestBackend } from '../../helpers/backend.ts'

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

const addressesIn = (page: string) => [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address ?? '')

describe('/docs', () => {
  it.each(['/docs', '/docs/'])('%s is a page that links to no other server', async (path) => {
    const response = await backend.get(path)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const page = await response.text()
    expect(addressesIn(page).length).toBeGreaterThan(3)
    expect(addressesIn(page).filter((address) => !/^(\/|\/docs\/.*|\/openapi\.json|data:,)$/.test(address))).toEqual([])
    expect(page).not.toMatch(/https?:|<script>|<style>/)
  })

  it('every file that the page links to exists', async () => {
    const page = await (await backend.get('/docs')).text()
    for (const address of addressesIn(page).filter((found) => found.startsWith('/'))) {
      const response = await backend.get(address)
      expect([address, response.status, (await response.text()).length > 100]).toEqual([address, 200, true])
    }
  })

  it('has a policy that forbids other origins, framing and eval', async () => {
    for (const path of ['/docs', '/docs/page.js']) {
      const policy = (await backend.get(path)).headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).toContain("script-src 'self';")
      expect(policy).not.toMatch(/unsafe-|https?:|\*/)
    }
  })

  it('files are sent compressed, or plain to clients that do not accept gzip', async () => {
    const fetchPlain = (encoding: string | null) =>
      new Promise<{ encoding: string | undefined; bytes: number }>((resolve, reject) => {
        const headers = encoding === null ? {} : { 'accept-encoding': encoding }
        request(`${backend.url}/docs/swagger-ui-bundle.js`, { headers }, (response) => {
          let bytes = 0
          response.on('data', (chunk: Buffer) => {
            bytes += chunk.length
          })
          response.on('end', () => resolve({ encoding: response.headers['content-encoding'], bytes }))
        })
          .on('error', reject)
          .end()
      })
    const small = await fetchPlain('gzip, br')
    const plain = await fetchPlain(null)
    expect([small.encoding, plain.encoding]).toEqual(['gzip', undefined])
    expect(plain.bytes).toBeGreaterThan(small.bytes * 3)
  })

  it.each([
    '/docs/package.json',
    '/docs/..%2f..%2fpackage.json',
    '/docs/constructor',
    '/docs/swagger-ui-bundle.js.map',
  ])('%s returns 404', async (path) => expect((await backend.get(path)).status).toBe(404))
})
