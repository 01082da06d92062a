// Prepares a fresh clone: installs the packages of the lock file, then builds.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { install, isInstalled } from './install.mjs'
import { withLock } from './lock.mjs'
import { distDir, root } from './paths.mjs'

/** @param say called with one line for each step that takes time */
export async function setUp(say = toStderr) {
  await ensureInstalled(say)
  const { build } = await import('./build.mjs')
  say(await build())
}

/** Installs the packages of package-lock.json unless they are installed. */
export async function ensureInstalled(say = toStderr) {
  await withLock(join(distDir, '.setup.lock'), async () => {
    if (await isInstalled(root)) return
    say('installing packages (npm ci --ignore-scripts)')
    await install(root)
  })
}

function toStderr(line) {
  process.stderr.write(`${line}\n`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await setUp().catch((error) => {
    toStderr(error.message)
    process.exitCode = 1
  })
}
