// The files of the backend's pages `/` and `/docs`. They are bundled for browsers, named after a hash of their content,
// and compressed as they are served.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { build } from 'esbuild'
import { root } from './paths.mjs'

const from = join(root, 'src/explorer')
const ENTRIES = ['main.tsx', 'theme.ts', 'docs.ts', 'styles/main.css']
const ICON = 'icon.svg'
/** The oldest supported browsers. They support the CSS features in use, which were released in 2023 and 2024. */
export const BROWSERS = ['chrome123', 'firefox121', 'safari17.5']

/**
 * Bundles the page.
 *
 * @returns file names by kind, the files, and the source files that they contain
 */
export async function bundleExplorer() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: ENTRIES.map((name) => join(from, name)),
    outdir: 'out',
    entryNames: '[name]',
    bundle: true,
    minify: true,
    format: 'esm',
    target: BROWSERS,
    legalComments: 'none',
    tsconfig: join(from, 'tsconfig.json'),
    write: false,
    metafile: true,
    logLevel: 'error',
  })
  const found = outputFiles.map(({ path, contents }) => [basename(path), contents])
  found.push([ICON, await readFile(join(from, ICON))])
  const entries = {}
  const files = []
  for (const [name, contents] of found) {
    const hash = createHash('sha256').update(contents).digest('hex').slice(0, 12)
    const hashed = `${basename(name, extname(name))}-${hash}${extname(name)}`
    entries[name] = hashed
    files.push({ name: hashed, contents: await promisify(gzip)(contents, { level: 9 }) })
  }
  return { entries, files, sources: sourcesOf(metafile) }
}

/** Returns the sources of a bundle, from esbuild's metafile. */
function sourcesOf({ outputs }) {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs))
  return inputs.flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [join(root, file)] : []))
}

/** @returns the files for the folder, and the source files that the bundles contain */
export async function explorerFiles(folder) {
  const { entries, files, sources } = await bundleExplorer()
  const assets = files.map(({ name, contents }) => ({ path: join(folder, `${name}.gz`), contents }))
  // The index is written last, because it names the other files.
  const index = { path: join(folder, 'assets.json'), contents: Buffer.from(JSON.stringify(entries)) }
  return { files: [...assets, index], sources }
}
