import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seriousViolations } from '../helpers/axe.ts'
import { backendForFile, createTestCollection, type TestBackend } from '../helpers/backend.ts'
import { CHROMIUM, startChromium } from '../helpers/chromium.ts'
import { tooWide, watchedPage } from '../helpers/explorer-page.ts'
import { makeKey, revokeKey } from '../helpers/keys.ts'
import { NO_NETWORK, OUTER_ADDRESS } from '../helpers/this-machine.ts'

if (OUTER_ADDRESS === undefined) process.stdout.write(`${NO_NETWORK}\n`)

let backend: TestBackend
let browser: Browser
let url = ''

beforeAll(async () => {
  if (CHROMIUM === undefined || OUTER_ADDRESS === undefined) return
  backend = await backendForFile({ host: '0.0.0.0' })
  url = `http://${OUTER_ADDRESS}:${new URL(backend.url).port}`
  browser = await startChromium()
})
afterAll(async () => {
  await browser?.close()
})

describe.skipIf(CHROMIUM === undefined || OUTER_ADDRESS === undefined)('a web explorer that requires a login', () => {
  it('shows nothing before a login with a key that may read, and then its account’s resources', async () => {
    const key = await makeKey(backend.dataDir)
    const blind = await makeKey(backend.dataDir, { permissions: ['nft:create'] })
    await createTestCollection(
      { ...backend, post: (path, body) => backend.post(path, body, key.headers) },
      { name: 'Ours' },
    )
    await createTestCollection(backend, { name: 'Of the local account' })
    const { page, context, errors, others, close } = await watchedPage(browser, url, {
      except: /status of 40[13]|Cross-Origin-Opener-Policy/,
    })
    await page.goto(`${url}/collections/unknown`)
    const field = page.getByLabel('API key')
    await page.goto(`${url}/`)
    const log = async (text: string) => {
      await field.fill(text)
      await page.keyboard.press('Enter')
    }
    await log('gdn_wrong')
    await page.getByText('This API key is not valid.').waitFor()
    await log(blind.key)
    await page.getByText('nft:read').waitFor()
    expect(await field.getAttribute('type')).toBe('password')
    await log(key.key)
    await page.getByRole('link', { name: 'Ours' }).waitFor()
    expect(await page.getByText('Of the local account').count()).toBe(0)
    // The cookie doesn't contain the key, and scripts can't read it.
    const kept = JSON.stringify([
      await context.cookies(),
      await page.evaluate('[{ ...localStorage }, { ...sessionStorage }, document.cookie]'),
    ])
    expect(kept).not.toContain(key.key)
    expect(await page.evaluate('document.cookie')).toBe('')
    await page.reload()
    await page.getByRole('link', { name: 'Ours' }).waitFor()
    await page.getByRole('button', { name: /^Log out/ }).click()
    await field.waitFor()
    expect(await page.getByText('Ours').count()).toBe(0)
    await page.reload()
    await field.waitFor()
    expect([errors, others]).toEqual([[], []])
    expect(backend.log.join('\n')).not.toContain(key.key)
    await close()
  })

  it.each([
    ['light', 1280],
    ['dark', 360],
  ] as const)(
    'has a login page that fits and has no serious accessibility violations (%s, %d pixels wide)',
    async (scheme, width) => {
      const look = { scheme, width, except: /status of 40[13]|Cross-Origin-Opener-Policy/ }
      const { page, errors, others, close } = await watchedPage(browser, url, look)
      await page.emulateMedia({ reducedMotion: 'reduce' })
      await page.goto(`${url}/`)
      await page.getByLabel('API key').waitFor()
      expect(await tooWide(page)).toBeLessThanOrEqual(0)
      expect(await seriousViolations(page)).toEqual([])
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.getByText('Enter an API key.').waitFor()
      await page.getByLabel('API key').fill('gdn_wrong')
      await page.keyboard.press('Enter')
      await page.getByText('This API key is not valid.').waitFor()
      expect(await tooWide(page)).toBeLessThanOrEqual(0)
      expect(await seriousViolations(page)).toEqual([])
      expect([errors, others]).toEqual([[], []])
      await close()
    },
  )

  it('returns to the login page once the key is revoked', async () => {
    const key = await makeKey(backend.dataDir, { email: 'other@example.com' })
    const { page, close } = await watchedPage(browser, url)
    await page.goto(`${url}/`)
    await page.getByLabel('API key').fill(key.key)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('Nothing minted yet').waitFor()
    await revokeKey(backend.dataDir, key)
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByLabel('API key').waitFor()
    await close()
  })
})
