import { gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { backendForFile, exchangeBytes, type TestBackend } from '../../helpers/backend.ts'

/** Limit for everything that a browser loads to show the page. */
const MAX_BYTES = 40_000

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

const PATHS = ['/', '/collections/x', '/nfts/x', '/owners/x', '/runs', '/runs/x', '/activity', '/search?q=x', '/go?q=x']
const page = async () => await (await backend.get('/')).text()
const assetsOf = (text: string) =>
  [...text.matchAll(/(?:src|href)="(\/explorer\/assets\/[^"]*)"/g)].map(([, path = '']) => path)

describe('the page of the web explorer', () => {
  it.each(PATHS)('is served at %s without a key', async (path) => {
    const response = await backend.get(path)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await response.text()).toBe(await page())
  })

  it.each(['/nfts', '/nfts/a/b', '/collections', '/explorer', '/index.html'])('is not served at %s', async (path) =>
    expect((await backend.get(path)).status).toBe(404),
  )

  it('has a policy that forbids other origins, inline code and styles, framing and HTML injection', async () => {
    const policy = (await backend.get('/')).headers.get('content-security-policy') ?? ''
    expect(policy.split('; ').sort()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src 'self' data:",
      "media-src 'self'",
      "require-trusted-types-for 'script'",
      "script-src 'self'",
      "style-src 'self'",
      "trusted-types 'none'",
    ])
    expect(await page()).not.toMatch(/https?:|<script>|<style|style=|\son\w+=/)
  })

  it(`is at most ${MAX_BYTES} bytes with everything that it loads`, async () => {
    let bytes = (await page()).length
    const assets = assetsOf(await page())
    expect(assets.length).toBe(4)
    for (const path of assets) {
      const { port } = new URL(backend.url)
      const head = `GET ${path} HTTP/1.1\r\nhost: localhost:${port}\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n`
      const answer = Buffer.from(await exchangeBytes(backend.url, head), 'latin1')
      const body = answer.subarray(answer.indexOf('\r\n\r\n') + 4)
      expect(gunzipSync(body).length).toBeGreaterThan(100)
      bytes += body.length
    }
    process.stdout.write(`the explorer's page: ${bytes} bytes\n`)
    expect(bytes).toBeLessThan(MAX_BYTES)
  })

  it('files are cached without expiry, as their names change with their content', async () => {
    for (const path of assetsOf(await page())) {
      const { headers, status } = await backend.get(path)
      expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable'])
      expect(path).toMatch(/-[0-9a-f]{12}\.(js|css|svg)$/)
    }
  })

  it.each(['main.js', '..%2fexplorer.ts', 'constructor', 'main-000000000000.js', 'assets.json'])(
    '%s is not one of its files',
    async (name) => expect((await backend.get(`/explorer/assets/${name}`)).status).toBe(404),
  )
})
