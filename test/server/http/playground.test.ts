import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backendForFile, type TestBackend, WALLETS } from '../../helpers/backend.ts'
import { CHROMIUM, startChromium } from '../../helpers/chromium.ts'
import { type Watched, watchedPage } from '../../helpers/explorer-page.ts'

let backend: TestBackend
let browser: Browser

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  backend = await backendForFile({ rateLimits: true })
  browser = await startChromium()
})
afterAll(async () => {
  await browser?.close()
})

const key = () => backend.apiKey.reveal()

const operation = (page: Page, path: string) =>
  page.locator('.opblock', { has: page.locator(`[data-path="${path}"]`) }).first()

const answerOf = (opened: Locator) => opened.locator('.live-responses-table .response')

/** Sends the request and returns the text of the response. */
async function send(opened: Locator): Promise<string> {
  await opened.getByRole('button', { name: 'Execute' }).click()
  await answerOf(opened).waitFor()
  return (await answerOf(opened).textContent()) ?? ''
}

/** Opens an operation so that it can be filled in and sent. */
async function opened(page: Page, path: string): Promise<Locator> {
  const found = operation(page, path)
  await found.locator('.opblock-summary').click()
  await found.getByRole('button', { name: 'Try it out' }).click()
  return found
}

async function withKey(look = {}): Promise<Watched> {
  const watched = await watchedPage(browser, backend.url, look)
  const { page } = watched
  await page.goto(`${backend.url}/docs`)
  await page.waitForSelector('.opblock')
  await page.locator('button.authorize').first().click()
  const field = page.locator('#api_key_value')
  expect([await field.getAttribute('autocomplete'), await field.getAttribute('spellcheck')]).toEqual(['off', 'false'])
  expect(await page.evaluate(`getComputedStyle(document.querySelector('#api_key_value')).webkitTextSecurity`)).toBe(
    'disc',
  )
  await field.fill(key())
  await page.getByRole('button', { name: 'Apply credentials' }).click()
  await page.getByRole('button', { name: 'Close' }).click()
  return watched
}

/** Everything that the page stores or shows. */
const kept = (page: Page) =>
  page.evaluate<string>(`(async () => JSON.stringify([
    location.href, document.cookie, { ...localStorage }, { ...sessionStorage },
    await indexedDB.databases(), await caches.keys(), document.documentElement.outerHTML,
  ]))()`)

describe.skipIf(CHROMIUM === undefined)('the playground of /docs', () => {
  it('creates a collection, uploads a file and mints an NFT with a key entered in the page', async () => {
    const { page, errors, others, close } = await withKey()
    const collections = await opened(page, '/api/v1/createcollection')
    const answerText = await send(collections)
    expect(answerText).toContain('transaction_gdn_id')
    const id = /"transaction_gdn_id": "([^"]+)"/.exec(answerText)?.[1]
    const shown = await opened(page, '/api/v1/getcollections')
    await shown.locator('textarea').fill(JSON.stringify({ transaction_gdn_ids: [id] }))
    const address = /"contract_address": "([^"]+)"/.exec(await send(shown))?.[1]
    const files = await opened(page, '/api/v1/files')
    await files
      .locator('input[type=file]')
      .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') })
    const url = /ipfs:\/\/\w+/.exec(await send(files))?.[0]
    const nfts = await opened(page, '/api/v1/createnft')
    const metadata = [{ title: 'By hand', description: '', file_fields: [{ key: 'image', url }] }]
    const body = { contract_address: address, blockchain: 'polygon', receiver_wallet_address: WALLETS[1], metadata }
    await nfts.locator('textarea').fill(JSON.stringify(body))
    expect(await send(nfts)).toMatch(/^200[\s\S]*"nft_gdn_ids": "/)
    expect([errors, others]).toEqual([[], []])
    await close()
  })

  it('sends the key with requests and neither stores, shows nor logs it', async () => {
    const { page, context, close } = await withKey()
    const sent = page.waitForRequest('**/api/v1/getnfts')
    const nfts = await opened(page, '/api/v1/getnfts')
    await send(nfts)
    expect((await sent).headers()['x-api-key']).toBe(key())
    // The command to copy has a placeholder instead.
    expect(await nfts.locator('.curl-command, .request-snippets').textContent()).toContain('YOUR_API_KEY')
    expect(await kept(page)).not.toContain(key())
    expect(JSON.stringify(await context.storageState())).not.toContain(key())
    expect(backend.log.join('\n')).not.toContain(key())
    // The URL names the operation that was opened.
    await page.evaluate("history.replaceState(null, '', '/docs')")
    await page.reload()
    await page.waitForSelector('.opblock')
    await opened(page, '/api/v1/getnfts')
    expect(await send(operation(page, '/api/v1/getnfts'))).toMatch(/^401/)
    await close()
  })

  it('shows a 429 response with its retry-after header', async () => {
    const { page, close } = await withKey({ except: /status of 4/ })
    const { status, text } = await page.evaluate<{ status: number; text: string }>(`(async () => {
      for (let n = 0; n < 20; n++) {
        const headers = { 'content-type': 'application/json', 'x-api-key': ${JSON.stringify(key())} }
        const response = await fetch('/api/v1/createnft', { method: 'POST', headers, body: '{}' })
        if (response.status === 429) return { status: 429, text: await response.text() }
      }
      return { status: 0, text: '' }
    })()`)
    expect([status, text]).toEqual([429, expect.stringContaining('Too Many Requests')])
    await page.route('**/api/v1/createnft', (route) =>
      route.fulfill({ status, headers: { 'content-type': 'application/json', 'retry-after': '1' }, body: text }),
    )
    const nfts = await opened(page, '/api/v1/createnft')
    expect(await send(nfts)).toMatch(/^429[\s\S]*Too Many Requests[\s\S]*retry-after: 1/)
    await close()
  })

  it('creates a wallet in two steps and shows its private key only on request, with a warning', async () => {
    const { page, errors, close } = await withKey()
    const signing = await opened(page, '/api/v1/getpresignedurl')
    await send(signing)
    await signing.getByRole('button', { name: 'Continue to the second step' }).click()
    const making = operation(page, '/v1/wallet/create')
    await making.getByRole('button', { name: 'Execute' }).waitFor()
    const answered = page.waitForResponse('**/v1/wallet/create?*')
    await send(making)
    const { wallet } = await (await answered).json()
    expect(wallet.private_key).toMatch(/^0x[0-9a-f]{64}$/)
    await making.getByRole('alert').getByText('who sees it on this screen').waitFor()
    expect(await kept(page)).not.toContain(wallet.private_key)
    await making.getByRole('button', { name: 'Show the private key' }).click()
    await making.getByText(wallet.private_key).first().waitFor()
    await making.getByRole('alert').waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it('the playground of /docs and the web explorer link to each other', async () => {
    const { page, close } = await watchedPage(browser, backend.url)
    await page.goto(`${backend.url}/docs`)
    await page.getByRole('link', { name: 'Explorer' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.getByRole('link', { name: 'API' }).click()
    await page.waitForSelector('.opblock')
    await close()
  })
})
