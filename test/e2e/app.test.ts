import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createClient } from '../../src/lib/create-client.ts'
import { startLocal } from '../../src/lib/testing.ts'
import { CHROMIUM, NO_CHROMIUM, startChromium } from '../helpers/chromium.ts'

const APP = join(import.meta.dirname, '../../examples/app/server.mjs')
const WALLET = '0x105BA2A3D820926739b9443a81fb7ab5C531e823'

test('the mint page mints one NFT for a visitor who double-clicks, reloads and comes back', async (context) => {
  if (CHROMIUM === undefined) return context.skip(NO_CHROMIUM)
  await using local = await startLocal()
  const gdn = createClient(local)
  const { response } = await gdn.api.createcollection({ wallet_address: WALLET, name: 'Page', blockchain: 'polygon' })
  const request = { transaction_gdn_ids: [response.transaction_gdn_id] }
  const collection = await expect
    .poll(async () => (await gdn.api.getcollections(request)).collections[0]?.contract_address)
    .toBeTruthy()
    .then(async () => (await gdn.api.getcollections(request)).collections[0]?.contract_address ?? '')
  const { baseUrl: GDN_BASE_URL, apiKey: GDN_API_KEY, stateDir: GDN_STATE_DIR } = local
  const app = spawn(process.execPath, [APP], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, GDN_BASE_URL, GDN_API_KEY, GDN_STATE_DIR, COLLECTION: collection, PORT: '0' },
  })
  const browser = await startChromium()
  try {
    const url = String((await once(app.stdout, 'data'))[0]).trim()
    const page = await browser.newPage()
    const mint = async (click: 'click' | 'dblclick') => {
      await page.goto(url)
      await page.fill('input', WALLET)
      await page[click]('button')
      await page.waitForSelector('text=You own NFT')
    }
    await mint('dblclick')
    await page.reload()
    await mint('click')
    const { nft_gdn_ids } = await gdn.api.getnftgdnids({ contract_addresses: collection, blockchain: 'polygon' })
    expect(nft_gdn_ids).toHaveLength(1)
    expect(await page.textContent('body')).toContain('You own NFT 1 of 0x')
    const hostile = await fetch(`${url}/mint`, {
      method: 'POST',
      headers: { cookie: `order=${randomUUID()}` },
      body: new URLSearchParams({ address: '<script>alert(1)</script>' }),
    })
    expect(hostile.status).toBe(400)
    expect(await hostile.text()).not.toContain('<script')
  } finally {
    await browser.close()
    app.kill()
  }
})
