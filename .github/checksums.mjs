// A step of release.yml: gets the checksums that are missing in the lock files from the npm registry. Fails if a
// package still has none, or if anything else in the files changed (SECURITY.md).
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Folders with a lock file: the package, the tools of checks and tests, and the site of the documentation. */
const FOLDERS = ['.', 'src/build/tools', 'docs/site']
const NPM = [
  'install',
  '--package-lock-only',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--omit-lockfile-registry-resolved',
]
const hasChecksum = (entry) => entry?.integrity?.startsWith('sha512-') === true

/** Completes a lock file, and returns the problems of the result. */
function complete(folder) {
  const file = join(folder, 'package-lock.json')
  const read = () => JSON.parse(readFileSync(file, 'utf8'))
  const before = read()
  const paths = Object.keys(before.packages).filter((path) => path !== '')
  const unchecked = paths.filter((path) => !hasChecksum(before.packages[path]))
  const others = Object.entries(before.packages).filter(([path]) => !unchecked.includes(path))
  // npm adds missing packages again, with their checksums, and doesn't change the others.
  writeFileSync(file, `${JSON.stringify({ ...before, packages: Object.fromEntries(others) }, null, 2)}\n`)
  const { status } = spawnSync('npm', NPM, { cwd: folder, stdio: 'inherit' })

  const after = read()
  const isAsBefore = (path) => {
    const [old, now] = [before.packages[path], after.packages[path]]
    return old.version === now?.version && (!hasChecksum(old) || old.integrity === now.integrity)
  }
  process.stdout.write(`${file}: ${paths.length} packages, of which ${unchecked.length} had no checksum before\n`)
  return [
    ...(status === 0 ? [] : [`npm ${NPM.join(' ')} failed`]),
    ...paths.filter((path) => !hasChecksum(after.packages[path])).map((path) => `${path} has no checksum`),
    ...paths.filter((path) => !isAsBefore(path)).map((path) => `${path} has a different version or checksum`),
    ...Object.keys(after.packages)
      .filter((path) => !Object.hasOwn(before.packages, path))
      .map((path) => `${path} is new`),
  ].map((problem) => `${file}: ${problem}`)
}

const problems = FOLDERS.flatMap(complete)
for (const problem of problems) {
  process.stdout.write(`::error title=checksums::nothing is published: ${problem}. See SECURITY.md.\n`)
}
process.exitCode = problems.length === 0 ? 0 : 1
