import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backendForFile, type TestBackend, until, WALLETS } from '../helpers/backend.ts'
import { CHROMIUM, startChromium } from '../helpers/chromium.ts'
import { type Drop, pictureDrop } from '../helpers/explorer-drop.ts'
import { type Watched, watchedPage } from '../helpers/explorer-page.ts'

const RUN = '0badcafe0badcafe'

let backend: TestBackend
let browser: Browser
let drop: Drop
let watched: Watched

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  backend = await backendForFile()
  browser = await startChromium()
  drop = await pictureDrop(backend, 4, RUN)
  watched = await watchedPage(browser, backend.url, { except: /status of 404/ })
})
afterAll(async () => {
  await watched?.close()
  await browser?.close()
})

const place = () => new URL(watched.page.url()).pathname + new URL(watched.page.url()).search
const arrivesAt = async (path: string) => {
  await until(
    async () => place(),
    (now) => now === path,
  )
  expect(place()).toBe(path)
}

describe.skipIf(CHROMIUM === undefined)('the search, by the keyboard alone', () => {
  it('finds results while typing, moves down the list and opens the selected one', async () => {
    const { page, errors } = watched
    await page.goto(`${backend.url}/runs`)
    await page.waitForSelector('.run')
    await page.keyboard.press('/')
    await page.keyboard.type('moon 3')
    const options = page.getByRole('option')
    await options.first().waitFor()
    expect(await options.allTextContents()).toEqual([expect.stringContaining('Low moon 3')])
    await page.keyboard.press('ArrowDown')
    const field = page.getByRole('combobox')
    expect(await field.getAttribute('aria-activedescendant')).toBe(await options.first().getAttribute('id'))
    await page.keyboard.press('Enter')
    await arrivesAt(`/nfts/${drop.nfts[2]}`)
    await page.getByRole('heading', { level: 1, name: 'Low moon 3' }).waitFor()
    expect(errors).toEqual([])
  })

  it('shows all results on Enter if there is no exact match, and closes the list on Escape', async () => {
    const { page } = watched
    await page.keyboard.press('/')
    await page.keyboard.type('low moon')
    await page.getByRole('option').nth(3).waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByRole('option').count()).toBe(0)
    await page.keyboard.press('Enter')
    await arrivesAt('/search?q=low%20moon')
    expect(await page.locator('.hits a.hit').count()).toBe(4)
  })

  it('has a first tab stop that skips the header', async () => {
    const { page } = watched
    await page.goto(`${backend.url}/search?q=moon`)
    await page.locator('.hits a.hit').first().waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await page.evaluate("document.activeElement.matches('.hits a')")).toBe(true)
  })
})

describe.skipIf(CHROMIUM === undefined)('/go', () => {
  it('opens the exact match of a text, otherwise the search', async () => {
    const { page } = watched
    const goes = async (q: string, path: string) => {
      await page.goto(`${backend.url}/go?q=${encodeURIComponent(q)}`)
      await arrivesAt(path)
    }
    await goes(String(drop.nfts[1]), `/nfts/${drop.nfts[1]}`)
    await goes(drop.collection.address, `/collections/${drop.collection.id}`)
    await goes(WALLETS[1].toLowerCase(), `/owners/${WALLETS[1]}`)
    await goes(RUN, `/runs/${RUN}`)
    await goes('low moon', '/search?q=low%20moon')
    await goes('', '/')
    // It leaves no entry in the history.
    await page.goto(`${backend.url}/runs`)
    await page.waitForSelector('.run')
    await page.goto(`${backend.url}/go?q=${RUN}`)
    await arrivesAt(`/runs/${RUN}`)
    await page.goBack()
    await arrivesAt('/runs')
  })
})
