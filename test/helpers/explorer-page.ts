import type { Browser, BrowserContext, Page, Request } from 'playwright-core'

export interface Watched {
  page: Page
  context: BrowserContext
  /** What the browser reported: errors, violations of the policy, dialogs that a script opened. */
  errors: string[]
  /** Requests to other hosts than the server. */
  others: string[]
  /** Paths of all requests to the server. */
  asked: string[]
  close: () => Promise<void>
}

export interface Look {
  scheme?: 'light' | 'dark'
  width?: number
  height?: number
  /** Errors that a test expects, for example of a stopped server. */
  except?: RegExp
}

/** Opens a page in a fresh browser context and records its errors and requests. */
export async function watchedPage(browser: Browser, url: string, look: Look = {}): Promise<Watched> {
  const { scheme = 'light', width = 1280, height = 900, except } = look
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height } })
  // The time limit of the test decides: a browser that has just started may draw its first page late.
  context.setDefaultTimeout(0)
  const page = await context.newPage()
  const errors: string[] = []
  const others: string[] = []
  const requests: string[] = []
  const record = (text: string) => {
    if (except?.test(text) !== true) errors.push(text)
  }
  page.on('console', (message) => record(`${message.type()}: ${message.text()}`))
  page.on('pageerror', (error) => record(String(error.stack)))
  page.on('dialog', async (dialog) => {
    record(`dialog: ${dialog.message()}`)
    await dialog.dismiss()
  })
  context.on('request', (request: Request) => {
    if (request.url().startsWith(`${url}/`)) requests.push(request.url().slice(url.length))
    else if (!request.url().startsWith('data:')) others.push(request.url())
  })
  return { page, context, errors, others, asked: requests, close: () => context.close() }
}

/** Number of pixels by which the page is wider than the window: 0 without horizontal scrolling. */
export const tooWide = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - innerWidth')
