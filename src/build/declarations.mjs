import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { root } from './paths.mjs'
import { run } from './run.mjs'

/** The modules that users import. */
export const LIB_ENTRIES = ['index', 'testing']

/**
 * Returns the declaration files of the typed client: its entries and the files that they import.
 *
 * @param outDir the folder to which the files will be published
 */
export async function declarationFiles(outDir) {
  const cache = join(root, 'node_modules', '.cache')
  await mkdir(cache, { recursive: true })
  const emitted = await mkdtemp(join(cache, 'gdn-declarations-'))
  try {
    const tsc = join(root, 'node_modules', '.bin', 'tsc')
    const { code, output } = await run(tsc, ['-p', join(root, 'src/lib'), '--outDir', emitted])
    if (code !== 0) throw new Error(output)
    const files = new Map()
    for (const entry of LIB_ENTRIES) await collect(join(emitted, 'lib', `${entry}.d.ts`), files)
    return [...files].map(([path, text]) => ({
      path: join(outDir, relative(emitted, path)),
      contents: Buffer.from(text),
    }))
  } finally {
    await rm(emitted, { recursive: true, force: true })
  }
}

/** A reference for users whose `lib` setting is older. In the source, it would apply to the whole repository. */
const DISPOSABLE = '/// <reference lib="esnext.disposable" />\n'

const RELATIVE = /(from ')(\.[^']+)\.ts(?=')/g

async function collect(path, files) {
  if (files.has(path)) return
  const text = await readFile(path, 'utf8')
  // TypeScript 7 keeps the file extensions of imports, such as `.ts`.
  files.set(path, (text.includes('Symbol.asyncDispose') ? DISPOSABLE : '') + text.replaceAll(RELATIVE, '$1$2.js'))
  for (const [, , specifier] of text.matchAll(RELATIVE)) await collect(join(dirname(path), `${specifier}.d.ts`), files)
}
