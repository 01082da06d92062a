import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

const SERVER = ['http', 'services', 'store', 'pipeline', 'chain/evm'].map((room) => `server/${room}`)
const TARGETS = [
  'core',
  'api',
  'client',
  'config',
  'files',
  'manifest',
  'keystore',
  'wallet',
  'batch',
  'cli',
  'server',
  ...SERVER,
]

const BELOW_CLI = ['core', 'api', 'client', 'config', 'files', 'manifest', 'keystore', 'wallet', 'batch']
const BELOW_SERVER = [
  'core',
  'api',
  'files',
  'keystore',
  'server',
  'server/store',
  'server/pipeline',
  'server/chain/evm',
]

/** What each folder may import of ours, beside itself. */
const ALLOWED: Record<string, readonly string[]> = {
  core: [],
  api: ['core'],
  client: ['core', 'api', 'files'],
  config: ['core', 'api'],
  files: ['core', 'api'],
  manifest: ['core', 'api', 'files'],
  keystore: ['core'],
  wallet: ['core', 'api', 'client', 'keystore'],
  batch: ['core', 'api', 'client', 'manifest'],
  cli: BELOW_CLI,
  'cli/commands/nft': [...BELOW_CLI, 'cli'],
  'cli/commands/local': [...BELOW_CLI, 'cli', 'server', ...SERVER],
  'server/http': [...BELOW_SERVER, 'server/services'],
  'server/services': BELOW_SERVER,
  'server/pipeline': [...BELOW_SERVER, 'server/services'],
  'server/store': BELOW_SERVER,
  'server/chain/evm': BELOW_SERVER,
  'server/storage': BELOW_SERVER,
}

const pairs = Object.keys(ALLOWED).flatMap((from) => TARGETS.map((to) => [from, to] as const))

const probe = (from: string, to: string) => `src/${from}/imports-${to.replaceAll('/', '-')}.ts`

interface Report {
  diagnostics: { category: string; severity: string; location: { path: string | { file: string } } }[]
}

let folder: string
let faults: Map<string, Set<string>>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-directions-'))
  for (const name of ['biome.json', '.gitignore']) await copyFile(join(root, name), join(folder, name))
  for (const to of TARGETS) await write(`src/${to}/target.ts`, 'export const target = 1\n')
  for (const [from, to] of pairs) {
    const specifier = relative(`src/${from}`, `src/${to}/target.ts`)
    const path = specifier.startsWith('.') ? specifier : `./${specifier}`
    await write(probe(from, to), `import { target } from '${path}'\n\nexport const used = target\n`)
  }
  await write('src/core/lazy.ts', "export const lazy = () => import('../server/target.ts')\n")
  await write(
    'src/core/type.ts',
    "import type { target } from '../client/target.ts'\n\nexport type T = typeof target\n",
  )
  for (const place of ['core', 'server/services', 'server/chain/evm', 'cli']) {
    await write(`src/${place}/pid.ts`, 'export const pid = process.pid\n')
    await write(`src/${place}/env.ts`, 'export const home = process.env.HOME\n')
  }
  await write('src/core/first.ts', "import { second } from './second.ts'\n\nexport const first = () => second\n")
  await write('src/core/second.ts', "import { first } from './first.ts'\n\nexport const second = () => first\n")
  await write('src/core/type-a.ts', "import type { B } from './type-b.ts'\n\nexport type A = B | 1\n")
  await write('src/core/type-b.ts', "import type { A } from './type-a.ts'\n\nexport type B = A | 2\n")
  faults = await lint()
})

afterAll(() => rm(folder, { recursive: true, force: true }))

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), text)
}

async function lint(): Promise<Map<string, Set<string>>> {
  const biome = join(root, 'node_modules/@biomejs/biome/bin/biome')
  const args = ['lint', '--reporter=json', '--max-diagnostics=none', 'src']
  const { stdout } = await execa(process.execPath, [biome, ...args], { cwd: folder, reject: false })
  const found = new Map<string, Set<string>>()
  for (const { category, severity, location } of (JSON.parse(stdout) as Report).diagnostics) {
    const path = typeof location.path === 'string' ? location.path : location.path.file
    if (severity === 'error') found.set(path, (found.get(path) ?? new Set()).add(category))
  }
  return found
}

const isRefused = (path: string) => faults.get(path)?.has('lint/style/noRestrictedImports') ?? false

describe('imports run one way', () => {
  test.each(Object.entries(ALLOWED))('src/%s imports only what lies below it', (from, allowed) => {
    const refused = TARGETS.filter((to) => isRefused(probe(from, to)))
    expect(refused).toEqual(TARGETS.filter((to) => to !== from && !allowed.includes(to)))
  })

  test('a lazy import and a type import count as well', () => {
    expect(isRefused('src/core/lazy.ts')).toBe(true)
    expect(isRefused('src/core/type.ts')).toBe(true)
  })

  test('only the command line reads the environment, and nothing of the rules touches the process', () => {
    const refused = (rule: string) => (path: string) => faults.get(path)?.has(`lint/style/${rule}`) ?? false
    const probes = (name: string) =>
      ['core', 'server/services', 'server/chain/evm', 'cli'].map((to) => `src/${to}/${name}`)
    expect(probes('env.ts').map(refused('noProcessEnv'))).toEqual([true, true, true, false])
    expect(probes('pid.ts').map(refused('noRestrictedGlobals'))).toEqual([true, true, false, false])
  })

  test.each(['first.ts', 'type-a.ts'])('rejects a circle of imports, types included: %s', (file) => {
    expect(faults.get(`src/core/${file}`)).toContain('lint/suspicious/noImportCycles')
  })
})
