import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './paths.mjs'

/** Packages that are in no bundle: Solidity libraries compiled into the contracts, and the files of /docs. */
const UNSEEN = ['@openzeppelin/contracts', 'erc721a-upgradeable', 'swagger-ui-dist']

export const RULE = `${'-'.repeat(80)}\n`

/**
 * Returns the name, version and license text of every bundled package.
 *
 * @param sources the source files that the bundles contain
 */
export async function thirdPartyLicenses(sources) {
  const folders = new Set(UNSEEN.map((name) => join(root, 'node_modules', name)))
  for (const file of sources) {
    const folder = packageFolder(file)
    if (folder !== undefined) folders.add(folder)
  }
  const notices = new Map()
  for (const folder of [...folders].sort()) {
    const { title, text } = await notice(folder)
    notices.set(title, text)
  }
  const bodies = [...notices].sort(([a], [b]) => (a < b ? -1 : 1)).map(([title, text]) => `${title}\n\n${text}\n`)
  return `gdn contains these packages, under their own licenses.\n\n${RULE}${bodies.join(`\n${RULE}`)}`
}

/** Converts `…/node_modules/a/node_modules/@b/c/x.js` to `…/node_modules/a/node_modules/@b/c`. */
function packageFolder(file) {
  return /^.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+(?=[\\/])/.exec(file)?.[0]
}

/** Returns the name, version and license text of a package. */
export async function notice(folder) {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const names = (await readdir(folder)).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)).sort()
  const texts = await Promise.all(names.map(async (file) => (await readFile(join(folder, file), 'utf8')).trim()))
  if (typeof license !== 'string' && texts.length === 0)
    throw new Error(`${name} has no license, so it can't be bundled`)
  const declared = typeof license === 'string' ? ` (${license})` : ''
  return { title: `${name} ${version}${declared}`, text: texts.join('\n\n') || `License: ${license}` }
}
