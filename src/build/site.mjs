// `npm run docs [-- --base /<path>/] [-- --out <folder>]`: builds the pages of docs/ as a static site in out/docs.
// `npm run docs -- --dev` serves them while you edit.
import { cp, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { docsPages, llmsFullText } from './llms.mjs'
import { root, siteDir } from './paths.mjs'
import { run } from './run.mjs'
import { ensureInstalled } from './setup.mjs'

/**
 * Builds the site. Rejects if a page links to a page that doesn't exist.
 *
 * @param base path of the site on its host, which begins and ends with a slash
 */
export async function buildSite({ base = '/', out = join(root, 'out/docs'), say = () => {} } = {}) {
  await ensureInstalled(say, siteDir)
  const { code, output } = await vitepress(['build', '--base', base, '--outDir', resolve(out)], 'pipe')
  if (code !== 0) throw new Error(`vitepress failed:\n${output}`)
  // llms.txt links to the pages as Markdown.
  for (const name of ['llms.txt', ...(await docsPages())]) await cp(join(root, 'docs', name), join(out, name))
  await writeFile(join(out, 'llms-full.txt'), await llmsFullText())
}

const vitepress = ([command, ...args], stdio) =>
  run(process.execPath, [join(siteDir, 'node_modules/vitepress/bin/vitepress.js'), command, siteDir, ...args], {
    cwd: root,
    stdio: ['ignore', stdio, stdio],
    shell: false,
  })

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const say = (line) => process.stderr.write(`${line}\n`)
  const { values } = parseArgs({
    options: { base: { type: 'string' }, out: { type: 'string' }, dev: { type: 'boolean' } },
  })
  const { dev, ...options } = values
  try {
    if (dev) {
      await ensureInstalled(say, siteDir)
      await vitepress(['dev'], 'inherit')
    } else {
      await buildSite({ ...options, say })
      say(`the site is in ${options.out ?? 'out/docs'}`)
    }
  } catch (error) {
    say(error.message)
    process.exitCode = 1
  }
}
