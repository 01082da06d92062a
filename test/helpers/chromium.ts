import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Path of Chromium on this machine. If undefined, tests that need it are skipped with a message. */
export const CHROMIUM = PLACES.find((path) => existsSync(path))

export const NO_CHROMIUM = `skipped: no Chromium on this machine (${PLACES.join(', ')}); on Debian: apt-get install chromium`

/** Starts Chromium headless, without requests except to the pages that it opens. */
export function startChromium(more: readonly string[] = []): Promise<Browser> {
  if (CHROMIUM === undefined) throw new Error(NO_CHROMIUM)
  const quiet = ['background-networking', 'component-update', 'sync', 'gpu', 'quic'].map((what) => `--disable-${what}`)
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--no-first-run', ...quiet, ...more] })
}
