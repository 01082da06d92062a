import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backendForFile, settled, type TestBackend, WALLETS } from '../../helpers/backend.ts'
import { CHROMIUM, startChromium } from '../../helpers/chromium.ts'

let backend: TestBackend
let elsewhere: Server
let browser: Browser

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  backend = await backendForFile()
  elsewhere = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>A shop</title>'),
  )
  await new Promise<void>((listening) => elsewhere.listen(0, '127.0.0.1', listening))
  browser = await startChromium()
})
afterAll(async () => {
  await browser?.close()
  await new Promise((closed) => (elsewhere ? elsewhere.close(closed) : closed(undefined)))
})

interface PageResponse {
  status: number
  json?: unknown
  headers: Record<string, string>
}

/** What a page of another origin gets for a fetch, or a note that the browser blocked it. */
async function fromElsewhere(path: string, init: RequestInit = {}): Promise<PageResponse | string> {
  const page = await openElsewhere()
  try {
    return await page.evaluate(
      async ([url, init]) => {
        try {
          const response = await fetch(url, init)
          const text = await response.text()
          const json = text.startsWith('{') ? JSON.parse(text) : text
          return { status: response.status, json, headers: Object.fromEntries(response.headers) }
        } catch (error) {
          return String(error)
        }
      },
      [backend.url + path, init] as const,
    )
  } finally {
    await page.close()
  }
}

async function openElsewhere(): Promise<Page> {
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`)
  return page
}

const post = (body: unknown, key = backend.apiKey.reveal()): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', 'X-API-KEY': key, 'Idempotency-Key': 'from-a-page' },
  body: JSON.stringify(body),
})

async function answerOf(path: string, init?: RequestInit): Promise<PageResponse> {
  const answer = await fromElsewhere(path, init)
  if (typeof answer === 'string') throw new Error(`${path}: ${answer}`)
  return answer
}

// biome-ignore lint/suspicious/noExplicitAny: the tests check the shape of responses
const jsonOf = async (path: string, init?: RequestInit): Promise<any> => (await answerOf(path, init)).json

describe.skipIf(CHROMIUM === undefined)('a page of another origin, in Chromium', () => {
  it('creates a collection and mints with fetch and X-API-KEY', async () => {
    const collection = { wallet_address: WALLETS[0], name: 'From a page', blockchain: 'polygon' }
    const created = await jsonOf('/api/v1/createcollection', post(collection))
    const id = created.response.transaction_gdn_id
    const shownCollections = await jsonOf('/api/v1/getcollections', post({ transaction_gdn_ids: [id] }))
    const minted = await jsonOf(
      '/api/v1/createnft',
      post({
        contract_address: shownCollections.collections[0].contract_address,
        blockchain: 'polygon',
        receiver_wallet_address: WALLETS[1],
        metadata: [{ title: 'By a browser', description: '', file_fields: [] }],
      }),
    )
    const [nft] = await settled(backend, [minted.nfts[0].nft_gdn_ids])
    expect(nft).toMatchObject({ status: 'deployed', receiver_wallet_address: WALLETS[1] })
    const cid = nft?.metadata_url?.replace('ipfs://', '')
    expect(await jsonOf(`/ipfs/${cid}`)).toMatchObject({ name: 'By a browser' })
  })

  it('reads errors and the headers for rate limits, request IDs and replays', async () => {
    const { status, json, headers } = await answerOf('/api/v1/getnfts', post({ nft_gdn_ids: ['x'] }, 'gdn_wrong'))
    expect([status, json]).toEqual([401, { error: { title: 'Unauthorized', message: expect.any(String) } }])
    expect(headers).toMatchObject({ 'x-request-id': expect.any(String), 'idempotency-supported': 'yes' })
    const right = await answerOf('/api/v1/getnfts', post({ nft_gdn_ids: ['x'] }))
    expect(right.headers).toMatchObject({ 'ratelimit-policy': '"getnfts"' })
  })

  it('reads a chain through /rpc', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }
    const headers = { 'content-type': 'application/json' }
    expect(await jsonOf('/rpc/polygon', { method: 'POST', headers, body: JSON.stringify(call) })).toMatchObject({
      result: '0x89',
    })
  })

  it.each(['/metrics', '/openapi.json', '/healthz', '/readyz', '/docs', '/docs/page.js', '/'])(
    'cannot read %s',
    async (path) => expect(await fromElsewhere(path)).toMatch(/Failed to fetch/),
  )

  it('cannot show /docs in a frame', async () => {
    const page = await openElsewhere()
    const refused = page.waitForEvent('console', { predicate: (message) => message.text().includes('frame-ancestors') })
    await page.setContent(`<iframe src="${backend.url}/docs"></iframe>`)
    expect((await refused).type()).toBe('error')
    await page.close()
  })
})

describe.skipIf(CHROMIUM === undefined)('/docs in Chromium', () => {
  it.each([
    ['light', 400],
    ['dark', 1280],
  ] as const)(
    'shows every operation without errors, other hosts or sideways scrolling (%s, %d pixels wide)',
    async (colorScheme, width) => {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } })
      const page = await context.newPage()
      const problems: string[] = []
      const others: string[] = []
      page.on('console', (message) => problems.push(message.text()))
      page.on('pageerror', (error) => problems.push(error.message))
      page.on('request', (request) => {
        if (!request.url().startsWith(backend.url) && !request.url().startsWith('data:')) others.push(request.url())
      })
      await page.goto(`${backend.url}/docs`)
      await page.waitForSelector('.opblock')
      const { paths } = (await (await backend.get('/openapi.json')).json()) as { paths: Record<string, object> }
      const listed = await page.locator('.opblock-summary-path').allTextContents()
      expect(listed.map((text) => text.replaceAll('\u200b', '')).sort()).toEqual(Object.keys(paths).sort())
      const wide = await page.evaluate('document.documentElement.scrollWidth')
      const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
      expect(wide).toBe(width)
      expect(background).toBe(colorScheme === 'dark' ? 'rgb(28, 32, 34)' : 'rgb(255, 255, 255)')
      expect([problems, others]).toEqual([[], []])
      await context.close()
    },
  )

  it('sends requests and shows schemas within its strict content security policy', async () => {
    const page = await browser.newPage()
    const problems: string[] = []
    page.on('console', (message) => problems.push(message.text()))
    page.on('pageerror', (error) => problems.push(error.message))
    await page.goto(`${backend.url}/docs`)
    const operation = page.locator('.opblock', { has: page.locator('[data-path="/healthz"]') })
    await operation.locator('.opblock-summary').click()
    await operation.getByRole('button', { name: 'Try it out' }).click()
    await operation.getByRole('button', { name: 'Execute' }).click()
    await operation.locator('.live-responses-table .response').waitFor()
    expect(await operation.locator('.live-responses-table').textContent()).toMatch(/200[\s\S]*"status": "ok"/)
    const minting = page.locator('.opblock', { has: page.locator('[data-path="/api/v1/createnft"]') })
    await minting.locator('.opblock-summary').click()
    await minting.getByRole('tab', { name: 'Schema' }).first().click()
    await minting.getByText('receiver_wallet_address').first().waitFor()
    expect(problems).toEqual([])
    await page.close()
  })
})
