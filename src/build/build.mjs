// `npm run build`: compiles the contracts, reads the facts of networks, then bundles. `--watch` rebuilds at every change. `--clean` removes
// everything of earlier builds.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown, watch as watchSources } from 'rolldown'
import { chunkGroups } from './chunks.mjs'
import { docsFiles } from './docs.mjs'
import { explorerFiles } from './explorer.mjs'
import { thirdPartyLicenses } from './licenses.mjs'
import { withLock } from './lock.mjs'
import { distDir, root } from './paths.mjs'
import { publish } from './publish.mjs'
import { manPageFile } from './reference.mjs'
import { defineSheetScript } from './sheet-script.mjs'

/** Packages with native code are not bundled; see `optionalDependencies`. */
export const NATIVE_PACKAGES = ['libsql', '@foundry-rs/*', 'litesvm-*', '@napi-rs/keyring']

/**
 * fastify requires these for features that we don't use: custom schemas, and requests without a socket. Without them
 * the backend starts 10 ms sooner. pg requires a native driver that isn't installed, and sockets of another platform.
 */
export const UNUSED_PACKAGES = [
  ...['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request'],
  ...['pg-native', 'pg-cloudflare'],
]

/**
 * `help` and `run` are groups that commands load. Rolldown assigns the exports of an entry, but defines a getter for each
 * export of any other file, which takes a millisecond for all of these.
 */
const INPUT = {
  main: join(root, 'src/cli/main.ts'),
  help: join(root, 'src/cli/help/root-help.ts'),
  run: join(root, 'src/cli/process.ts'),
}

/** CommonJS, because loading ES modules on Node 20 adds a quarter of the start time of bare node to a command. */
const OUTPUT = {
  format: 'cjs',
  entryFileNames: ({ name }) => (name === 'main' ? '[name].cjs' : 'chunks/[name]-[hash].cjs'),
  chunkFileNames: 'chunks/[name]-[hash].cjs',
  dynamicImportInCjs: false,
  codeSplitting: { groups: chunkGroups },
  // Functions, classes and what is global to a file keep their names, so that a user's stack trace is readable without
  // source maps. Names inside functions would take a sixth of the bytes that a command loads.
  minify: { compress: true, mangle: { toplevel: false, keepNames: true }, codegen: true },
  comments: false,
  charset: 'ascii',
}

/**
 * Bundles the command line into `outDir`, with a chunk per lazy import. Other processes may be running from it.
 *
 * @returns the number of files and bytes written, and Rolldown's chunks
 */
export async function bundle({ outDir = distDir, clean = false } = {}) {
  const build = await rolldown(await inputOptions())
  try {
    return await publishOutput(await build.generate(OUTPUT), outDir, clean)
  } finally {
    await build.close()
  }
}

async function inputOptions() {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  return {
    cwd: root,
    input: INPUT,
    platform: 'node',
    tsconfig: false,
    transform: {
      target: 'node20.19',
      define: { __GDN_VERSION__: JSON.stringify(version), ...(await defineSheetScript()) },
    },
    plugins: [ownCopy('zod/mini')],
    // Its CommonJS form can't be split, and has all hash functions.
    resolve: { alias: { 'hash-wasm': 'hash-wasm/dist/index.esm.js' } },
    external: [...NATIVE_PACKAGES, ...UNUSED_PACKAGES, 'typescript'].map(
      (name) => new RegExp(`^${name.replace('*', '[^/]+')}(?:/|$)`),
    ),
    // Other chunks may import from the entry, because they load it anyway.
    preserveEntrySignatures: 'allow-extension',
    // Modules that are imported both lazily and directly are in one of the groups.
    checks: { ineffectiveDynamicImport: false },
  }
}

/**
 * Gives an entry of a package its own copy of the package's modules. A module is bundled with all that its importers
 * use, which is 84 kB for zod, and 20 kB for what uses zod/mini. Zod's schemas work together with those of a copy.
 */
function ownCopy(entry) {
  const mark = `?${entry}`
  return {
    name: 'own-copy',
    async resolveId(source, importer) {
      if (source !== entry && !importer?.endsWith(mark)) return null
      const found = await this.resolve(source, importer?.replace(mark, ''), { skipSelf: true })
      return { ...found, id: found.id + mark }
    },
    load: (id) => (id.endsWith(mark) ? readFile(id.replace(mark, ''), 'utf8') : null),
  }
}

async function publishOutput({ output }, outDir, clean) {
  const chunks = output.filter(({ type }) => type === 'chunk')
  const files = chunks.map(({ fileName, code }) => ({ path: join(outDir, fileName), contents: Buffer.from(code) }))
  const explorer = await explorerFiles(join(outDir, 'explorer'))
  const licenses = Buffer.from(await thirdPartyLicenses([...sourcesOf(chunks), ...explorer.sources]))
  files.push({ path: join(outDir, 'THIRD_PARTY_LICENSES.txt'), contents: licenses })
  files.push(...explorer.files, ...(await docsFiles(join(outDir, 'docs'))), await manPageFile(outDir))
  await publish(files, { outDir, last: join(outDir, 'main.cjs'), clean })
  const bytes = files.reduce((sum, { contents }) => sum + contents.length, 0)
  return { files: files.length, bytes, chunks }
}

/** The source files whose code the chunks contain. */
function sourcesOf(chunks) {
  const modules = chunks.flatMap((chunk) => Object.entries(chunk.modules))
  return modules.flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : []))
}

async function compile() {
  const { compileContracts } = await import('./contracts.mjs')
  const { generateChains } = await import('./chains.mjs')
  await compileContracts()
  await generateChains()
}

/** Builds contracts, facts of networks and bundle, in one process at a time. Returns a summary line. */
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

/** Rolldown's watcher only triggers builds, because it returns no output to publish. */
async function watch() {
  await compile()
  const options = await inputOptions()
  const watcher = watchSources({ ...options, output: OUTPUT, watch: { skipWrite: true } })
  watcher.on('event', async (event) => {
    if (event.code === 'ERROR') say(event.error.message)
    if (event.code !== 'BUNDLE_END') return
    await event.result.close()
    const start = performance.now()
    say(summary(await bundle(), start))
  })
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
