import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { build as esbuild } from 'esbuild'
import { root } from './paths.mjs'

/** What `gdn help --json` prints from these sources: completions, man page and reference are made of it. */
export async function readCommandTree() {
  const cache = join(root, 'node_modules', '.cache')
  await mkdir(cache, { recursive: true })
  // Below node_modules, so that the packages are found.
  const folder = await mkdtemp(join(cache, 'gdn-tree-'))
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
      plugins: [WITHOUT_SERVER],
      logLevel: 'error',
    })
    const { run } = await import(pathToFileURL(join(folder, 'run.mjs')).href)
    return JSON.parse(await printed(run, ['help', '--json']))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Commands import it when they run; here none does. */
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
    program: { node: process.execPath, script: '' },
    signals,
  })
  if (code !== 0) throw new Error(`gdn ${argv.join(' ')} ended with ${code}`)
  return text
}
