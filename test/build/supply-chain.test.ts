import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { NODE_VERSION } from '../../src/build/executable.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFile(join(root, path), 'utf8')

const WORKFLOWS = (await readdir(join(root, '.github/workflows'))).map((name) => `.github/workflows/${name}`)

const LOCK = 'package-lock.json'
const TOOLS_LOCK = 'src/build/tools/package-lock.json'
const SITE_LOCK = 'docs/site/package-lock.json'
const LOCKS = [LOCK, TOOLS_LOCK, SITE_LOCK]

/** By lock file: packages for other systems, which the registry that wrote it doesn't serve. */
const WITHOUT_CHECKSUM: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  [LOCK]: {
    '@foundry-rs/anvil-': ['darwin-amd64', 'darwin-arm64', 'linux-arm64', 'win32-amd64'],
    'litesvm-': ['darwin-arm64', 'darwin-x64', 'linux-arm64-gnu', 'linux-arm64-musl', 'linux-x64-musl'],
  },
  [TOOLS_LOCK]: {
    '@biomejs/cli-': [
      ...['android-arm64', 'android-x64', 'darwin-arm64', 'darwin-x64'],
      ...['linux-arm64-musl', 'linux-x64-musl', 'win32-arm64', 'win32-x64'],
    ],
    '@oxc-parser/binding-': [
      ...['android-arm-eabi', 'android-arm64', 'darwin-arm64', 'darwin-x64', 'freebsd-x64'],
      ...['linux-arm-gnueabihf', 'linux-arm-musleabihf', 'linux-ppc64-gnu', 'linux-riscv64-gnu', 'linux-riscv64-musl'],
      ...['linux-s390x-gnu', 'openharmony-arm64', 'win32-arm64-msvc', 'win32-ia32-msvc', 'win32-x64-msvc'],
    ],
  },
}

interface Package {
  resolved?: string
  integrity?: string
  optional?: boolean
  dev?: boolean
  os?: string[]
  hasInstallScript?: boolean
  engines?: { node?: string } | string[]
}

/** The packages of a lock file, by path. */
async function packagesOf(lock: string): Promise<[path: string, entry: Package][]> {
  const { packages } = JSON.parse(await read(lock)) as { packages: Record<string, Package> }
  return Object.entries(packages).filter(([path]) => path !== '')
}

interface Step {
  uses?: string
  run?: string
  with?: Record<string, unknown>
  'working-directory'?: string
}

interface Workflow {
  permissions: Record<string, string>
  jobs: Record<string, { permissions?: Record<string, string>; steps: Step[] }>
}

/** Jobs that publish something, by workflow. */
const PUBLISHING: Readonly<Record<string, readonly string[]>> = {
  '.github/workflows/docs.yml': ['deploy'],
  '.github/workflows/release.yml': ['publish'],
}

describe.each(WORKFLOWS)('%s', (path) => {
  test('runs only actions pinned to a commit', async () => {
    const { jobs } = parse(await read(path)) as Workflow
    const used = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []))
    expect(used.length).toBeGreaterThan(0)
    expect(used.filter((action) => action !== './' && !/^[\w./-]+@[0-9a-f]{40}$/.test(action))).toEqual([])
  })

  test('has read permission, and write permission only for publishing', async () => {
    const { permissions, jobs } = parse(await read(path)) as Workflow
    expect(permissions).toEqual({ contents: 'read' })
    const more = Object.entries(jobs).flatMap(([name, job]) => (job.permissions === undefined ? [] : [name]))
    expect(more).toEqual(PUBLISHING[path] ?? [])
  })

  test('contains no secret, persists no token, and disables install scripts', async () => {
    const text = await read(path)
    expect(text).not.toContain('secrets.')
    const { jobs } = parse(text) as Workflow
    const steps = Object.values(jobs).flatMap((job) => job.steps)
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))
    expect(checkouts.every((step) => step.with?.['persist-credentials'] === false)).toBe(true)
    const installs = steps.flatMap(({ run }) => run?.match(/npm (?:ci|i|install|publish)\b.*/g) ?? [])
    expect(installs.filter((line) => !line.includes('--ignore-scripts'))).toEqual([])
  })
})

/** Returns whether a range of package.json, without prereleases, allows a version. */
function allows(range: string, version: readonly number[]): boolean {
  return range.split('||').some((set) =>
    [...set.matchAll(/(>=|<=|>|<|\^|~|=)?\s*v?(\d+)(?:\.(\d+|x))?(?:\.(\d+|x))?/g)].every(
      ([, operator = '=', ...parts]) => {
        const given = parts.filter((part) => part !== undefined && part !== 'x').map(Number)
        const padded = [0, 1, 2].map((i) => given[i] ?? 0)
        const at = version.findIndex((part, i) => part !== padded[i])
        const order = at < 0 ? 0 : (version[at] ?? 0) - (padded[at] ?? 0)
        const same = { '^': 1, '~': 2, '=': given.length }[operator]
        if (same === undefined) return { '>=': order >= 0, '>': order > 0, '<=': order <= 0, '<': order < 0 }[operator]
        return order >= 0 && given.slice(0, same).every((part, i) => part === version[i])
      },
    ),
  )
}

