// `npm run bench [-- part … --long]`: measures gdn against a baseline, and prints each figure with its budget.
// `npm run profile`: prints where a backend under load spends its time.
// Times are shown, never asserted: the exit code is 0 unless a part could not be measured.
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { cachedNode } from '../src/build/cached-package.mjs'
import { root } from '../src/build/paths.mjs'

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
  'postgres',
]

/** The part that only runs by name. */
const PROFILE = 'profile'

/** Bundles the parts next to node_modules, so that native packages are found. */
async function bundle(folder) {
  const { build } = await import('esbuild')
  await build({
    absWorkingDir: root,
    entryPoints: [...PARTS, PROFILE, 'figures', 'manifest-child', 'mock-network'].map((name) =>
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
  const chosen = args.filter((arg) => arg !== '--long')
  const unknown = chosen.filter((part) => ![...PARTS, PROFILE].includes(part))
  if (unknown.length > 0) {
    process.stderr.write(`unknown part ${unknown.join(', ')}: must be one of ${PARTS.join(', ')}\n`)
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
    const { formatFigures } = await load('figures')
    for (const part of chosen.length > 0 ? chosen : PARTS) {
      try {
        const { measure } = await load(part)
        process.stdout.write(`${formatFigures(part, await measure())}\n`)
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
