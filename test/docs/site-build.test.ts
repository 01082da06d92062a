/** @module-tag slow */
import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isInstalled } from '../../src/build/install.mjs'
import { docsPages } from '../../src/build/llms.mjs'
import { buildSite } from '../../src/build/site.mjs'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

// .ci/run installs the packages of the site. Elsewhere, the test doesn't download packages.
const isReady =
  process.env.CI !== undefined || (await isInstalled(fileURLToPath(new URL('../../docs/site', import.meta.url))))

test('the site of the documentation builds, with each page of docs/', { timeout: 300_000 }, async ({ skip }) => {
  skip(!isReady, 'the packages of docs/site are not installed: npm run docs installs them')
  const out = await temporaryFolder('gdn-site-')
  await buildSite({ out })
  const built = (await readdir(out, { recursive: true })).map((name) => name.replaceAll('\\', '/'))
  const expectedPages = (await docsPages()).map((name) => name.replace('README.md', 'index.md').replace(/md$/, 'html'))
  expect(built).toEqual(expect.arrayContaining(['index.html', 'deploy.html', 'llms-full.txt', ...expectedPages]))
})
