// `node src/build/benchmarks.mjs`: generates the tables of figures in README.md and docs/ from bench/figures.json.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { root } from './paths.mjs'

/** Hand-written pages with tables of figures. */
export const PAGES = ['README.md', 'docs/benchmarks.md', 'docs/install.md']
const EXPORTS = "export { figureTables } from './page.ts'; export { quotedTables } from './quoted.ts'"
const TABLE = /(<!-- generated: ([a-z]+) -->\n).*?(<!-- end -->)/gs

/** Writes the pages, including the tables of recorded figures, to a folder. */
export async function generateBenchmarks(dir) {
  const { outputFiles } = await build({
    stdin: { contents: EXPORTS, resolveDir: join(root, 'bench') },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
  })
  const { figureTables, quotedTables } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)
  const measurements = JSON.parse(await readFile(join(root, 'bench/figures.json'), 'utf8'))
  const tables = { figures: figureTables(measurements), ...quotedTables(measurements) }
  await mkdir(join(dir, 'docs'), { recursive: true })
  for (const page of PAGES) {
    const text = await readFile(join(root, page), 'utf8')
    await writeFile(
      join(dir, page),
      text.replaceAll(TABLE, (_, start, name, end) => `${start}\n${tables[name]}\n\n${end}`),
    )
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await generateBenchmarks(root)
