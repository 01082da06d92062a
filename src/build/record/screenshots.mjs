// Takes screenshots of the web explorer for the README.
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { decode, encode } from 'fast-png'
import { chromium } from 'playwright-core'

// Load upng.js with `require`, because it assigns undeclared variables, which fails in an ES module.
const { quantize } = createRequire(import.meta.url)('sixel/upng.js')

const COLORS = 256
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const VIEW = { width: 1040, height: 680 }
const MAX_BYTES = 120_000

/** @returns the names and sizes of the images */
export async function screenshots(url, nft, folder) {
  const shown = `${url}/explorer/nfts/${nft}`
  const answer = await fetch(shown)
  if (!answer.ok) throw new Error(`no screenshots: ${shown} returned ${answer.status}`)
  const { collection } = await answer.json()
  const executablePath = PLACES.find((path) => existsSync(path))
  if (executablePath === undefined) throw new Error(`no screenshots: install Chromium as one of ${PLACES.join(', ')}`)
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  const made = []
  try {
    for (const [name, path, colorScheme] of [
      ['gallery', `/collections/${collection.transaction_gdn_id}`, 'light'],
      ['nft', `/nfts/${nft}`, 'dark'],
    ]) {
      const page = await browser.newPage({ viewport: VIEW, colorScheme, reducedMotion: 'reduce' })
      await page.goto(url + path)
      await page.waitForLoadState('load')
      await seen(page)
      await page.waitForTimeout(500)
      const bytes = smallPng(await page.screenshot())
      if (bytes.length > MAX_BYTES) throw new Error(`${name}.png has ${bytes.length} bytes, more than ${MAX_BYTES}`)
      await writeFile(join(folder, `${name}.png`), bytes)
      made.push({ name: `${name}.png`, bytes: bytes.length })
      await page.close()
    }
    return made
  } finally {
    await browser.close()
  }
}

const SEEN = 'document.images.length > 0 && [...document.images].every(({ complete }) => complete)'

/** Waits until every image of the page is loaded. */
async function seen(page) {
  for (let tries = 0; tries < 50; tries++) {
    if (await page.evaluate(SEEN)) return
    await page.waitForTimeout(200)
  }
  throw new Error(`images are missing on ${page.url()}`)
}

/** Reduces a screenshot to 256 colors, which takes a third of the bytes without a visible difference. */
function smallPng(png) {
  const { width, height, data, channels } = decode(png)
  const rgba = new Uint8Array(width * height * 4)
  for (let i = 0; i < width * height; i++) {
    rgba.set(data.subarray(i * channels, i * channels + 3), i * 4)
    rgba[i * 4 + 3] = 255
  }
  const { inds, plte } = quantize(rgba.buffer, COLORS)
  const palette = plte.map(({ est }) => [est.rgba & 255, (est.rgba >> 8) & 255, (est.rgba >> 16) & 255])
  return encode({ width, height, data: inds, channels: 1, depth: 8, palette }, { zlib: { level: 9 } })
}
