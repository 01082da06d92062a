import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const node = process.env.GDN_TEST_NODE ?? process.execPath
const NATIVE = /^(libsql|litesvm-[a-z0-9-]+|@foundry-rs\/anvil-[a-z0-9-]+|@napi-rs\/keyring)$/

interface Packed {
  filename: string
  size: number
  unpackedSize: number
  files: { path: string }[]
}

interface Installed {
  gdn: string
  packages: number
  bytes: number
}

let folder: string
let packed: Packed
let cliOnly: Installed
let full: Installed

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-pack-'))
  const { stdout } = await execa('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root })
  const [first] = JSON.parse(stdout) as Packed[]
  if (first === undefined) throw new Error(`npm pack said: ${stdout}`)
  packed = first
  cliOnly = await install('cli-only', ['--omit=optional'])
  full = await install('full', [])
}, 180_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

async function install(name: string, flags: string[]): Promise<Installed> {
  const prefix = join(folder, name)
  const quiet = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  await execa('npm', ['install', '--prefix', prefix, ...quiet, ...flags, join(folder, packed.filename)], {
    cwd: folder,
  })
  const modules = join(prefix, 'node_modules')
  const lock = JSON.parse(await readFile(join(modules, '.package-lock.json'), 'utf8'))
  const bytes = await sizeOf(modules)
  return { gdn: join(modules, '.bin', 'gdn'), packages: Object.keys(lock.packages).length, bytes }
}

async function sizeOf(dir: string): Promise<number> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

function start(installed: Installed, ...args: string[]) {
  const env = { HOME: folder, XDG_DATA_HOME: join(folder, 'data'), XDG_CONFIG_HOME: join(folder, 'config') }
  return execa(node, [installed.gdn, ...args], { cwd: folder, env, reject: false, stdin: 'ignore' })
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
  })

  test('contains the built program and no sources', () => {
    const paths = packed.files.map(({ path }) => path)
    expect(paths).toEqual(
      expect.arrayContaining(['bin/gdn.js', 'dist/main.cjs', 'dist/THIRD_PARTY_LICENSES.txt', 'LICENSE', 'README.md']),
    )
    expect(paths).toEqual(
      expect.arrayContaining(['dist/man/gdn.1', 'docs/commands.md', 'completions/_gdn', 'completions/gdn.bash']),
    )
    // .dockerignore is part of the deployment example.
    const hidden = paths.filter((path) => /\/\.[^/]+$/.test(path))
    expect(hidden).toEqual(['examples/deploy/.dockerignore'])
    expect(paths.filter((path) => /^(src|test|bench)\/|\.map$/.test(path))).toEqual([])
  })

  test('installs one package without native parts, and less than 15 with them', () => {
    const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
    process.stdout.write(
      `package ${megabytes(packed.size)}, unpacked ${megabytes(packed.unpackedSize)}\n` +
        `installed without native parts: ${cliOnly.packages} package, ${megabytes(cliOnly.bytes)}\n` +
        `installed with native parts: ${full.packages} packages, ${megabytes(full.bytes)}\n`,
    )
    expect(cliOnly.packages).toBe(1)
    expect(cliOnly.bytes).toBeLessThan(15e6)
    expect(full.packages).toBeLessThan(15)
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
      said: expect.stringMatching(/npm install (libsql|@foundry-rs\/anvil-[a-z0-9-]+)@\d/),
    })
  })
})
