import { mkdir, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'

/** How long chunks of an earlier build stay: a backend started from it still imports them when first needed. */
const GRACE_MS = 60 * 60 * 1000

/**
 * Puts the files of a build in place so that no process ever sees half of one: chunks carry the hash of their
 * content in their names, so they are added beside the present ones, and `last`, which names them, is renamed over
 * its predecessor at the end. What no build needs any more is removed (`clean`: at once).
 */
export async function publish(files, { outDir, last, clean }) {
  const staging = join(outDir, `.new-${process.pid}`)
  await mkdir(staging, { recursive: true })
  const ordered = [...files].sort((a, b) => Number(a.path === last) - Number(b.path === last))
  for (const [index, { path, contents }] of ordered.entries()) {
    const staged = join(staging, String(index))
    await writeFile(staged, contents)
    await mkdir(dirname(path), { recursive: true })
    await rename(staged, path)
  }
  await rmdir(staging)
  await removeStale(new Set(files.map(({ path }) => relative(outDir, path))), outDir, clean)
}

async function removeStale(current, outDir, clean) {
  const oldest = Date.now() - (clean ? 0 : GRACE_MS)
  for (const name of await readdir(outDir, { recursive: true })) {
    if (current.has(name) || /\.lock(\.\d+)?$/.test(name)) continue
    const found = await stat(join(outDir, name)).catch(() => undefined)
    if (found === undefined || (found.isDirectory() && !name.startsWith('.new-'))) continue
    if (found.mtimeMs <= oldest) await rm(join(outDir, name), { recursive: true, force: true })
  }
}
