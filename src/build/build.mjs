// `npm run build`: contracts, then the bundle. `--watch` builds again at every change, `--clean` leaves nothing of
// an earlier build behind.
import { readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { context, build as esbuild } from 'esbuild'
import { docsFiles } from './docs.mjs'
import { explorerFiles } from './explorer.mjs'
import { thirdPartyLicenses } from './licenses.mjs'
import { withLock } from './lock.mjs'
import { pack, planPacks } from './pack.mjs'
import { distDir, root } from './paths.mjs'
import { publish } from './publish.mjs'
import { referenceFiles } from './reference.mjs'
import { defineSheetScript } from './sheet-script.mjs'

/** What carries native code stays a package of its own; see `optionalDependencies`. */
export const NATIVE_PACKAGES = ['libsql', '@foundry-rs/*', 'litesvm-*', '@napi-rs/keyring']

/**
 * Named by `require` in fastify for what we never do: schemas of its own, and requests without a socket. Left out, the
 * backend starts 10 ms sooner. pg names a native driver that isn't installed, and sockets of another platform.
 */
export const UNUSED_PACKAGES = [
  ...['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request'],
  ...['pg-native', 'pg-cloudflare'],
]

/**
 * Bundles the command line into `outDir`, a chunk per lazy import, while other processes may be running from it.
 *
 * @returns the number of files and bytes written, what went where (esbuild's metafile), and the file of each chunk
 */
export async function bundle({ entry = join(root, 'src/cli/main.ts'), outDir = distDir, clean = false } = {}) {
  const result = await esbuild(await bundleOptions(entry, outDir)).catch(() => {
    throw new Error('the bundle failed: the places are named above')
  })
  return await publishResult(result, outDir, clean)
}

async function bundleOptions(entry, outDir) {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  return {
    absWorkingDir: root,
    entryPoints: { main: entry },
    outdir: outDir,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    // Identifiers keep their names: a stack trace from a user can be read without source maps.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    define: { __GDN_VERSION__: JSON.stringify(version), ...(await defineSheetScript()) },
    // Its CommonJS form can't be bundled in parts, and holds all the hashes that there are.
    alias: { 'hash-wasm': 'hash-wasm/dist/index.esm.js' },
    external: [...NATIVE_PACKAGES, ...UNUSED_PACKAGES, 'typescript'],
    write: false,
    metafile: true,
    logLevel: 'error',
  }
}

async function publishResult(result, outDir, clean) {
  const plan = planPacks(result.metafile.outputs)
  const chunks = result.outputFiles.map(({ path, text }) => ({ path: relative(root, path).replaceAll(sep, '/'), text }))
  const files = (await pack(chunks, plan)).map(({ name, text }) => ({
    path: join(outDir, name),
    contents: Buffer.from(text),
  }))
  const explorer = await explorerFiles(join(outDir, 'explorer'))
  const licenses = Buffer.from(await thirdPartyLicenses([result.metafile, explorer.metafile]))
  files.push({ path: join(outDir, 'THIRD_PARTY_LICENSES.txt'), contents: licenses })
  files.push(...explorer.files, ...(await docsFiles(join(outDir, 'docs'))), ...(await referenceFiles(outDir)))
  await publish(files, { outDir, last: join(outDir, 'main.cjs'), clean })
  const bytes = files.reduce((sum, { contents }) => sum + contents.length, 0)
  return { files: files.length, bytes, metafile: result.metafile, plan }
}

async function compile() {
  const { compileContracts } = await import('./contracts.mjs')
  await compileContracts()
}

/** Contracts and bundle, one process at a time. Returns the line to show. */
export async function build({ clean = false } = {}) {
  const start = performance.now()
  return await withLock(join(distDir, '.lock'), async () => {
    await compile()
    return summary(await bundle({ clean }), start)
  })
}

function summary({ files, bytes }, start) {
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  return `built dist: ${files} files, ${(bytes / 1e6).toFixed(1)} MB, in ${seconds} s`
}

async function watch() {
  await compile()
  const options = await bundleOptions(join(root, 'src/cli/main.ts'), distDir)
  const onEnd = async (result) => {
    const start = performance.now()
    if (result.errors.length === 0) say(summary(await publishResult(result, distDir, false), start))
  }
  const plugin = { name: 'publish', setup: (builder) => builder.onEnd(onEnd) }
  await (await context({ ...options, plugins: [plugin] })).watch()
}

function say(line) {
  process.stderr.write(`${line}\n`)
}

async function fromCommandLine(flags) {
  if (flags.includes('--watch')) await watch()
  else say(await build({ clean: flags.includes('--clean') }))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await fromCommandLine(process.argv.slice(2)).catch((error) => {
    say(error.message)
    process.exitCode = 1
  })
}
