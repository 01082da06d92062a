// `npm run build`: contracts, then the bundle. `--watch` builds again at every change, `--clean` leaves nothing of
// an earlier build behind.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { context, build as esbuild } from 'esbuild'
import { coalesce } from './coalesce.mjs'
import { toCommonJs } from './common-js.mjs'
import { docsFiles } from './docs.mjs'
import { thirdPartyLicenses } from './licenses.mjs'
import { withLock } from './lock.mjs'
import { distDir, root } from './paths.mjs'
import { publish } from './publish.mjs'
import { referenceFiles } from './reference.mjs'

/** What carries native code stays a package of its own; see `optionalDependencies`. */
export const NATIVE_PACKAGES = ['libsql', '@foundry-rs/*', 'litesvm-*', '@napi-rs/keyring']

/**
 * Named by `require` in fastify for what we never do: schemas of its own, and requests without a socket. Left out, the
 * backend starts 10 ms sooner.
 */
export const UNUSED_PACKAGES = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request']

/**
 * Bundles the command line into `outDir`, a chunk per lazy import, while other processes may be running from it.
 *
 * @returns the number of files and bytes written, and what went where (esbuild's metafile)
 */
export async function bundle({ entry = join(root, 'src/cli/main.ts'), outDir = distDir, clean = false } = {}) {
  const options = await bundleOptions(entry, outDir)
  const build = (plugins) =>
    esbuild({ ...options, plugins }).catch(() => {
      throw new Error('the bundle failed: the places are named above')
    })
  const { metafile } = await build([])
  const result = await build([coalesce(metafile)])
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
    define: { __GDN_VERSION__: JSON.stringify(version) },
    // Its CommonJS form can't be bundled in parts, and holds all the hashes that there are.
    alias: { 'hash-wasm': 'hash-wasm/dist/index.esm.js' },
    external: [...NATIVE_PACKAGES, ...UNUSED_PACKAGES, 'typescript'],
    write: false,
    metafile: true,
    logLevel: 'error',
  }
}

async function publishResult(result, outDir, clean) {
  const files = await Promise.all(
    result.outputFiles.map(async ({ path, text }) => ({ path, contents: Buffer.from(await toCommonJs(text)) })),
  )
  files.push({ path: join(outDir, 'package.json'), contents: Buffer.from('{"type":"commonjs"}\n') })
  const licenses = Buffer.from(await thirdPartyLicenses(result.metafile))
  files.push({ path: join(outDir, 'THIRD_PARTY_LICENSES.txt'), contents: licenses })
  files.push(...(await docsFiles(join(outDir, 'docs'))), ...(await referenceFiles(outDir)))
  await publish(files, { outDir, last: join(outDir, 'main.js'), clean })
  const bytes = files.reduce((sum, { contents }) => sum + contents.length, 0)
  return { files: files.length, bytes, metafile: result.metafile }
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
