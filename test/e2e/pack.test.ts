import { cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { beforeAll, describe, expect, test } from 'vitest'
import { cachedPackage } from '../../src/build/cached-package.mjs'
import { whenFileDone } from '../helpers/clean-up.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const node = process.env.GDN_TEST_NODE ?? process.execPath
const NATIVE = /^(libsql|litesvm-[a-z0-9-]+|@foundry-rs\/anvil-[a-z0-9-]+|@napi-rs\/keyring|sharp)$/

/** The package.json of a package, not one inside it. */
const PACKAGE = /^(?:.+\/node_modules\/)?(?:@[^/]+\/)?[^/@][^/]*\/package\.json$/

interface Packed {
  filename: string
  size: number
  unpackedSize: number
  files: { path: string }[]
}

interface Installed {
  gdn: string
  /** Its node_modules. */
  modules: string
  packages: number
  bytes: number
}

let folder: string
let packed: Packed
let cliOnly: Installed
let full: Installed

beforeAll(async () => {
  folder = await temporaryFolder('gdn-pack-', whenFileDone)
  const { stdout } = await execa('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root })
  const [first] = JSON.parse(stdout) as Packed[]
  if (first === undefined) throw new Error(`npm pack said: ${stdout}`)
  packed = first
  cliOnly = await install('cli-only', ['--omit=optional'])
  full = await install('full', ['--global'])
}, 180_000)

/** Installs the tarball as a user without any file in the home directory, except that packages are cached. */
async function install(name: string, flags: string[]): Promise<Installed> {
  const prefix = join(folder, name)
  const { stdout: cache } = await execa('npm', ['config', 'get', 'cache'])
  const home = join(folder, `home-${name}`)
  await mkdir(home)
  const quiet = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  await execa('npm', ['install', '--prefix', prefix, ...quiet, ...flags, join(folder, packed.filename)], {
    cwd: folder,
    env: { HOME: home, npm_config_cache: cache },
  })
  const isGlobal = flags.includes('--global')
  const modules = join(prefix, isGlobal ? 'lib/node_modules' : 'node_modules')
  const packages = (await readdir(modules, { recursive: true })).filter((path) => PACKAGE.test(path)).length
  const gdn = isGlobal ? join(prefix, 'bin', 'gdn') : join(modules, '.bin', 'gdn')
  return { gdn, modules, packages, bytes: await sizeOf(modules) }
}

async function sizeOf(dir: string): Promise<number> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

const ENV = () => ({ HOME: folder, XDG_DATA_HOME: join(folder, 'data'), XDG_CONFIG_HOME: join(folder, 'config') })

function start(installed: Installed, ...args: string[]) {
  return execa(node, [installed.gdn, ...args], { cwd: folder, env: ENV(), reject: false, stdin: 'ignore' })
}

const serve = (installed: Installed, name: string) =>
  start(installed, 'serve', '--port', '0', '--data-dir', join(folder, name), '--json')

describe('the published package', () => {
  test('has no dependencies, and only native code as optional ones', async () => {
    const { stdout } = await execa('tar', ['-xOf', join(folder, packed.filename), 'package/package.json'])
    const manifest = JSON.parse(stdout)
    expect(Object.keys(manifest.dependencies ?? {})).toEqual([])
    expect(Object.keys(manifest.peerDependencies ?? {})).toEqual([])
    expect(Object.keys(manifest.optionalDependencies).filter((name) => !NATIVE.test(name))).toEqual([])
    // Another version of sharp can make other pixels.
    expect(manifest.optionalDependencies.sharp).toMatch(/^\d+\.\d+\.\d+$/)
  })

  test('contains the built program and no sources', () => {
    const paths = packed.files.map(({ path }) => path)
    expect(paths).toEqual(
      expect.arrayContaining(['bin/gdn.js', 'dist/main.cjs', 'dist/THIRD_PARTY_LICENSES.txt', 'LICENSE', 'README.md']),
    )
    expect(paths).toEqual(
      expect.arrayContaining(['dist/man/gdn.1', 'docs/commands/nft.md', 'completions/_gdn', 'completions/gdn.bash']),
    )
    // .dockerignore is part of the deployment example.
    const hidden = paths.filter((path) => /\/\.[^/]+$/.test(path))
    expect(hidden).toEqual(['examples/deploy/.dockerignore'])
    expect(paths.filter((path) => /^(src|test|bench|docs\/site)\/|\.map$/.test(path))).toEqual([])
  })

  test('installs one package without native parts, and less than 20 with them', () => {
    const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
    process.stdout.write(
      `package ${megabytes(packed.size)}, unpacked ${megabytes(packed.unpackedSize)}\n` +
        `installed without native parts: ${cliOnly.packages} package, ${megabytes(cliOnly.bytes)}\n` +
        `installed with native parts: ${full.packages} packages, ${megabytes(full.bytes)}\n`,
    )
    expect(cliOnly.packages).toBe(1)
    expect(cliOnly.bytes).toBeLessThan(15e6)
    expect(full.packages).toBeLessThan(20)
    expect(full.packages).toBeGreaterThan(1)
  })

  test.each(['without', 'with'])('works %s the native parts', async (parts) => {
    const installed = parts === 'with' ? full : cliOnly
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    const asked = await start(installed, '--version')
    expect(asked).toMatchObject({ exitCode: 0, stdout: version, stderr: '' })
    const help = await start(installed, '--help')
    expect(help).toMatchObject({ exitCode: 0, stderr: '' })
    expect(help.stdout).toContain('gdn batch')
  })

  test('serves with the native parts', async () => {
    const backend = serve(full, 'served')
    const lines: string[] = []
    for await (const line of backend) {
      lines.push(line)
      backend.kill('SIGTERM')
    }
    expect(lines.map((line) => JSON.parse(line).event)).toEqual(['ready'])
    expect((await backend).exitCode).toBe(0)
  })

  test('serves the reference at /docs from its own files', async () => {
    const backend = serve(full, 'docs')
    const statuses: number[] = []
    for await (const line of backend) {
      const { url } = JSON.parse(line)
      for (const path of ['/docs', '/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css', '/openapi.json', '/metrics']) {
        statuses.push((await fetch(url + path)).status)
      }
      backend.kill('SIGTERM')
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200])
  })

  test('names a missing native part of the backend, and the command that installs it', async () => {
    const { exitCode, stdout, stderr } = await serve(cliOnly, 'refused')
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    const { code, message, hint } = JSON.parse(stderr).error
    expect({ code, said: `${message} ${hint}` }).toEqual({
      code: 'native_missing',
      said: expect.stringMatching(/npm install (--include=optional libsql|@foundry-rs\/anvil-[a-z0-9-]+)@\d/),
    })
  })
})

describe('the typed client in the package', () => {
  const FIXTURES = join(root, 'test/e2e/client-package')

  /** A project that has the package as its dependency, without optional ones. */
  const inProject = (name: string) => join(cliOnly.modules, '..', name)

  test('publint has no message', async () => {
    const file = await readFile(join(folder, packed.filename))
    const tarball = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength)
    const { messages, pkg } = await publint({ pack: { tarball }, strict: true })
    expect(messages.map((message) => formatMessage(message, pkg ?? {}))).toEqual([])
  })

  test('are the types wrong: no', async () => {
    const attw = join(root, 'src/build/tools/node_modules/.bin/attw')
    const args = [join(folder, packed.filename), '--profile', 'esm-only', '--format', 'ascii', '--no-color']
    const { exitCode, all } = await execa(attw, args, { reject: false, all: true })
    expect(exitCode, all).toBe(0)
  })

  const COMPILERS = ['5.4.5', 'newest'].flatMap((version) => [
    { version, module: 'nodenext', moduleResolution: 'nodenext' },
    { version, module: 'esnext', moduleResolution: 'bundler' },
  ])
  test.each(COMPILERS)('types: TypeScript $version, $moduleResolution', async ({ version, ...resolution }) => {
    const compiler =
      version === 'newest' ? join(root, 'node_modules/typescript') : await cachedPackage('typescript', version)
    const project = inProject(`types-${version}-${resolution.moduleResolution}`)
    await mkdir(project)
    await cp(join(FIXTURES, 'types.mts'), join(project, 'types.mts'))
    const strict = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
    }
    // No types of Node: the package must not need them.
    const compilerOptions = {
      ...resolution,
      ...strict,
      target: 'es2022',
      lib: ['es2022', 'dom'],
      types: [],
      noEmit: true,
    }
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['types.mts'] }))
    const tsc = join(compiler, 'bin/tsc')
    const { exitCode, all } = await execa(process.execPath, [tsc, '-p', project], { reject: false, all: true })
    expect({ exitCode, all }).toEqual({ exitCode: 0, all: '' })
  })

  test('is loaded by require()', async () => {
    await writeFile(
      inProject('load.cjs'),
      "const { createClient } = require('gdn')\nconsole.log(typeof createClient)\n",
    )
    const { stdout, stderr } = await execa(node, [inProject('load.cjs')], { reject: false })
    expect({ stdout, stderr }).toEqual({ stdout: 'function', stderr: '' })
  })

  test('mints a first drop, and so does the command that is installed globally', async () => {
    await cp(join(root, 'examples'), join(folder, 'examples'), { recursive: true })
    await cp(join(FIXTURES, 'first-drop.mjs'), inProject('first-drop.mjs'))
    const backend = serve(full, 'drops')
    for await (const line of backend) {
      try {
        await mintWith(JSON.parse(line))
      } finally {
        backend.kill('SIGTERM')
      }
    }
  })

  async function mintWith(backend: { url: string; api_key: string }): Promise<void> {
    const env = { ...ENV(), GDN_BASE_URL: backend.url, GDN_API_KEY: backend.api_key, GDN_BLOCKCHAIN: 'polygon' }
    const gdn = async (...args: string[]) =>
      JSON.parse((await execa(node, [full.gdn, ...args, '--json'], { cwd: folder, env, stdin: 'ignore' })).stdout)
    const wallet = '0x105BA2A3D820926739b9443a81fb7ab5C531e823'
    const { contract_address } = await gdn('collection', 'create', '--name', 'Tidal Hours', '--wallet', wallet)
    const minted = await gdn('batch', 'mint', 'examples/drop.csv', '--contract', contract_address)
    expect(minted).toMatchObject({ deployed: 24 })

    const script = [inProject('first-drop.mjs'), join(folder, 'examples/drop.csv')]
    const { stdout, stderr } = await execa(node, script, { cwd: folder, env, reject: false })
    expect({ ...JSON.parse(stdout || '{}'), stderr }).toEqual({
      titles: ['Tidal Hours 00: Low Moon', 'Tidal Hours 01: Undertow', 'Tidal Hours 02: Night Market'],
      refused: {
        code: 'invalid_input',
        message: 'contract_address is required (and 2 more)',
        field: 'contract_address',
      },
      stderr: '',
    })
  }
})
