import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { build as esbuild } from 'esbuild'
import { root } from './paths.mjs'

/**
 * Returns the output of `gdn help --json` for the current sources. The completions, the man page and the reference are
 * generated from this output.
 */
export const readCommandTree = () => withCommandLine((json) => json('help'))

/** Returns the command tree, and every help topic in full. */
export const readHelp = () =>
  withCommandLine(async (json) => {
    const tree = await json('help')
    const topics = []
    for (const { name } of tree.topics) topics.push(await json('help', name))
    return { tree, topics }
  })

/** Returns the JSON Schemas by name. */
export const readSchemas = () =>
  withCommandLine(async (json) => {
    const schemas = []
    for (const { name } of await json('schema')) schemas.push([name, await json('schema', name)])
    return schemas
  })

/** @param work receives a function that runs a command line of these sources with --json and parses its output */
async function withCommandLine(work) {
  const cache = join(root, 'node_modules', '.cache')
  await mkdir(cache, { recursive: true })
  // Use a folder below node_modules, so that Node.js finds the packages.
  const folder = await mkdtemp(join(cache, 'gdn-tree-'))
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  try {
    await esbuild({
      absWorkingDir: root,
      entryPoints: { run: join(root, 'src/cli/run.ts') },
      outdir: folder,
      bundle: true,
      splitting: true,
      format: 'esm',
      outExtension: { '.js': '.mjs' },
      platform: 'node',
      target: 'node20.19',
      packages: 'external',
      define: { __GDN_VERSION__: JSON.stringify(version) },
      plugins: [WITHOUT_SERVER],
      logLevel: 'error',
    })
    const { run } = await import(pathToFileURL(join(folder, 'run.mjs')).href)
    return await work(async (...argv) => JSON.parse(await printed(run, [...argv, '--json'])))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Excludes the files directly in `server`, because commands import them only when they start or open a backend. */
const WITHOUT_SERVER = {
  name: 'without-server',
  setup: (build) => build.onResolve({ filter: /\/server\/[^/]+\.ts$/ }, ({ path }) => ({ path, external: true })),
}

async function printed(run, argv) {
  let text = ''
  const stdout = { write: (chunk) => (text += chunk) }
  const { signal } = new AbortController()
  const signals = { signal, again: signal, own: () => {}, instead: () => {}, release: () => {} }
  const code = await run(argv, {
    env: {},
    cwd: root,
    stdin: Readable.from([]),
    stdout,
    stderr: { write: (chunk) => process.stderr.write(chunk) },
    program: [process.execPath, ''],
    signals,
  })
  if (code !== 0) throw new Error(`gdn ${argv.join(' ')} exited with ${code}`)
  return text
}
