import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seriousViolations } from '../helpers/axe.ts'
import {
  backendForFile,
  createTestCollection,
  mint,
  settled,
  type TestBackend,
  until,
  WALLETS,
} from '../helpers/backend.ts'
import { CHROMIUM, startChromium } from '../helpers/chromium.ts'
import { show } from '../helpers/explorer.ts'
import {
  type Drop,
  HOSTILE_RUN,
  hostileDrop,
  type LivedDrop,
  livedDrop,
  pictureDrop,
} from '../helpers/explorer-drop.ts'
import { tooWide, type Watched, watchedPage } from '../helpers/explorer-page.ts'
import { newWallet, rpcOf } from '../helpers/rpc-wallets.ts'
import { shuffledDrop } from '../helpers/shuffled-drop.ts'
import { dynamicNfts } from '../helpers/updates.ts'

const LONG = process.env.GDN_SOAK === '1'

let backend: TestBackend
let browser: Browser
let drop: Drop
let hostile: Drop
let lived: LivedDrop

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  backend = await backendForFile({ allowHtmlFiles: true })
  browser = await startChromium()
  drop = await pictureDrop(backend, 6, 'abcdef0123456789')
  lived = await livedDrop(backend, backend.dataDir)
  hostile = await hostileDrop(backend)
})
afterAll(async () => {
  await browser?.close()
})

/** Every page, with a selector that matches once it is complete. */
const PAGES = {
  home: [() => '/', '.card .drawn'],
  collection: [() => `/collections/${drop.collection.id}`, '.gallery .drawn'],
  'a hostile collection': [() => `/collections/${hostile.collection.id}`, '.gallery .tile'],
  nft: [() => `/nfts/${drop.nfts[1]}`, '.stage .drawn'],
  'a hostile NFT': [() => `/nfts/${hostile.nfts.scripts}`, '.stage .drawn'],
  'a long NFT': [() => `/nfts/${hostile.nfts.long}`, '.nft .long-text'],
  'an Arabic NFT': [() => `/nfts/${hostile.nfts.rtl}`, '.nft .attribute'],
  'an updated NFT': [() => `/nfts/${lived.updated}`, '.timeline .changes'],
  'a burned NFT': [() => `/nfts/${lived.burned}`, '.nft .badge.burned'],
  'a collection with burned NFTs': [() => `/collections/${lived.collection.id}`, '.tile.burned'],
  owner: [() => `/owners/${WALLETS[1]}`, '.gallery .drawn'],
  runs: [() => '/runs', '.run'],
  run: [() => `/runs/${HOSTILE_RUN}`, '.gallery .tile'],
  activity: [() => '/activity', '.shelf .tile'],
  search: [() => '/search?q=moon', '.hits .hit'],
  'no such NFT': [() => '/nfts/nowhere', '.empty'],
} as const satisfies Record<string, readonly [path: () => string, shown: string]>

const LOOKS = [
  ['light', 1280],
  ['dark', 360],
  ...(LONG
    ? ([
        ['dark', 1280],
        ['light', 360],
        ['light', 768],
        ['dark', 2200],
      ] as const)
    : []),
] as const

describe.skipIf(CHROMIUM === undefined).each(LOOKS)('%s, %d pixels wide', (scheme, width) => {
  let watched: Watched

  beforeAll(async () => {
    watched = await watchedPage(browser, backend.url, { scheme, width, except: /status of 404/ })
    // Elements that fade in have no contrast yet.
    await watched.page.emulateMedia({ reducedMotion: 'reduce' })
  })
  afterAll(() => watched?.close())

  it.each(Object.entries(PAGES))(
    '%s has no errors, requests to other hosts, sideways scrolling or serious accessibility violations',
    async (_, [path, shown]) => {
      const { page, errors, others } = watched
      errors.length = 0
      await page.goto(backend.url + path())
      await page.waitForSelector(shown)
      expect(await tooWide(page)).toBeLessThanOrEqual(0)
      expect(await seriousViolations(page)).toEqual([])
      expect([errors, others]).toEqual([[], []])
    },
  )
})

