import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { findCollectionById } from '../../src/server/store/collections.ts'
import {
  backendForFile,
  createTestCollection,
  type TestBackend,
  until,
  WALLETS,
  withStore,
} from '../helpers/backend.ts'
import { CHROMIUM, startChromium } from '../helpers/chromium.ts'
import { show, store } from '../helpers/explorer.ts'
import { pictureOf } from '../helpers/explorer-drop.ts'
import { type Watched, watchedPage } from '../helpers/explorer-page.ts'
import { insertNfts } from '../helpers/rows.ts'

const TOTAL = 10_000

let backend: TestBackend
let browser: Browser
let path = ''

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  backend = await backendForFile()
  browser = await startChromium()
  const { id } = await createTestCollection(backend, { name: 'Ten thousand' })
  const picture = (await store(backend, await pictureOf('00-low-moon.png'))).slice('ipfs://'.length)
  await withStore(backend.dataDir, async ({ db }) => {
    const collection = await findCollectionById(db, id)
    for (let at = 0; at < TOTAL; at += 2500) {
      await insertNfts(
        db,
        Array.from({ length: 2500 }, (_, index) =>
          row(String(collection?.id), String(collection?.request_id), at + index, picture),
        ),
      )
    }
  })
  path = `/collections/${id}`
})
afterAll(async () => {
  await browser?.close()
})

function row(collection_id: string, request_id: string, index: number, picture: string) {
  return {
    id: newId(),
    request_id,
    collection_id,
    receiver: WALLETS[1],
    owner: WALLETS[1],
    metadata: JSON.stringify({
      title: `Number ${index + 1}`,
      description: '',
      file_fields: [{ key: 'image', url: `ipfs://${picture}` }],
    }),
    files: JSON.stringify({ image: picture }),
    status: 'deployed' as const,
    step: 'done' as const,
    token_id: String(index + 1),
    metadata_url: null,
    next_attempt_at: 0,
  }
}

const tiles = (page: Page) => page.locator('.gallery > li')
const nodes = (page: Page) => page.evaluate<number>('document.querySelectorAll("*").length')
const positions = (page: Page) =>
  tiles(page).evaluateAll((items) => items.map((item) => Number(item.getAttribute('aria-posinset'))))
const focused = (page: Page) => page.evaluate<string>("document.activeElement.closest('li')?.ariaPosInSet ?? ''")
const scrolled = (page: Page) => page.evaluate<number>('scrollY')

async function open(look = {}): Promise<Watched> {
  const watched = await watchedPage(browser, backend.url, look)
  await watched.page.goto(backend.url + path)
  await watched.page.waitForSelector('.gallery .drawn')
  return watched
}

describe.skipIf(CHROMIUM === undefined)('a gallery of 10,000', () => {
  it('renders a few tiles at a time and requests only the visible pages', async () => {
    const { page, asked, errors, close } = await open()
    const before = await nodes(page)
    expect(before).toBeLessThan(1500)
    expect(await tiles(page).first().getAttribute('aria-setsize')).toBe(String(TOTAL))
    const height = await page.evaluate<number>('document.documentElement.scrollHeight')
    // Scrolls to the end faster than a user reads.
    for (let place = 0; place < height; place += 20_000) {
      await page.evaluate(`scrollTo(0, ${place})`)
      await page.waitForTimeout(20)
    }
    await page.evaluate('scrollTo(0, 1e9)')
    await page.locator('.gallery').getByText('Number 10000', { exact: true }).waitFor()
    const pages = asked.filter((url) => url.includes('/nfts?'))
    expect(pages.length).toBeLessThan(40)
    expect(await nodes(page)).toBeLessThan(before * 1.5)
    expect(await positions(page)).toContain(TOTAL)
    expect(errors).toEqual([])
    await close()
  })

  it('restores its scroll position after navigation and reload', async () => {
    const { page, close } = await open()
    await page.evaluate('scrollTo(0, 60000)')
    const tile = page.locator('.gallery .tile:has(.drawn)').nth(8)
    await tile.waitFor()
    await page.waitForTimeout(300)
    const [place, seen] = [await scrolled(page), await positions(page)]
    await page.locator('.gallery .tile:has(.drawn)').nth(17).click()
    await page.waitForSelector('.nft h1')
    expect(await scrolled(page)).toBe(0)
    await page.goBack()
    await until(
      () => scrolled(page),
      (now) => now === place,
    )
    expect([await scrolled(page), await positions(page)]).toEqual([place, seen])
    await page.reload()
    await until(
      () => scrolled(page),
      (now) => now === place,
    )
    expect(await scrolled(page)).toBe(place)
    await close()
  })

  it('supports the keyboard: one tab stop, arrow keys, Home, End, Page Down, and Enter to open', async () => {
    const { page, close } = await open()
    await page.getByRole('button', { name: 'List' }).focus()
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('1')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    expect(await focused(page)).toBe('3')
    await page.keyboard.press('ArrowDown')
    const below = Number(await focused(page))
    expect(below).toBeGreaterThan(4)
    await page.keyboard.press('End')
    await until(
      () => focused(page),
      (now) => now === String(TOTAL),
    )
    expect(await focused(page)).toBe(String(TOTAL))
    const box = await page.locator('.gallery a:focus').boundingBox()
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(900)
    await page.keyboard.press('Home')
    await until(
      () => focused(page),
      (now) => now === '1',
    )
    await page.keyboard.press('PageDown')
    await until(
      () => focused(page),
      (now) => Number(now) > below,
    )
    const chosen = await focused(page)
    // The focused tile is visible below the header.
    expect((await page.locator('.gallery a:focus').boundingBox())?.y).toBeGreaterThanOrEqual(60)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: `Number ${chosen}` }).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('heading', { level: 1, name: `Number ${Number(chosen) + 1}` }).waitFor()
    await close()
  })

  it('keeps the focus on a tile that is scrolled out of sight', async () => {
    const { page, close } = await open()
    await page.locator('.gallery a').first().focus()
    await page.evaluate('scrollTo(0, 200000)')
    await page.locator('.gallery .tile:has(.drawn)').nth(10).waitFor()
    expect(await focused(page)).toBe('1')
    await close()
  })

  it('can be shown as a list of rows', async () => {
    const { page, close } = await open({ width: 390 })
    await page.getByRole('button', { name: 'List' }).click()
    await page.locator('.gallery.list .tile .badge').first().waitFor()
    const boxes = await page
      .locator('.gallery.list .tile')
      .evaluateAll((rows) => rows.slice(0, 3).map((one) => one.getBoundingClientRect().height))
    expect(boxes).toEqual([64, 64, 64])
    await close()
  })

  it('can be filtered by title, owner and status', async () => {
    const { page, close } = await open()
    const field = page.getByLabel('Find by title, token ID or owner')
    await field.fill('number 4242')
    await page.locator('.gallery').getByText('Number 4242', { exact: true }).waitFor()
    await until(
      () => tiles(page).count(),
      (count) => count === 1,
    )
    expect(await tiles(page).count()).toBe(1)
    await field.fill(WALLETS[2])
    await page.getByText('No matching NFTs').waitFor()
    await field.fill(WALLETS[1])
    await page.waitForSelector('.gallery .drawn')
    await page.getByRole('button', { name: /^Failed/ }).click()
    await page.getByText('No matching NFTs').waitFor()
    await close()
  })

  it('does not shift its layout when images and text arrive', async () => {
    const { page, close } = await watchedPage(browser, backend.url)
    await page.addInitScript(`
      window.shift = 0
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value
      }).observe({ type: 'layout-shift', buffered: true })
    `)
    await page.goto(backend.url + path)
    await page.waitForSelector('.gallery .drawn')
    await page.waitForTimeout(300)
    // A layout shift score below 0.1 is good.
    expect(await page.evaluate('window.shift')).toBeLessThan(0.1)
    await close()
  })
})

