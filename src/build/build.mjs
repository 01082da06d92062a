// `npm run build`: compiles the contracts, generates sources and bundles the program. `--watch` rebuilds after each
// change. `--clean` removes the files of earlier builds.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown, watch as watchSources } from 'rolldown'
import { generateChains } from './chains.mjs'
import { chunkGroups } from './chunks.mjs'
import { declarationFiles, LIB_ENTRIES } from './declarations.mjs'
import { docsFiles } from './docs.mjs'
import { explorerFiles } from './explorer.mjs'
import { thirdPartyLicenses } from './licenses.mjs'
import { withLock } from './lock.mjs'
import { distDir, root } from './paths.mjs'
import { publish } from './publish.mjs'
import { manPageFile, schemaFiles } from './reference.mjs'
import { defineSheetScript } from './sheet-script.mjs'

/** Packages with native code. They aren't bundled (see `optionalDependencies`). */
export const NATIVE_PACKAGES = ['libsql', '@foundry-rs/*', 'litesvm-*', '@napi-rs/keyring', 'sharp']

/**
 * Packages that aren't bundled, because gdn doesn't use the code that requires them. fastify requires its packages for
 * custom schemas and for requests without a socket. Without them, the backend starts 10 ms sooner. pg requires a native
 * driver that isn't installed, and sockets for another platform.
 */
export const UNUSED_PACKAGES = [
  ...['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request'],
  ...['pg-native', 'pg-cloudflare'],
]

/**
 * The entries of the program. `help` and `run` are groups that commands load. They are entries, because Rolldown
 * defines a getter for each export of any other file. These getters would take a millisecond in total.
 */
const INPUT = {
  main: join(root, 'src/cli/main.ts'),
  help: join(root, 'src/cli/help/root-help.ts'),
  run: join(root, 'src/cli/process.ts'),
  'art-worker': join(root, 'src/art/generate/worker.ts'),
}

/** The typed client, which shares no files with the command line. */
const LIB_INPUT = Object.fromEntries(LIB_ENTRIES.map((name) => [name, join(root, 'src/lib', `${name}.ts`)]))

/**
 * Functions, classes and globals of a file keep their names, so that stack traces are readable without source maps.
 * Names inside functions are shortened. They would be a sixth of the bytes that a command loads.
 */
const SMALL = {
  minify: { compress: true, mangle: { toplevel: false, keepNames: true }, codegen: true },
  comments: false,
  charset: 'ascii',
}

/**
 * The format is CommonJS. On Node.js 20, loading ES modules would add a quarter of Node.js's own start time to a
 * command.
 */
const OUTPUT = {
  format: 'cjs',
  entryFileNames: ({ name }) => (name === 'main' || name === 'art-worker' ? '[name].cjs' : 'chunks/[name]-[hash].cjs'),
  chunkFileNames: 'chunks/[name]-[hash].cjs',
  dynamicImportInCjs: false,
  codeSplitting: { groups: chunkGroups },
  ...SMALL,
}

const LIB_OUTPUT = {
  format: 'esm',
  entryFileNames: 'lib/[name].js',
  chunkFileNames: 'lib/chunks/[name]-[hash].js',
  ...SMALL,
  // Node.js prints the source line of an uncaught error, so that line must be readable.
  minify: false,
}

/**
 * Bundles the command line and the typed client into `outDir`. The two share no files. Other processes may run files in
 * `outDir` during the build.
 *
 * @param programOnly whether to skip the files that gdn itself doesn't read: the typed client, the man page and the
 * schemas
 * @returns the number of files and bytes written, and Rolldown's chunks
 */
export async function bundle({ outDir = distDir, clean = false, programOnly = false } = {}) {
  const [cli, lib, others] = await Promise.all([
    // Other chunks may import from an entry of the command line, because they load it anyway.
    chunksOf(INPUT, OUTPUT, 'allow-extension'),
    programOnly ? [] : chunksOf(LIB_INPUT, LIB_OUTPUT, 'strict'),
    programOnly ? [] : filesForOthers(outDir),
  ])
  return await publishOutput({ cli, lib, others }, outDir, programOnly ? 'keep' : clean)
}

