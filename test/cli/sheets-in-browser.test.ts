import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { seriousViolations } from '../helpers/axe.ts'
import { CHROMIUM, NO_CHROMIUM, startChromium } from '../helpers/chromium.ts'
import { listenLocally } from '../helpers/http-server.ts'
import { png, QUARTERS } from '../helpers/images.ts'
import { folder, service, TARGET } from './batch/drop.ts'
import { fakeApi, OWNER } from './fake-api.ts'
import { cli } from './harness.ts'

let browser: Browser | undefined

beforeAll(async () => {
  if (CHROMIUM !== undefined) browser = await startChromium()
})
afterAll(async () => {
  await browser?.close()
})

/** A server that must receive no request. */
async function listener() {
  const called: string[] = []
  const server = createServer((request, response) => {
    called.push(request.url ?? '')
    response.end()
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return { called, url }
}

const HEADER = 'title,description,image,receiver,attr:mood'
const cell = (text: string) => `"${text.replaceAll('"', '""')}"`
const line = (title: string, image: string, description = 'x', mood = 'calm', receiver = OWNER) =>
  [title, description, image, receiver, mood].map(cell).join(',')

const TITLES = {
  long: 'W'.repeat(500),
  words: 'many words '.repeat(45).trim(),
  arabic: 'مرحبا بالعالم هذا عنوان',
  emoji: '👩‍👩‍👧‍👦🏳️‍🌈🎨 海の時間',
  override: '\u202edrawkcab\u202d forward',
}

/** Rows that try to run scripts, load resources or break the markup. */
const hostile = (url: string) => [
  line('<script>document.title = "ran"</script>', 'a.png', `<img src="${url}/img" onerror="document.title = 'ran'">`),
  line(
    `"><svg onload="fetch('${url}/title')">`,
    'a.png',
    `</p><iframe src="${url}/frame"></iframe>`,
    `</style><script src="${url}/script"></script>`,
  ),
  line(
    `<style>@import url(${url}/css)</style>`,
    'a.png',
    `<link rel="stylesheet" href="${url}/link"><meta http-equiv="refresh" content="0;url=${url}/meta">`,
  ),
  line('an SVG that would', 'evil.svg'),
  line('on the web', `${url.replace('127.0.0.1', 'localhost')}/picture.png`),
  ...Object.values(TITLES).map((title) => line(title, 'a.png')),
]

const evilSvg = (url: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9" onload="fetch('${url}/onload')"><script>fetch('${url}/svg-script')</script><image xlink:href="${url}/svg-image" width="9" height="9"/><style>@import url('${url}/svg-css');</style><rect width="9" height="9" fill="teal"/></svg>`

// The page evaluates these expressions as text, in the browser.

/** Loads lazy images and opens folded parts. */
const SHOW_ALL = `(async () => {
  for (const image of document.images) image.loading = 'eager'
  for (const details of document.querySelectorAll('details')) details.open = true
  scrollTo(0, document.body.scrollHeight)
  // An image that can't be decoded is rejected.
  await Promise.allSettled([...document.images].map((image) => image.decode()))
})()`

/** Number of images that the cards show: their own, and those that the page has once. */
const LOADED = `(async () => {
  const shared = new Set()
  for (const image of document.querySelectorAll('symbol > image')) {
    if (await image.decode().then(() => true, () => false)) shared.add('#' + image.parentElement.id)
  }
  const own = [...document.images].filter(({ naturalWidth }) => naturalWidth > 0)
  const uses = [...document.querySelectorAll('article use')].filter((use) => shared.has(use.getAttribute('href')))
  return own.length + uses.length
})()`

const ARABIC = `getComputedStyle([...document.querySelectorAll('h2')].find((one) => one.textContent === '${TITLES.arabic}')).direction`
const LAST_CARDS = `getComputedStyle(document.querySelector('#rows > section:last-of-type')).contentVisibility`

/** Overflow of the page, number of elements outside their card, and height of the tallest title. */
const LAYOUT = `({
  overflow: document.documentElement.scrollWidth - innerWidth,
  outside: [...document.querySelectorAll('article *')].filter((one) => {
    const card = one.closest('article').getBoundingClientRect()
    const own = one.getBoundingClientRect()
    return own.width > 0 && (own.right > card.right + 1 || own.left < card.left - 1)
  }).length,
  tallest: Math.max(...[...document.querySelectorAll('h2.clamp')].map((one) => one.getBoundingClientRect().height)),
})`

/** Whether an injected script, image, request, style and frame take effect. */
const INTRUDER = (url: string) => `(async () => {
  const add = (name, values) => document.body.appendChild(Object.assign(document.createElement(name), values))
  const loads = (name, values) => new Promise((resolve) => {
    add(name, { ...values, onload: () => resolve('yes'), onerror: () => resolve('no') })
    setTimeout(() => resolve('no'), 1000)
  })
  add('script', { textContent: 'window.ran = true' })
  add('style', { textContent: 'body { outline: 7px solid red }' })
  const frame = add('iframe', { src: '${url}/frame' })
  return {
    script: window.ran === true ? 'yes' : 'no',
    image: await loads('img', { src: '${url}/image.png' }),
    fetch: await fetch('${url}/fetch').then(() => 'yes', () => 'no'),
    style: getComputedStyle(document.body).outlineWidth === '7px' ? 'yes' : 'no',
    frame: frame.contentWindow === null || frame.contentWindow.length > 0 ? 'yes' : 'no',
  }
})()`

interface OpenedPage {
  page: Page
  /** Requests to other hosts, blocked ones included. */
  requests: string[]
  dialogs: string[]
}

async function opened(path: string, { width = 1280, dark = false } = {}): Promise<OpenedPage> {
  if (browser === undefined) throw new Error(NO_CHROMIUM)
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: dark ? 'dark' : 'light' })
  onTestFinished(() => page.close())
  const requests: string[] = []
  const dialogs: string[] = []
  page.on('request', (request) => {
    if (!/^(?:file|data):/.test(request.url())) requests.push(request.url())
  })
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  await page.goto(pathToFileURL(path).href)
  await page.evaluate(SHOW_ALL)
  return { page, requests, dialogs }
}

const updateTo = (title: string) => ({
  ...{ kind: 'update', status: 'initiated', transaction_gdn_id: null, accepted_date: null, block_number: 123_456_789 },
  ...{ block_date: '2026-02-03 04:05:06', transaction_hash: `0x${'4'.repeat(64)}`, from: null, to: null, revision: 1 },
  ...{ changes: [{ field: title, before: title, after: null }], changes_left_out: 0, error: 'E'.repeat(300) },
})

async function madePages() {
  const { called, url } = await listener()
  const workFolder = await folder({
    'drop.csv': [HEADER, ...hostile(url), ''].join('\n'),
    'bad.csv': [HEADER, ...hostile(url), line('gone', 'nope.png'), line('dead', 'javascript:alert(1)'), ''].join('\n'),
    'evil.svg': evilSvg(url),
  })
  await writeFile(workFolder.path('a.png'), png(QUARTERS))
  const { createnft, getnfts } = service()
  const none = () => ({ status: 404, body: { error: { title: 'Not Found', message: 'not here' } } })
  let isMinted = false
  const api = await fakeApi({
    createnft,
    getnfts: (request: { nft_gdn_ids: string[] }) => {
      const { nfts, ...rest } = getnfts(request).body as { nfts: { request_metadata: { title: string } }[] }
      const changes = { revision: 0, is_frozen: true, burned: false, receiver_wallet_address: `0x${'c'.repeat(40)}` }
      return {
        headers: { 'nft-history-supported': 'yes' },
        body: { ...rest, nfts: nfts.map((one) => ({ ...one, ...(isMinted ? changes : {}) })) },
      }
    },
    getnfthistory: (requests: object) => ({
      body: { requests, events: Object.values(TITLES).map(updateTo), next_offset: null },
    }),
    files: () => ({ body: { url: `ipfs://bafkrei${'b'.repeat(52)}` } }),
    '*': none,
  })
  const at = ['--base-url', api.url]
  const mint = ['batch', 'mint', workFolder.path('drop.csv'), ...TARGET, ...at, '--rate', '1000', '-q']
  expect((await cli(mint, workFolder.options)).code).toBe(0)
  isMinted = true
  expect((await cli(['batch', 'report', 'drop', '--to', 'report.html', ...at], workFolder.options)).code).toBe(0)
  expect(
    (
      await cli(
        ['batch', 'preview', workFolder.path('bad.csv'), '-b', 'polygon', '--to', 'preview.html'],
        workFolder.options,
      )
    ).code,
  ).toBe(2)
  return { called, ...workFolder }
}

describe.skipIf(CHROMIUM === undefined)('a page opened from disk', () => {
  test('runs no scripts and sends no requests for hostile rows, and shows everything', async () => {
    const { called, path } = await madePages()
    for (const [file, rows, pictures] of [
      ['preview.html', 12, 9],
      ['report.html', 10, 9],
    ] as const) {
      const { page, requests, dialogs } = await opened(path(file))
      expect({ requests, dialogs, title: await page.title() }).toEqual({
        requests: [],
        dialogs: [],
        title: expect.not.stringContaining('ran'),
      })
      expect(await page.locator('article').count()).toBe(rows)
      // The page's own script, which the browser allows by its hash.
      expect(await page.locator('script').count()).toBe(1)
      expect(await page.locator('iframe, object, embed, link, [onload], [onerror]').count()).toBe(0)
      expect(await page.evaluate(LOADED)).toBe(pictures)
    }
    expect(called).toEqual([])
  })

  test('blocks injected scripts and requests by its content security policy', async () => {
    const { called, url } = await listener()
    const { path } = await madePages()
    for (const file of ['preview.html', 'report.html']) {
      const { page } = await opened(path(file))
      expect(await page.evaluate(INTRUDER(url)), file).toEqual({
        script: 'no',
        image: 'no',
        fetch: 'no',
        style: 'no',
        frame: 'no',
      })
    }
    expect(called).toEqual([])
  })

  test('keeps its layout with long, Arabic and emoji titles, at phone and desktop widths', async () => {
    const { path } = await madePages()
    for (const width of [360, 1280]) {
      for (const file of ['preview.html', 'report.html']) {
        const { page } = await opened(path(file), { width })
        const { overflow, outside, tallest } = (await page.evaluate(LAYOUT)) as Record<string, number>
        expect({ file, width, overflow, outside }).toEqual({ file, width, overflow: 0, outside: 0 })
        expect(tallest).toBeLessThan(80)
        expect(await page.evaluate(ARABIC)).toBe('rtl')
      }
    }
  })

  test('follows the dark mode of the system, and filters rows', async () => {
    const { path } = await madePages()
    const { page } = await opened(path('preview.html'), { dark: true })
    expect(await page.evaluate('getComputedStyle(document.documentElement).backgroundColor')).toBe('rgb(14, 15, 18)')
    const visible = () => page.locator('article:visible').count()
    expect(await visible()).toBe(12)
    await page.getByText('With errors 2').click()
    expect(await visible()).toBe(2)
    await page.locator('#only-faulty').press('ArrowLeft')
    expect(await visible()).toBe(12)
    await page.locator('.faults a').first().click()
    expect(page.url()).toMatch(/#line-12$/)
  })

  test('prints cards without controls', async () => {
    const { path } = await madePages()
    const { page } = await opened(path('report.html'))
    await page.emulateMedia({ media: 'print' })
    expect(await page.locator('.finder:visible, .filter:visible').count()).toBe(0)
    expect(await page.evaluate(LAST_CARDS)).toBe('visible')
    expect(await page.locator('details:not([open]):visible').count()).toBe(0)
  })
})

const ROWS = 650
/** The rows of this manifest with an error. */
const FAULTY = [300, 640]

/** A preview with more rows than one of its pages shows. */
async function largePage(count = ROWS) {
  const receiver = `0x${'c'.repeat(40)}`
  const tide = (at: number) => line(`Tide ${at} & <ebb>`, 'a.png', 'x', 'calm', FAULTY.includes(at) ? '0x12' : OWNER)
  const rows = Array.from({ length: count }, (_, i) => tide(i + 2))
  const { path, options } = await folder({
    'drop.csv': [HEADER, ...rows, line('Odd', 'a.png', 'x', 'wild', receiver), ''].join('\n'),
  })
  await writeFile(path('a.png'), png(QUARTERS))
  const preview = ['batch', 'preview', path('drop.csv'), '-b', 'polygon', '--to', 'p.html']
  expect((await cli(preview, options)).code).toBe(2)
  return { path: path('p.html'), receiver }
}

describe.skipIf(CHROMIUM === undefined)('a page of many rows', () => {
  const titles = (page: Page) => page.locator('article h2').allTextContents()
  const told = (page: Page) => page.getByRole('status').textContent()

  test('shows a part of the rows at a time, and changes pages by keyboard', async () => {
    const { page } = await opened((await largePage()).path)
    expect(await titles(page)).toHaveLength(600)
    expect(await told(page)).toBe('651 rows. Showing 1 to 600')
    await page
      .getByRole('navigation', { name: 'Pages, below the rows' })
      .getByRole('button', { name: 'Next' })
      .press('Enter')
    expect(await told(page)).toBe('651 rows. Showing 601 to 651')
    expect((await titles(page))[0]).toBe('Tide 602 & <ebb>')
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('told')
    expect(await page.getByRole('button', { name: 'Last' }).first().isDisabled()).toBe(true)
    const number = page.getByLabel('Page', { exact: true }).first()
    await number.fill('1')
    await number.press('Enter')
    expect(await told(page)).toBe('651 rows. Showing 1 to 600')
    await page.getByRole('button', { name: 'Last' }).first().click()
    expect(await told(page)).toBe('651 rows. Showing 601 to 651')
  })

  test('finds rows by any of their words, on every page', async () => {
    const { path, receiver } = await largePage()
    const { page } = await opened(path)
    for (const [words, found] of [
      ['634 TIDE', ['Tide 634 & <ebb>']],
      ['& <ebb> 635', ['Tide 635 & <ebb>']],
      [receiver.toUpperCase(), ['Odd']],
      ['wild odd', ['Odd']],
      ['line 12', ['Tide 12 & <ebb>']],
      ['section article', []],
      ['amp', []],
    ] as const) {
      await page.getByRole('searchbox', { name: 'Find rows' }).fill(words)
      await expect.poll(() => titles(page), { message: words }).toEqual(found)
    }
    expect(await told(page)).toBe('None of 651 rows')
    await page.getByRole('searchbox').fill('')
    await expect.poll(() => told(page)).toBe('651 rows. Showing 1 to 600')
  })

  test('shows rows with errors from all pages, and goes to the row of a link', async () => {
    const { path } = await largePage()
    const { page } = await opened(path)
    await page.getByText('With errors 2').click()
    await expect.poll(() => titles(page)).toEqual(FAULTY.map((at) => `Tide ${at} & <ebb>`))
    expect(await seriousViolations(page)).toEqual([])
    await page.goto(`${pathToFileURL(path).href}#line-604`)
    await expect.poll(() => page.locator('article:target h2').textContent()).toBe('Tide 604 & <ebb>')
    expect(await told(page)).toBe('651 rows. Showing 601 to 651')
    await page.locator('.faults a').first().click()
    await expect.poll(() => page.locator('article:target h2').textContent()).toBe('Tide 300 & <ebb>')
    const other = await opened(path)
    await other.page.goto('about:blank')
    await other.page.goto(`${pathToFileURL(path).href}#line-640`)
    await expect.poll(() => other.page.locator('article:target h2').textContent()).toBe('Tide 640 & <ebb>')
  })

  test('prints all rows', async () => {
    const { page } = await opened((await largePage()).path)
    await page.evaluate(
      `addEventListener('beforeprint', () => { window.printed = document.querySelectorAll('article').length })`,
    )
    await page.pdf({ format: 'A4' })
    expect(await page.evaluate('window.printed')).toBe(ROWS + 1)
    await expect.poll(async () => (await titles(page)).length).toBe(600)
  })

  test('shows all rows without its script, and filters them', async () => {
    if (browser === undefined) throw new Error(NO_CHROMIUM)
    const context = await browser.newContext({ javaScriptEnabled: false })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    await page.goto(pathToFileURL((await largePage(310)).path).href)
    expect(await page.locator('article:visible').count()).toBe(311)
    expect(await page.locator('.finder:visible, .pages:visible').count()).toBe(0)
    await page.getByText('With errors 1').click()
    expect(await page.locator('article:visible').count()).toBe(1)
  })
})
