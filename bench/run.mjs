// `npm run bench [-- part … | --all] [--long] [--write]`: measures gdn against a baseline, and prints each figure with
// its budget once it is measured. `--write` records the figures in bench/figures.json and generates docs/benchmarks.md.
// `npm run profile`: prints where a backend under load spends its time. Times are shown, never asserted: the exit code
// is 0 unless a part could not be measured.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { generateBenchmarks } from '../src/build/benchmarks.mjs'
import { cachedNode } from '../src/build/cached-package.mjs'
import { root } from '../src/build/paths.mjs'
import { run } from '../src/build/run.mjs'

const PARTS = [
  'gas',
  'start',
  'throughput',
  'memory',
  'cli',
  'executable',
  'reads',
  'api',
  'references',
  'manifest',
  'batch',
  'solana',
  'network',
  'storage',
  'uploads',
  'explorer',
  'explorer-postgres',
  'gallery',
  'holders',
  'postgres',
  'art',
]

const FLAGS = ['--all', '--long', '--write']
const RECORD = join(root, 'bench/figures.json')

/** The part that only runs by name. */
const PROFILE = 'profile'

/** Bundles the parts next to node_modules, so that native packages are found. */
async function bundle(folder) {
  const { build } = await import('esbuild')
  await build({
    absWorkingDir: root,
    entryPoints: [...PARTS, PROFILE, 'figures', 'record', 'manifest-child', 'mock-network'].map((name) =>
      join(root, 'bench', `${name}.ts`),
    ),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    packages: 'external',
    // As in the package: its CommonJS form has all hash functions.
    alias: { 'hash-wasm': join(root, 'node_modules/hash-wasm/dist/index.esm.js') },
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'error',
  })
}

async function main(args) {
  const chosen = args.filter((arg) => !FLAGS.includes(arg))
  const unknown = chosen.filter((part) => ![...PARTS, PROFILE].includes(part))
  if (unknown.length > 0) {
    process.stderr.write(`unknown part ${unknown.join(', ')}: must be one of ${PARTS.join(', ')}\n`)
    return 2
  }
  const writes = args.includes('--write')
  if (writes && (await run('git', ['status', '--porcelain'], { cwd: root })).output !== '') {
    process.stderr.write('--write: the figures would belong to no commit, because there are uncommitted changes\n')
    return 2
  }
  const { ensureInstalled } = await import('../src/build/setup.mjs')
  await ensureInstalled()
  if (process.env.GDN_BENCH_BIN === undefined) {
    const { build } = await import('../src/build/build.mjs')
    process.stderr.write(`${await build()}\n`)
  }
  const version = process.env.GDN_BENCH_NODE
  if (/^\d/.test(version ?? '')) process.env.GDN_BENCH_NODE = await cachedNode(version)
  process.chdir(root)
  const folder = join(root, 'node_modules', '.cache', `gdn-bench-${process.pid}`)
  await mkdir(folder, { recursive: true })
  let failed = false
  try {
    await bundle(folder)
    const load = (name) => import(pathToFileURL(join(folder, `${name}.mjs`)).href)
    const { formatHeading, report } = await load('figures')
    const { newMeasurement, record } = await load('record')
    let measurements = [newMeasurement(), ...JSON.parse(await readFile(RECORD, 'utf8'))]
    for (const part of chosen.length > 0 ? chosen : PARTS) {
      try {
        const { measure } = await load(part)
        process.stdout.write(formatHeading(part))
        const since = performance.now()
        const figures = report(await measure())
        const seconds = Math.round((performance.now() - since) / 1000)
        process.stdout.write(`${part} took ${seconds} s\n\n`)
        if (!writes) continue
        measurements = record(measurements, part, figures, seconds)
        await writeFile(RECORD, `${JSON.stringify(measurements, null, 2)}\n`)
        await generateBenchmarks(root)
      } catch (error) {
        failed = true
        process.stderr.write(`${part} could not be measured: ${error.stack}\n`)
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return failed ? 1 : 0
}

process.exitCode = await main(process.argv.slice(2))