/** Returns the files that only editors, compilers and `man` read. */
async function filesForOthers(outDir) {
  const declarations = await declarationFiles(join(outDir, 'types'))
  return [...declarations, await manPageFile(outDir), ...(await schemaFiles(outDir))]
}

async function chunksOf(input, output, preserveEntrySignatures) {
  const build = await rolldown(await inputOptions(input, preserveEntrySignatures))
  try {
    const generated = await build.generate(output)
    return generated.output.filter(({ type }) => type === 'chunk')
  } finally {
    await build.close()
  }
}

async function inputOptions(input = INPUT, preserveEntrySignatures = 'strict') {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  return {
    cwd: root,
    input,
    platform: 'node',
    tsconfig: false,
    transform: {
      target: 'node20.19',
      define: { __GDN_VERSION__: JSON.stringify(version), ...(await defineSheetScript()) },
    },
    plugins: [ownCopy('zod/mini'), ownWidthInOra],
    // The CommonJS form of hash-wasm can't be split, and contains all hash functions.
    resolve: { alias: { 'hash-wasm': 'hash-wasm/dist/index.esm.js' } },
    external: [...NATIVE_PACKAGES, ...UNUSED_PACKAGES, 'typescript'].map(
      (name) => new RegExp(`^${name.replace('*', '[^/]+')}(?:/|$)`),
    ),
    preserveEntrySignatures,
    // Turn this warning off. Modules that are imported both lazily and directly belong to a group.
    checks: { ineffectiveDynamicImport: false },
  }
}

/**
 * Bundles an entry of a package with its own copy of the package's modules. A shared copy contains the exports that any
 * importer uses: 84 kB of zod, instead of 20 kB for users of zod/mini. Schemas from different copies work together.
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

/**
 * Replaces string-width in ora, which measures each frame of the spinner. string-width takes 70 ms of CPU time for the
 * first text that isn't ASCII, such as a frame.
 */
const ownWidthInOra = {
  name: 'own-width-in-ora',
  resolveId: (source, importer) => (source === 'string-width' && /[/\\]ora[/\\]/.test(importer) ? source : null),
  load: (id) =>
    id === 'string-width'
      ? `export { displayWidth as default } from ${JSON.stringify(join(root, 'src/cli/text/display-width.ts'))}`
      : null,
}

async function publishOutput({ cli, lib, others }, outDir, clean) {
  // Each entry follows the chunks that it imports.
  const chunks = [...cli, ...lib.toSorted((a, b) => Number(a.isEntry) - Number(b.isEntry))]
  const files = chunks.map(({ fileName, code }) => ({ path: join(outDir, fileName), contents: Buffer.from(code) }))
  const explorer = await explorerFiles(join(outDir, 'explorer'))
  const licenses = Buffer.from(await thirdPartyLicenses([...sourcesOf(chunks), ...explorer.sources]))
  files.push({ path: join(outDir, 'THIRD_PARTY_LICENSES.txt'), contents: licenses })
  files.push(...explorer.files, ...(await docsFiles(join(outDir, 'docs'))), ...others)
  await publish(files, { outDir, last: join(outDir, 'main.cjs'), clean })
  const bytes = files.reduce((sum, { contents }) => sum + contents.length, 0)
  return { files: files.length, bytes, chunks: cli, lib }
}

/** The source files whose code the chunks contain. */
function sourcesOf(chunks) {
  const modules = chunks.flatMap((chunk) => Object.entries(chunk.modules))
  return modules.flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : []))
}

async function compile({ programOnly = false } = {}) {
  const { compileContracts } = await import('./contracts.mjs')
  await compileContracts()
  await generateChains()
  if (programOnly) return
  const { generateClientTypes } = await import('./client-types.mjs')
  await generateClientTypes()
}

/**
 * Builds the contracts, the generated sources and the bundle. Only one process builds at a time. Returns a summary
 * line.
 *
 * @param options the options of `bundle()`
 */
export async function build(options = {}) {
  const start = performance.now()
  return await withLock(join(distDir, '.lock'), async () => {
    await compile(options)
    return summary(await bundle(options), start)
  })
}

function summary({ files, bytes }, start) {
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  return `built dist: ${files} files, ${(bytes / 1e6).toFixed(1)} MB, in ${seconds} s`
}

/** Rebuilds after each change. Rolldown's watcher only triggers builds, because it returns no output to publish. */
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