it.skipIf(CHROMIUM === undefined)('an NFT lists its files that are not stored here', async () => {
  const collection = await createTestCollection(backend)
  const file_fields = [{ key: 'image', url: `ar://${'a'.repeat(43)}` }]
  const [id = ''] = await mint(backend, collection, { title: 'elsewhere', description: '', file_fields })
  await settled(backend, [id])
  const { page, errors, close } = await watchedPage(browser, backend.url)
  await page.goto(`${backend.url}/nfts/${id}`)
  await page.locator('.stage').getByText('Not stored here').waitFor()
  expect(await page.locator('section[aria-labelledby=files]').textContent()).toMatch(/imageNot stored here.*ar:\/\//)
  expect(errors).toEqual([])
  await close()
})

it.skipIf(CHROMIUM === undefined)('a collection shows the settings that its owner changed on chain', async () => {
  const owner = newWallet()
  const { collection } = await dynamicNfts(backend, ['a'], { wallet_address: owner.address })
  const { send } = rpcOf(backend)
  await send(owner, collection.address, { functionName: 'setDefaultRoyalty', args: [owner.address, 750n] })
  const metadata = Buffer.from(JSON.stringify({ name: 'n', description: 'Set later' })).toString('base64')
  const uri = `data:application/json;base64,${metadata}`
  await send(owner, collection.address, { functionName: 'setContractURI', args: [uri] })
  await send(owner, collection.address, { functionName: 'freezeMetadata' })
  await until(
    () => show(backend, `collections/${collection.id}`),
    ({ is_frozen, description }) => is_frozen && description === 'Set later',
  )
  const { page, errors, close } = await watchedPage(browser, backend.url)
  const head = page.locator('.collection-words')
  await page.goto(`${backend.url}/collections/${collection.id}`)
  await head.getByText('Set later').waitFor()
  expect(await head.textContent()).toMatch(/Frozen.*Royalty7\.5 %/)
  expect(errors).toEqual([])
  await close()
})

describe.skipIf(CHROMIUM === undefined)('colors', () => {
  const background = (page: Page) => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor')

  it('are those of the system until others are chosen, which persist', async () => {
    const { page, errors, close } = await watchedPage(browser, backend.url, { scheme: 'dark' })
    await page.goto(`${backend.url}/`)
    const dark = await background(page)
    const choose = page.getByRole('button', { name: /^Colors: / })
    await choose.click()
    const light = await background(page)
    expect(light).not.toBe(dark)
    await page.reload()
    expect(await background(page)).toBe(light)
    await page.goto(`${backend.url}/docs`)
    expect(await page.evaluate('document.documentElement.classList.contains("dark-mode")')).toBe(false)
    await page.goBack()
    await choose.click()
    await choose.click()
    expect([await background(page), errors]).toEqual([dark, []])
    await close()
  })
})

describe.skipIf(CHROMIUM === undefined)('the life of an NFT', () => {
  it('is a timeline, the last event first, with what updates changed', async () => {
    const { page, errors, close } = await watchedPage(browser, backend.url)
    await page.goto(`${backend.url}/nfts/${lived.updated}`)
    const events = page.locator('.timeline > li')
    await events.first().waitFor()
    const [pending, frozen, second, first, mint] = await events.allTextContents()
    expect(pending).toMatch(/^Transferred to .*In progress/)
    expect(frozen).toMatch(/^Metadata frozen.*Block/)
    expect(second).toMatch(/^Metadata updatedtitlebefore: Moonriseafter: /)
    expect(first).toMatch(/^Metadata updated.*attribute phasebefore: noneafter: full/)
    expect(mint).toMatch(/^Minted to/)
    expect(await page.locator('.chips').first().textContent()).toMatch(/Frozen.*Updated/)
    await page.goto(`${backend.url}/nfts/${lived.burned}`)
    await page.getByText('Burned, last owned by').waitFor()
    expect(await page.locator('.chips').first().textContent()).toMatch(/^Burned/)
    expect(errors).toEqual([])
    await close()
  })
})

describe.skipIf(CHROMIUM === undefined)('hostile content', () => {
  it('is shown as text and runs no code', async () => {
    const { page, errors, others, close } = await watchedPage(browser, backend.url)
    for (const path of [
      `/nfts/${hostile.nfts.scripts}`,
      `/nfts/${hostile.nfts.html}`,
      `/collections/${hostile.collection.id}`,
      `/search?q=${encodeURIComponent('<script>')}`,
      `/search?q=${encodeURIComponent('"><img src=x onerror=alert(1)>')}`,
      '/',
    ]) {
      await page.goto(backend.url + path)
      await page.waitForSelector('.nft h1, .gallery .tile, .hits, .empty, .card')
    }
    await page.goto(`${backend.url}/nfts/${hostile.nfts.scripts}`)
    expect(await page.locator('h1 bdi').textContent()).toContain('<script>window.ran')
    expect(await page.locator('.fact bdi').textContent()).toContain('<script>window.ran')
    for (const name of ['As sent', 'As stored']) {
      await page.getByRole('button', { name }).click()
      await page.waitForSelector('.json-string')
      const closed = page.locator('.json-toggle[aria-expanded=false]')
      while ((await closed.count()) > 0) await closed.first().click()
    }
    expect(await page.locator('.json').textContent()).toContain('javascript:window.ran')
    // Each link is internal or a download; each image is rendered by <img>.
    const hrefs = await page.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
    expect(hrefs.filter((href) => !/^\/(?!\/)/.test(href))).toEqual([])
    expect(await page.locator('iframe, object, embed, main script, .stage svg circle').count()).toBe(0)
    expect(await page.evaluate('window.ran')).toBe(undefined)
    expect([errors, others]).toEqual([[], []])
    await close()
  })

  it('a stored HTML file is downloaded, never opened, under a name that is not HTML', async () => {
    const { page, errors, close } = await watchedPage(browser, backend.url)
    await page.goto(`${backend.url}/nfts/${hostile.nfts.html}`)
    const saved = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download animation_url' }).click()
    expect((await saved).suggestedFilename()).toMatch(/^bafk.*\.bin$/)
    expect([new URL(page.url()).pathname, errors]).toEqual([`/nfts/${hostile.nfts.html}`, []])
    await close()
  })

  it('a stored HTML file opened by its URL is sandboxed and runs no code', async () => {
    const { page, errors, close } = await watchedPage(browser, backend.url, { except: /Blocked script execution/ })
    const { media } = await show(backend, `nfts/${hostile.nfts.html}`)
    await page.goto(backend.url + media[0].url)
    expect(await page.evaluate('window.ran')).toBe(undefined)
    expect(errors).toEqual([])
    await close()
  })

  it('an invalid image is shown as a placeholder with its type', async () => {
    const { page, close } = await watchedPage(browser, backend.url)
    await page.goto(`${backend.url}/nfts/${hostile.nfts.broken}`)
    await page.getByText('PNG, can’t be shown').first().waitFor()
    await page.goto(`${backend.url}/collections/${hostile.collection.id}`)
    await page.locator('.gallery').getByText('PNG, can’t be shown').waitFor()
    expect(await page.locator('.gallery').getByText('HTML').count()).toBe(1)
    await close()
  })

  it('an image of 400 million pixels is fetched only on request', async () => {
    const { page, asked, errors, close } = await watchedPage(browser, backend.url)
    const { media } = await show(backend, `nfts/${hostile.nfts.huge}`)
    await page.goto(`${backend.url}/collections/${hostile.collection.id}`)
    await page.locator('.gallery').getByText('20,000 × 20,000').waitFor()
    await page.getByRole('link', { name: 'A wall' }).click()
    await page.getByText('20,000 × 20,000 pixels').waitFor()
    expect(asked.filter((path) => path === media[0].url)).toEqual([])
    await page.getByRole('button', { name: 'Show image' }).click()
    await until(
      async () => asked.filter((path) => path === media[0].url).length,
      (count) => count > 0,
    )
    expect(errors).toEqual([])
    await close()
  })

  it('a 3D model is offered as a download', async () => {
    const { page, close } = await watchedPage(browser, backend.url)
    await page.goto(`${backend.url}/nfts/${hostile.nfts.model}`)
    const saved = page.waitForEvent('download')
    await page.locator('.stage').getByRole('link', { name: 'Download model' }).click()
    expect((await saved).suggestedFilename()).toMatch(/\.glb$/)
    await close()
  })

  it('a title without a visible character is shown as untitled and can be clicked', async () => {
    const { page, close } = await watchedPage(browser, backend.url)
    await page.goto(`${backend.url}/collections/${hostile.collection.id}`)
    await page.getByRole('link', { name: /Untitled/ }).click()
    await page.getByRole('heading', { level: 1, name: 'Untitled' }).waitFor()
    await close()
  })

  it('a title with a bidirectional override does not affect the text beside it', async () => {
    const { page, close } = await watchedPage(browser, backend.url)
    await page.goto(`${backend.url}/collections/${hostile.collection.id}`)
    await page.locator('.tile', { hasText: 'gnp.exe' }).waitFor()
    const isolated = await page.evaluate(
      `getComputedStyle([...document.querySelectorAll('.tile bdi')].find((bdi) => bdi.textContent.includes('gnp.exe'))).unicodeBidi`,
    )
    expect(isolated).toBe('isolate')
    await close()
  })

  it('a title of 500 characters and a description of 200,000 are shortened and do not break the layout', async () => {
    const { page, close } = await watchedPage(browser, backend.url, { width: 390 })
    await page.goto(`${backend.url}/nfts/${hostile.nfts.long}`)
    await page.waitForSelector('.long-text')
    const heightOf = (selector: string) => page.locator(selector).evaluate((element) => element.clientHeight)
    expect(await heightOf('h1')).toBeLessThan(140)
    await page.getByRole('button', { name: 'Show all' }).click()
    expect(
      await until(
        () => heightOf('h1'),
        (height) => height > 300,
      ),
    ).toBeGreaterThan(300)
    expect((await page.locator('.long-text p').textContent())?.length).toBeLessThan(700)
    await page.getByRole('button', { name: 'As sent' }).click()
    expect((await page.locator('.json').textContent())?.length).toBeLessThan(3000)
    expect(await tooWide(page)).toBe(0)
    await close()
  })
})

it.skipIf(CHROMIUM === undefined)('an NFT of a shuffled drop shows how its row is drawn', async () => {
  const { nfts, seal, reveal } = await shuffledDrop(backend)
  const [nft] = await nfts()
  for (const width of [390, 1280]) {
    const { page, errors, others, close } = await watchedPage(browser, backend.url, { width })
    const look = async (name: string, text: string) => {
      await page.goto(`${backend.url}/nfts/${nft?.nft_gdn_id}`)
      await page.locator('section[aria-labelledby=shuffle]').getByText(text).waitFor()
      expect(await tooWide(page)).toBeLessThanOrEqual(0)
      const folder = process.env.GDN_SCREENSHOTS
      if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}-${width}.png`, fullPage: true })
    }
    if (width === 390) {
      await look('open', 'When the mint has ended')
      await seal()
      await look('sealed', 'Nobody can choose the content of this NFT')
      const { shuffle } = await show(backend, `nfts/${nft?.nft_gdn_id}`)
      await reveal(shuffle.round.number)
    }
    await look('revealed', 'This draw is a rehearsal: the signature in the metadata is not from drand')
    expect(await seriousViolations(page)).toEqual([])
    expect([errors, others]).toEqual([[], []])
    await close()
  }
})
