import type { Browser } from 'playwright-core'
import { getAddress } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createTestCollection,
  freshDataDir,
  mint,
  plainMetadata,
  settled,
  startTestBackend,
  type TestBackend,
  until,
} from '../helpers/backend.ts'
import { CHROMIUM, startChromium } from '../helpers/chromium.ts'
import { show } from '../helpers/explorer.ts'
import { blackPng } from '../helpers/explorer-drop.ts'
import { watchedPage } from '../helpers/explorer-page.ts'
import { type FileServer, startFileServer } from '../helpers/file-server.ts'
import { ownPort } from '../helpers/own-port.ts'
import { newWallet, rpcOf } from '../helpers/rpc-wallets.ts'
import { dynamicNfts } from '../helpers/updates.ts'

const RUN = '00112233445566ff'

let dataDir: Awaited<ReturnType<typeof freshDataDir>>
let backend: TestBackend
let browser: Browser
let files: FileServer
/** Pending responses: a test sends them when it needs the images. */
let held: (() => void)[]

beforeAll(async () => {
  if (CHROMIUM !== undefined) browser = await startChromium()
})
afterAll(() => browser?.close())
beforeEach(async () => {
  if (CHROMIUM === undefined) return
  dataDir = await freshDataDir()
  backend = await startTestBackend(dataDir.path, { port: await ownPort() })
  held = []
  files = await startFileServer({
    '/later.png': (_request, response) => {
      held.push(() => response.setHeader('content-type', 'image/png').end(blackPng(8, 8)))
    },
    '/gone.png': (_request, response) => void response.writeHead(404).end(),
  })
})
afterEach(async () => {
  for (const give of held ?? []) give()
  await backend?.close()
  await files?.close()
  await dataDir?.remove()
})

const image = (url: string) => ({ title: `From ${url}`, description: '', file_fields: [{ key: 'image', url }] })

