import { mkdir, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'

/** Time in milliseconds for which chunks of an earlier build are kept. A backend of that build imports them lazily. */
const GRACE_MS = 60 * 60 * 1000

/**
 * Publishes the files of a build so that no process loads a partial build. Chunks have a content hash in their names,
 * so they are added next to the existing ones. `last` names the chunks, and replaces its predecessor at the end with a
 * rename. Old files are removed later, immediately if `clean` is true, or never if `clean` is 'keep'.
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
  if (clean !== 'keep') await removeStale(new Set(files.map(({ path }) => relative(outDir, path))), outDir, clean)
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
