import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { findCollectionById } from '../src/server/store/collections.ts'
import { openStore } from '../src/server/store/open-store.ts'
import { insertNfts } from '../test/helpers/rows.ts'
import { createCollection, serve, withFolder } from './backend.ts'
import { type Figure, report } from './figures.ts'
import { deployedNft } from './filled.ts'

const TOTAL = 10_000
/** Number of distinct images for the browser; the NFTs share them in turn. */
const IMAGES = 1000
const RUNS = 7
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** Pixels between two stops of a drag of the scroll bar, and pixels a millisecond. */
const STRIDE = 20_000
const SPEED = 20

/** The page of a collection of 10,000 NFTs in Chromium: time to the first image, and resources after scrolling. */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const { backend, path } = await fill(folder)
    const browser = await startBrowser()
    try {
      const url = backend.url + path
      return [
        ...report(await firstImage(browser, url)),
        ...report(await wholeWay(browser, url)),
        await frames(browser, url),
      ]
    } finally {
      await browser.close()
      await backend.end()
    }
  })
}

async function startBrowser(): Promise<Browser> {
  for (const executablePath of CHROMIUM) {
    const started = await chromium
      .launch({ executablePath, args: ['--no-sandbox', '--enable-precise-memory-info', '--js-flags=--expose-gc'] })
      .catch(() => null)
    if (started !== null) return started
  }
  throw new Error(`Chromium was not found at ${CHROMIUM.join(', ')}`)
}

const openPage = async (browser: Browser): Promise<Page> =>
  await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage()

async function fill(folder: string) {
  const first = await serve(folder)
  const { transaction_gdn_ids: id } = await createCollection(first, { name: 'Ten thousand' })
  const media = join('examples', 'media')
  const files = (await readdir(media)).filter((name) => name.endsWith('.png'))
  const drawn = await Promise.all(files.map((name) => readFile(join(media, name))))
  const cids: string[] = []
  for (let index = 0; index < IMAGES; index++) {
    // Bytes after the end of a PNG aren't rendered, but make the file distinct.
    const content = Buffer.concat([drawn[index % drawn.length] ?? Buffer.alloc(0), Buffer.from(String(index))])
    cids.push((await first.upload(content)).slice('ipfs://'.length))
  }
  await first.end()
  const store = await openStore(join(folder, 'gdn.db'))
  try {
    const collection = await findCollectionById(store.db, id)
    if (collection === null) throw new Error('the collection does not exist')
    for (let at = 0; at < TOTAL; at += 1000) {
      const rows = Array.from({ length: 1000 }, (_, index) => {
        const cid = cids[(at + index) % IMAGES]
        const row = deployedNft(collection, at + index)
        const file_fields = [{ key: 'image', url: `ipfs://${cid}` }]
        const metadata = JSON.stringify({ title: `Number ${at + index + 1}`, description: '', file_fields })
        return { ...row, metadata, files: JSON.stringify({ image: cid }) }
      })
      await store.transaction((db) => insertNfts(db, rows))
    }
  } finally {
    await store.close()
  }
  return { backend: await serve(folder), path: `/collections/${id}` }
}

/** Milliseconds from the click on a link to the first image, with an empty browser cache. */
async function firstImage(browser: Browser, url: string): Promise<Figure[]> {
  const samples: number[] = []
  const all: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const page = await openPage(browser)
    await page.addInitScript(`document.addEventListener('load', ({ target }) => {
      if (target instanceof HTMLImageElement && target.closest('.gallery')) window.images = [...(window.images ?? []), performance.now()]
    }, true)`)
    await page.goto(url)
    // The content security policy of the page forbids polling with an expression.
    while ((await page.evaluate<number>('window.images?.length ?? 0')) < 10) await page.waitForTimeout(20)
    const [first = 0, ...more] = await page.evaluate<number[]>('window.images')
    samples.push(first)
    all.push(more[8] ?? 0)
    await page.context().close()
  }
  return [
    { what: 'first image of 10,000, nothing cached', unit: 'ms', samples, budget: { atMost: 1000 } },
    { what: 'first ten images', unit: 'ms', samples: all, budget: { atMost: 1500 } },
  ]
}

const heapMiB = (page: Page) => page.evaluate<number>('gc(), performance.memory.usedJSHeapSize / 2 ** 20')