describe.skipIf(CHROMIUM === undefined)('a change', () => {
  it('is shown live: a pending run, its end, and failed NFTs with the reason', async () => {
    const collection = await createTestCollection(backend, { name: 'Live' })
    const metadata = [image(`${files.url}/later.png`), image(`${files.url}/gone.png`), ...plainMetadata(3)]
    await mint(backend, collection, metadata, { headers: { 'gdn-run': RUN } })
    const { page, errors, close } = await watchedPage(browser, backend.url)
    await page.goto(`${backend.url}/runs/${RUN}`)
    await page.getByRole('heading', { name: 'Failed NFTs' }).waitFor()
    await page.getByText('404 Not Found').waitFor()
    await page.getByText('1 pending').waitFor()
    await page.getByText('80 %').waitFor()
    for (const give of held.splice(0)) give()
    await page.getByText('100 %').waitFor()
    await page.getByText('done, 1 failed').waitFor()
    await page.getByRole('button', { name: 'Deployed 4' }).waitFor()
    // The tile that was pending is updated too.
    await page.locator('.gallery .drawn').waitFor()
    await page.locator('.failure-ids a').click()
    await page.locator('.reason', { hasText: '404 Not Found' }).waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it('counts burned NFTs apart from deployed ones', async () => {
    const holder = newWallet()
    const receiver = holder.address
    const { collection, nfts } = await dynamicNfts(backend, ['Ash', 'Oak', 'Elm'], { receiver, run: 'trees' })
    await rpcOf(backend).send(holder, getAddress(collection.address), {
      functionName: 'burn',
      args: [holder.address, BigInt(nfts[0]?.token_id ?? '')],
    })
    await until(
      () => show(backend, 'runs/trees'),
      ({ burned }) => burned === 1,
    )
    const { page, errors, close } = await watchedPage(browser, backend.url)
    await page.goto(`${backend.url}/runs/trees`)
    await page.getByText('all deployed, 1 burned later').waitFor()
    await page.getByRole('img', { name: '3 NFTs: 2 deployed, 1 burned' }).waitFor()
    await page.getByRole('button', { name: 'Deployed or burned 3' }).waitFor()
    await page.getByText('Gas of mints').waitFor()
    expect(errors).toEqual([])
    await close()
  })

  it('is shown on the NFT’s page, the activity page and the overview', async () => {
    const collection = await createTestCollection(backend, { name: 'Live' })
    const [id = ''] = await mint(backend, collection, [image(`${files.url}/later.png`)])
    const nft = await watchedPage(browser, backend.url)
    await nft.page.goto(`${backend.url}/nfts/${id}`)
    await nft.page.getByText('Fetching files').waitFor()
    const activity = await watchedPage(browser, backend.url)
    await activity.page.goto(`${backend.url}/activity`)
    const files1 = activity.page.locator('.pipeline li', { hasText: 'Files' })
    await files1.locator('b', { hasText: '1' }).waitFor()
    const home = await watchedPage(browser, backend.url)
    await home.page.goto(`${backend.url}/`)
    await home.page.getByText('1 files').waitFor()
    for (const give of held.splice(0)) give()
    await nft.page.locator('.nft-words .badge.deployed').waitFor()
    await nft.page.locator('.stage .drawn').waitFor()
    await nft.page.getByText('Minted to').waitFor()
    await files1.locator('b', { hasText: '0' }).waitFor()
    await home.page.getByText('1 minted').waitFor()
    await createTestCollection(backend, { name: 'Another' })
    await home.page.getByRole('link', { name: 'Another' }).waitFor()
    expect([...nft.errors, ...activity.errors, ...home.errors]).toEqual([])
    for (const { close } of [nft, activity, home]) await close()
  })

  it('closes the connection of a hidden page and updates it when it is visible again', async () => {
    const { page, context, close } = await watchedPage(browser, backend.url)
    await page.goto(`${backend.url}/`)
    await page.getByText('Nothing minted yet').waitFor()
    const hide = (state: string) =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`)
    await hide('hidden')
    await createTestCollection(backend, { name: 'Meanwhile' })
    await page.waitForTimeout(1500)
    expect(await page.getByText('Meanwhile').count()).toBe(0)
    await hide('visible')
    await page.getByText('Meanwhile').waitFor()
    await context.close()
    await close()
  })
})

describe.skipIf(CHROMIUM === undefined)('an unavailable server', () => {
  it('is reported while the page keeps its content, and the page recovers when the server is back', async () => {
    const collection = await createTestCollection(backend, { name: 'Still here' })
    await settled(backend, await mint(backend, collection, plainMetadata(1)))
    const except = /ERR_|Failed to load/
    const { page, errors, close } = await watchedPage(browser, backend.url, { except })
    await page.goto(`${backend.url}/`)
    await page.getByRole('link', { name: 'Still here' }).first().waitFor()
    const { port } = new URL(backend.url)
    await backend.close()
    await page.getByText('The server does not respond').waitFor()
    expect(await page.getByRole('link', { name: 'Still here' }).count()).toBeGreaterThan(0)
    // A page that was not loaded before shows the error instead.
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('heading', { name: 'The server does not respond' }).waitFor()
    backend = await startTestBackend(dataDir.path, { port: Number(port) })
    await page.getByText('No runs yet').waitFor()
    await page.getByText('The server does not respond').waitFor({ state: 'hidden' })
    expect(errors).toEqual([])
    await close()
  })

  it('is reported before the first response, and the page starts once there is one', async () => {
    const except = /ERR_|Failed to load/
    const { page, errors, close } = await watchedPage(browser, backend.url, { except })
    await page.route('**/explorer/session', (route) => route.abort())
    await page.goto(`${backend.url}/`)
    await page.getByRole('heading', { name: 'The server does not respond' }).waitFor()
    await page.unroute('**/explorer/session')
    await page.getByText('Nothing minted yet').waitFor()
    expect(errors).toEqual([])
    await close()
  })
})
