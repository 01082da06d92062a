// `node src/build/benchmarks.mjs`: generates the tables of docs/benchmarks.md from bench/figures.json.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { root } from './paths.mjs'

const PAGE = 'docs/benchmarks.md'
const TABLES = /(<!-- generated: figures -->\n).*?(<!-- end -->)/s

/** Writes docs/benchmarks.md with the tables of the recorded figures into a folder. */
export async function generateBenchmarks(dir) {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'bench/page.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
  })
  const { figureTables } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)
  const tables = figureTables(JSON.parse(await readFile(join(root, 'bench/figures.json'), 'utf8')))
  const text = await readFile(join(root, PAGE), 'utf8')
  await mkdir(join(dir, 'docs'), { recursive: true })
  await writeFile(
    join(dir, PAGE),
    text.replace(TABLES, (_, start, end) => `${start}\n${tables}\n\n${end}`),
  )
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await generateBenchmarks(root)