/** Scrolls from the first to the last NFT with stops, and back to the first. */
async function wholeWay(browser: Browser, url: string): Promise<Figure[]> {
  const page = await openPage(browser)
  const asked = { pages: 0, images: 0 }
  page.on('request', (request) => {
    if (request.url().includes('/nfts?')) asked.pages++
    if (request.url().includes('/ipfs/')) asked.images++
  })
  await page.goto(url)
  await page.waitForSelector('.gallery .drawn')
  const before = await heapMiB(page)
  // By time and not by steps, so that the speed doesn't depend on the machine.
  const stops = await page.evaluate<number>(`(async () => {
    const height = document.documentElement.scrollHeight
    const frame = () => new Promise(requestAnimationFrame)
    let [place, stops, last] = [0, 0, performance.now()]
    while (place < height) {
      const now = await frame()
      const next = Math.min(height, place + Math.max(0, now - last) * ${SPEED})
      last = now
      scrollTo(0, next)
      const isStop = Math.floor(next / ${STRIDE}) > Math.floor(place / ${STRIDE})
      place = next
      if (!isStop) continue
      stops++
      while (document.querySelector('.gallery .drawn') === null) await frame()
      await new Promise((passed) => setTimeout(passed, 250))
      last = performance.now()
    }
    return stops
  })()`)
  await page.getByText(`Number ${TOTAL}`, { exact: true }).waitFor()
  const after = await heapMiB(page)
  const nodes = await page.evaluate<number>('document.querySelectorAll("*").length')
  await page.context().close()
  const one = (what: string, unit: Figure['unit'], value: number, atMost: number): Figure => ({
    ...{ what, unit, samples: [value], budget: { atMost } },
  })
  return [
    {
      what: `JavaScript heap after scrolling past 10,000 NFTs, with ${stops} stops`,
      unit: 'MiB',
      samples: [after],
      against: { what: 'at the first stop', samples: [before] },
      budget: { atMost: 4 },
    },
    one('DOM nodes at the end', 'nodes', nodes, 2000),
    one('requests for lists', 'requests', asked.pages, TOTAL / 100),
    one('requests for images', 'requests', asked.images, stops * 100),
  ]
}

/**
 * Milliseconds between two frames during wheel scrolling, 95th percentile: in the gallery, and on a page with only the
 * same number of images.
 */
async function frames(browser: Browser, url: string): Promise<Figure> {
  const [gallery, plain] = [await openPage(browser), await openPage(browser)]
  await gallery.goto(url)
  await gallery.waitForSelector('.gallery .drawn')
  const images = await gallery
    .locator('.gallery img')
    .evaluateAll((images) => images.map((image) => image.getAttribute('src')))
  const tile = '<img width=220 height=220 style="margin:20px 10px 80px" src='
  const body = Array.from({ length: 400 }, (_, index) => `${tile}${images[index % images.length]}>`).join('')
  await plain.route('**/plain', (route) => route.fulfill({ contentType: 'text/html', body }))
  await plain.goto(new URL('/plain', url).href)
  const [samples, against]: [number[], number[]] = [[], []]
  for (let run = 0; run < 5; run++) {
    samples.push(await slowFrame(gallery))
    against.push(await slowFrame(plain))
  }
  for (const page of [gallery, plain]) await page.context().close()
  const pair = { what: 'a page with only images', samples: against }
  return {
    what: 'frame time during wheel scrolling, 95th percentile',
    unit: 'ms',
    samples,
    against: pair,
    budget: { atMost: 4 },
  }
}

async function slowFrame(page: Page): Promise<number> {
  await page.evaluate(`(() => {
    window.between = []
    let last = performance.now()
    const next = (now) => { window.between.push(now - last); last = now; window.timer = requestAnimationFrame(next) }
    requestAnimationFrame(next)
  })()`)
  await page.mouse.move(640, 500)
  for (let turn = 0; turn < 40; turn++) {
    await page.mouse.wheel(0, 120)
    await page.waitForTimeout(40)
  }
  const all = await page.evaluate<number[]>('cancelAnimationFrame(window.timer), window.between')
  return all.sort((a, b) => a - b)[Math.floor(all.length * 0.95)] ?? 0
}
