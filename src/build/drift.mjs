import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'

/** Returns a line for each committed file that differs from its generator's output, or an empty string. */
export async function findDrift(root, { paths, generate, command }) {
  const fresh = await mkdtemp(join(tmpdir(), 'gdn-drift-'))
  try {
    await generate(fresh)
    const [committed, made] = await Promise.all([readAll(root, paths), readAll(fresh, paths)])
    const lines = []
    for (const file of new Set([...committed.keys(), ...made.keys()])) {
      if (!made.has(file)) lines.push(`${file}: is no longer generated`)
      else if (!committed.has(file)) lines.push(`${file}: is missing`)
      else if (!committed.get(file).equals(made.get(file))) lines.push(`${file}: differs`)
    }
    return lines.length === 0 ? '' : `${lines.join('\n')}\nto update these files, run: ${command}`
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

async function readAll(root, paths) {
  const files = new Map()
  for (const path of paths) {
    const found = await stat(join(root, path)).catch(() => undefined)
    const names = found?.isDirectory() ? await readdir(join(root, path), { recursive: true }) : ['']
    for (const name of found === undefined ? [] : names) {
      const full = join(root, path, name)
      if ((await stat(full)).isFile()) files.set(relative(root, full).split(sep).join('/'), await readFile(full))
    }
  }
  return files
}