describe.skipIf(CHROMIUM === undefined)('a gallery of a million', () => {
  const MILLION = 1_000_000

  /** Opens the gallery with responses for a million NFTs. */
  async function openMillion() {
    const watched = await watchedPage(browser, backend.url)
    const { page } = watched
    const {
      items: [item],
    } = await show(backend, `${path.slice(1)}/nfts?limit=1`)
    const pages: number[] = []
    await page.route(/\/explorer\/collections\/[^/]+\/nfts/, (route) => {
      const offset = Number(new URL(route.request().url()).searchParams.get('offset'))
      pages.push(offset)
      const items = Array.from({ length: Math.min(100, MILLION - offset) }, (_, index) => ({
        ...item,
        nft_gdn_id: `nft-${offset + index}`,
        title: `Number ${offset + index + 1}`,
      }))
      return route.fulfill({ json: { total: MILLION, offset, items } })
    })
    await page.goto(backend.url + path)
    await page.waitForSelector('.gallery .drawn')
    return { ...watched, pages }
  }

  it('scrolls to its end by scroll bar and keyboard, and by single pixels anywhere', async () => {
    const { page, pages, close } = await openMillion()
    await page.evaluate('scrollTo(0, 1e9)')
    await page.locator('.gallery').getByText(`Number ${MILLION}`, { exact: true }).waitFor()
    expect(pages.length).toBeLessThan(6)
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 2)')
    // The page shows its old position until it handles the scroll event.
    const [half = 0] = await until(
      () => positions(page),
      ([first = MILLION]) => first < MILLION * 0.9,
    )
    expect(half).toBeGreaterThan(MILLION * 0.45)
    expect(half).toBeLessThan(MILLION * 0.55)
    const middle = page.locator('.gallery .tile:has(.drawn)').nth(10)
    await middle.waitFor()
    // The wheel moves a tile by its own delta, though the scroll bar moves by a multiple.
    const name = String(await middle.locator('.tile-title').textContent())
    const at = async () => (await page.locator('.gallery').getByText(name, { exact: true }).boundingBox())?.y ?? 0
    const before = await at()
    await page.mouse.move(600, 500)
    await page.mouse.wheel(0, 150)
    await expect.poll(at).toBeCloseTo(before - 150, 0)
    // Focusing scrolls the page. The key event arrives before the page handles that scroll.
    await page.evaluate(`{
      const first = document.querySelector('.gallery a')
      first.focus()
      first.dispatchEvent(new KeyboardEvent('keydown', { key: 'End', bubbles: true, cancelable: true }))
    }`)
    await until(
      () => focused(page),
      (now) => now === String(MILLION),
    )
    expect(await focused(page)).toBe(String(MILLION))
    expect(await nodes(page)).toBeLessThan(2000)
    await close()
  })
})
