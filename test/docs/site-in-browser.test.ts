/** @module-tag slow */
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildSite } from '../../src/build/site.mjs'
import { violations } from '../helpers/axe.ts'
import { CHROMIUM, startChromium } from '../helpers/chromium.ts'
import { whenFileDone } from '../helpers/clean-up.ts'
import { type Look, tooWide, watchedPage } from '../helpers/explorer-page.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/** The path of the site on its host, as on GitHub Pages. */
const BASE = '/gdn/'
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

let browser: Browser
let out: string
let url: string

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  out = await temporaryFolder('gdn-site-', whenFileDone)
  await buildSite({ base: BASE, out })
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost')
    const path = pathname.startsWith(BASE) ? decodeURI(pathname.slice(BASE.length)) : '404'
    const file = join(out, path === '' || path.endsWith('/') ? `${path}index.html` : path)
    const body = await readFile(file).catch(() => null)
    response.writeHead(body === null ? 404 : 200, {
      'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
    })
    response.end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  whenFileDone(() => {
    server.closeAllConnections()
    server.close()
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  browser = await startChromium()
}, 600_000)
afterAll(() => browser?.close())

/** Opens the site, and fails if it reports an error or requests something from another host. */
async function visit(look: Look, work: (page: Page, open: (name: string) => Promise<void>) => Promise<void>) {
  const { page, errors, others, close } = await watchedPage(browser, url, look)
  await page.emulateMedia({ reducedMotion: 'reduce' })
  try {
    await work(page, async (name) => {
      await page.goto(`${url}${BASE}${name}`)
      await page.waitForFunction('document.querySelector("#app")?.__vue_app__ !== undefined')
    })
    expect([errors, others]).toEqual([[], []])
  } finally {
    await close()
  }
}

/** Returns the pages of the site. */
async function pages(): Promise<string[]> {
  const names = (await readdir(out, { recursive: true })).map((name) => name.replaceAll('\\', '/'))
  return names.filter((name) => name.endsWith('.html') && name !== '404.html')
}

