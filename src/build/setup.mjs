// Prepares a fresh clone for tests: installs the packages of the lock files, then builds.
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { install, isInstalled } from './install.mjs'
import { withLock } from './lock.mjs'
import { distDir, root, toolsDir } from './paths.mjs'

/**
 * Installs packages and builds, without the programs that only checks and tests use.
 *
 * @param say called with one line for each step that takes time
 * @param options the options of `build()`
 */
export async function setUp(say = toStderr, options = {}) {
  await ensureInstalled(say)
  const { build } = await import('./build.mjs')
  say(await build(options))
}

/** Installs all packages and builds. */
export async function setUpForTests() {
  await ensureTools()
  await setUp()
}

/** Installs gdn's packages, and the tools of checks and tests, unless they are installed. */
export async function ensureTools(say = toStderr) {
  await ensureInstalled(say)
  await ensureInstalled(say, toolsDir)
}

/** Installs the packages of a folder's package-lock.json unless they are installed. */
export async function ensureInstalled(say, folder = root) {
  await withLock(join(distDir, '.setup.lock'), async () => {
    if (await isInstalled(folder)) return
    const where = relative(root, folder)
    say(`installing packages (npm ci --ignore-scripts${where === '' ? '' : ` in ${where}`})`)
    await install(folder)
  })
}

function toStderr(line) {
  process.stderr.write(`${line}\n`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await setUpForTests().catch((error) => {
    toStderr(error.message)
    process.exitCode = 1
  })
}