describe('installed packages', () => {
  test('a release has an SBOM and provenance, and audits its packages', async () => {
    const text = await read('.github/workflows/release.yml')
    for (const part of ['npm audit --audit-level', 'npm audit signatures', 'npm sbom', '--provenance']) {
      expect(text).toContain(part)
    }
  })

  test('a release attests its files, and has their checksums', async () => {
    const { jobs } = parse(await read('.github/workflows/release.yml')) as Workflow
    const steps = jobs.publish?.steps ?? []
    const attested = steps.findIndex(({ uses }) => uses?.startsWith('actions/attest-build-provenance@'))
    const made = (word: string) => steps.findIndex(({ run, uses }) => `${run} ${uses}`.includes(word))
    const before = ['npm pack', 'npm sbom', 'actions/download-artifact@', 'sha256sum']
    expect(before.map(made).every((index) => index >= 0 && index < attested)).toBe(true)
    expect([made('npm publish'), made('gh release create')].every((index) => index > attested)).toBe(true)
    expect(steps[attested]?.with).toEqual({ 'subject-path': 'release/*' })
  })

  test('the executables are built with the Node.js that the source names', async () => {
    const { jobs } = parse(await read('.github/workflows/release.yml')) as Workflow
    const setup = jobs.executables?.steps.find(({ uses }) => uses?.startsWith('actions/setup-node@'))
    expect(setup?.with?.['node-version']).toBe(NODE_VERSION)
  })

  test('every package allows Node.js 20.19, except three that work with it', async () => {
    const all = (await Promise.all(LOCKS.map(packagesOf))).flat()
    const excluding = all.filter(
      ([, { optional, engines }]) =>
        !optional && !Array.isArray(engines) && engines?.node !== undefined && !allows(engines.node, [20, 19, 0]),
    )
    // The README tells users to ignore the warnings of npm about these.
    expect(excluding.map(([path]) => path).sort()).toEqual([
      'node_modules/@solana-program/record',
      'node_modules/@solana-program/token-2022',
      'node_modules/@solana/errors/node_modules/commander',
    ])
  })

  test('no package needs an install script: two have one, and work without it', async () => {
    const all = (await Promise.all(LOCKS.map(packagesOf))).flat()
    const withScript = all.filter(([, { hasInstallScript }]) => hasInstallScript)
    const paths = new Set(withScript.map(([path]) => path))
    expect([...paths].sort()).toEqual(['node_modules/@scarf/scarf', 'node_modules/esbuild'])
    expect(withScript.every(([, { dev }]) => dev)).toBe(true)
  })

  test.each(LOCKS)('every package in %s comes from the configured registry', async (lock) => {
    const packages = await packagesOf(lock)
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
  })

  test.each(LOCKS)('every package in %s has a checksum, or SECURITY.md lists it', async (lock) => {
    const packages = await packagesOf(lock)
    const unchecked = packages.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-'))
    const prefixes = Object.entries(WITHOUT_CHECKSUM[lock] ?? {})
    const listed = prefixes.flatMap(([prefix, systems]) => systems.map((one) => prefix + one))
    expect(unchecked.map(([path]) => path)).toEqual(listed.map((name) => `node_modules/${name}`))
    expect(unchecked.every(([, { optional, os }]) => optional && os !== undefined)).toBe(true)
    const text = await read('SECURITY.md')
    expect(text).toContain(`\n  - \`${lock}\`: ${unchecked.length} of ${packages.length} packages\n`)
    for (const [prefix, systems] of prefixes) {
      expect(text).toContain(`\n    - \`${prefix}*\`: ${systems.join(', ')}\n`)
    }
  })

  test('a release looks up missing checksums before it installs anything', async () => {
    const { jobs } = parse(await read('.github/workflows/release.yml')) as Workflow
    const runs = jobs.audit?.steps.flatMap(({ run }) => run ?? []) ?? []
    expect(runs.slice(0, 2)).toEqual(['node .github/checksums.mjs', 'npm ci --ignore-scripts'])
    const ofTools = jobs.audit?.steps.find((step) => step['working-directory'] === dirname(TOOLS_LOCK))
    expect(ofTools?.run?.trim().split('\n')).toEqual([
      'npm ci --ignore-scripts',
      'npm audit --audit-level=high',
      'npm audit signatures',
    ])
  })
})