describe.skipIf(CHROMIUM === undefined)('the site of the documentation', () => {
  test('has no broken link or anchor, and needs no horizontal scrolling on a phone', { timeout: 600_000 }, async () => {
    const links: { from: string; to: URL }[] = []
    const anchors = new Map<string, string[]>()
    const wide: string[] = []
    await visit({ width: 400 }, async (page, open) => {
      for (const name of await pages()) {
        await open(name)
        if ((await tooWide(page)) > 0) wide.push(name)
        anchors.set(name, await page.evaluate("[...document.querySelectorAll('[id]')].map(({ id }) => id)"))
        const found: string[] = await page.evaluate("[...document.querySelectorAll('a[href]')].map(({ href }) => href)")
        links.push(...found.map((href) => ({ from: name, to: new URL(href) })))
      }
    })
    const broken = links
      .filter(({ to }) => to.origin === url)
      .filter(({ to }) => {
        const path = to.pathname.startsWith(BASE) ? to.pathname.slice(BASE.length) : 'outside of the base'
        const ids = anchors.get(path === '' || path.endsWith('/') ? `${path}index.html` : path)
        return ids === undefined || (to.hash !== '' && !ids.includes(decodeURIComponent(to.hash.slice(1))))
      })
    expect(links.length).toBeGreaterThan(1000)
    expect(broken.map(({ from, to }) => `${from}: ${to.pathname}${to.hash}`)).toEqual([])
    expect(wide).toEqual([])
  })

  test.each(['light', 'dark'] as const)('has no accessibility violations with %s colors', async (scheme) => {
    await visit({ scheme }, async (page, open) => {
      for (const name of ['', 'first-drop.html', 'drops.html', 'commands/collection.html', 'architecture.html']) {
        await open(name)
        expect(await violations(page), name).toEqual([])
      }
    })
  })

  test.each(['light', 'dark'] as const)(
    'has no accessibility violations in its search with %s colors',
    async (scheme) => {
      await visit({ scheme }, async (page, open) => {
        await open('drops.html')
        await page.keyboard.press('Control+k')
        const search = page.locator('.VPLocalSearchBox')
        await search.locator('input:focus').waitFor()
        expect(await violations(page), 'without a question').toEqual([])
        await page.keyboard.type('reveal')
        await search.locator('.result.selected').waitFor()
        expect(await violations(page), 'with results').toEqual([])
      })
    },
  )

  /** Questions, with the beginning of the name of the page that answers them. */
  const QUESTIONS = [
    ['resume a drop', 'first-drop'],
    ['hidden metadata reveal', 'reveal'],
    ['postgres', 'postgresql'],
    ['royalties', 'collections'],
    ['transfer nft', 'collections'],
    ['webhook signature', 'webhooks'],
    ['private key lost', 'wallets'],
    ['estimate cost', 'drops'],
    ['S3', 'storage'],
    ['restored backup', 'public-networks'],
    ['spreadsheet columns', 'manifest'],
    ['claude mcp', 'agents'],
    ['my script was killed', 'troubleshooting.html#my-script'],
    ['hide metadata until launch', 'reveal'],
    ['mint to a list of holders', 'cookbook-people'],
    ['out of gas', 'troubleshooting'],
    ['rate limit in CI', 'troubleshooting.html#a-job-in-ci-hangs'],
    ['resume after kill', 'first-drop.html#mint-interrupt-and-resume'],
    ['stuck nonce', 'troubleshooting.html#a-transaction-is-stuck'],
    ['insufficient funds', 'troubleshooting.html#the-signer-has-no-funds'],
    ['gas price too high', 'troubleshooting.html#gas-or-fees-are-too-high'],
    ['change metadata after mint', 'drops.html#change-minted-nfts'],
    ['two jobs at once', 'ci.html#two-jobs-at-once'],
    ['test without spending money', 'public-networks.html#try-a-network-without-spending'],
  ] as const

  test('finds the page for a question first', async () => {
    const missed: string[] = []
    await visit({}, async (page, open) => {
      await open('api.html')
      await page.keyboard.press('Control+k')
      const input = page.locator('.VPLocalSearchBox input')
      const results = page.locator('.VPLocalSearchBox .result')
      for (const [question, expected] of QUESTIONS) {
        await input.fill('')
        await results.first().waitFor({ state: 'detached' })
        await input.fill(question)
        const first = await results.first().getAttribute('href')
        if (!first?.startsWith(BASE + expected)) missed.push(`${question}: ${first}`)
      }
    })
    expect(missed).toEqual([])
  })

  test.each([
    ['cookbook-operations.html', 1280],
    ['from-a-script.html', 400],
  ])('keeps each flag on one line: %s at %i pixels', async (name, width) => {
    await visit({ width }, async (page, open) => {
      await open(name)
      const words = page.locator('main :not(pre) > code .word')
      expect(await words.count()).toBeGreaterThan(3)
      expect(
        await words.evaluateAll((all) =>
          all.filter((word) => word.getClientRects().length > 1).map(({ textContent }) => textContent),
        ),
      ).toEqual([])
    })
  })

  test('draws the diagram of the start page legibly', async () => {
    await visit({ width: 1280 }, async (page, open) => {
      await open('')
      const sizes: number[] = await page.evaluate(
        "[...document.querySelectorAll('.diagram text')].map((text) => text.getScreenCTM().a * Number.parseFloat(getComputedStyle(text).fontSize))",
      )
      expect(sizes.length).toBeGreaterThan(5)
      expect(Math.min(...sizes)).toBeGreaterThanOrEqual(10)
    })
  })

  test('can be used with the keyboard alone', async () => {
    await visit({}, async (page, open) => {
      await open('drops.html')
      const part = '.VPSkipLink, .VPNavBarSearch, .VPSidebar, main'
      const reached: string[] = []
      while (!reached.includes('main') && reached.length < 200) {
        await page.keyboard.press('Tab')
        reached.push(
          await page.evaluate(`(() => {
            const found = document.activeElement.closest('${part}')
            return found?.localName === 'main' ? 'main' : (found?.classList[0] ?? '')
          })()`),
        )
      }
      expect(reached[0]).toBe('VPSkipLink')
      expect(reached).toEqual(expect.arrayContaining(['VPNavBarSearch', 'VPSidebar', 'main']))

      await page.keyboard.press('Control+k')
      await page.locator('.VPLocalSearchBox input:focus').waitFor()
      await page.keyboard.type('restored backup')
      await page.locator('.VPLocalSearchBox .result.selected').waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL(`**${BASE}public-networks.html#*`)
    })
  })

  test('has previous and next pages, and copies commands', async () => {
    await visit({}, async (page, open) => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await open('first-drop.html')
      expect(await page.locator('.pager-link').allTextContents()).toEqual([
        expect.stringContaining('Install'),
        expect.stringContaining('At most once'),
      ])
      const block = page.locator('main div[class*=language-sh]').first()
      await block.hover()
      await block.getByRole('button').click()
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await block.locator('code').textContent())
    })
  })
})
