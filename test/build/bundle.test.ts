/** @module-tag slow */
import { readFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import type { OutputChunk } from 'rolldown'
import { beforeAll, describe, expect, test } from 'vitest'
import { bundle, UNUSED_PACKAGES } from '../../src/build/build.mjs'
import { whenFileDone } from '../helpers/clean-up.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

const catalogue = await readFile(join(root, 'src/cli/catalogue.ts'), 'utf8')
const commands = [...catalogue.matchAll(/import\('\.\/(commands\/[^']+)'\)/g)].map(([, path]) => `src/cli/${path}`)

let outDir: string
let chunks: ReadonlyMap<string, OutputChunk>
let lib: ReadonlyMap<string, OutputChunk>

beforeAll(async () => {
  outDir = await temporaryFolder('gdn-bundle-', whenFileDone)
  const built = await bundle({ outDir })
  chunks = new Map(built.chunks.map((chunk) => [chunk.fileName, chunk]))
  lib = new Map(built.lib.map((chunk) => [chunk.fileName, chunk]))
})

test('the client reads nothing of `import.meta` but the URL, as jest 29 sets nothing else', () => {
  const others = [...lib.values()].filter(({ code }) => /import\.meta\.(filename|dirname)/.test(code))
  expect(others.map(({ fileName }) => fileName)).toEqual([])
})

const chunkOf = (file: string) => (chunks.get(file) ?? lib.get(file)) as OutputChunk

/** The modules whose code a chunk contains, as paths from the root of the repository. */
function modulesOf({ modules }: OutputChunk): string[] {
  const contained = Object.entries(modules).filter(([, { renderedLength }]) => renderedLength > 0)
  return contained.map(([id]) => relative(root, id).replaceAll('\\', '/'))
}

/** The files that are loaded along with these modules, including the modules' own. */
function loadedWith(...sources: RegExp[]): Set<string> {
  return loadedAmong(chunks, sources)
}

function loadedAmong(among: ReadonlyMap<string, OutputChunk>, sources: readonly RegExp[]): Set<string> {
  const loaded = new Set<string>()
  const load = (file: string) => {
    if (loaded.has(file) || !among.has(file)) return
    loaded.add(file)
    chunkOf(file).imports.forEach(load)
  }
  for (const chunk of among.values()) {
    if (modulesOf(chunk).some((module) => sources.some((source) => source.test(module)))) load(chunk.fileName)
  }
  return loaded
}

const sourcesOf = (files: Iterable<string>) => [...files].flatMap((file) => modulesOf(chunkOf(file)))
const bytesOf = (files: Iterable<string>) => [...files].reduce((sum, file) => sum + chunkOf(file).code.length, 0)
/** The second version of a package is installed under another name. */
const ALIASES: Readonly<Record<string, string>> = { '@noble/curves-2': '@noble/curves' }
const packagesIn = (sources: readonly string[]) =>
  new Set(
    sources
      .flatMap((source) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? [])
      .map((name) => ALIASES[name] ?? name),
  )

/** The modules that every command loads before its own chunk. */
const ALWAYS = [/^src\/cli\/main\.ts$/, /^src\/cli\/process\.ts$/, /^src\/cli\/run\.ts$/]

describe('the bundle', () => {
  test('loads the code that resolves ENS names only for a name', () => {
    const source = (name: string) => new RegExp(`^src/cli/commands/${name}\\.ts$`)
    for (const name of ['nft/mint', 'nft/transfer', 'collection/create', 'batch/mint']) {
      const sources = sourcesOf(loadedWith(...ALWAYS, source(name)))
      expect(sources.filter((path) => /ens-normalize|viem\/.*\/ens\/|^src\/ens\/(?!ens-name)/.test(path))).toEqual([])
    }
  })

  test('loads one small file of ours for gdn --version', () => {
    const loaded = loadedWith(/^src\/cli\/main\.ts$/)
    expect([...loaded]).toEqual(['main.cjs'])
    expect(sourcesOf(loaded).filter((source) => !/^src\/(cli|core)\//.test(source))).toEqual([])
    expect(bytesOf(loaded)).toBeLessThan(5_000)
  })

  test('loads no package for gdn --help', () => {
    const loaded = loadedWith(/^src\/cli\/(main|help\/root-help)\.ts$/)
    expect([...packagesIn(sourcesOf(loaded))]).toEqual([])
    expect(bytesOf(loaded)).toBeLessThan(26_500)
  })

  test('loads no package for a completion, which runs at each key press', () => {
    const loaded = loadedWith(/^src\/cli\/completion\/known-values\.ts$/)
    expect(sourcesOf(loaded)).toContain('src/state/known-collections.ts')
    expect(sourcesOf(loaded).filter((source) => /node_modules|src\/server|src\/client/.test(source))).toEqual([])
    expect(bytesOf(loaded)).toBeLessThan(50_700)
  })

  test('loads commander and zod for gdn nft show, and no other package', () => {
    const call = [/^src\/cli\/(connect\/connect|render\/table|commands\/nft\/show)\.ts$/, /^src\/config\/settings\.ts$/]
    const client = [/^src\/client\/(known-backends|light-transport)\.ts$/, /^src\/api\/endpoints\/getnfts\.ts$/]
    const loaded = loadedWith(...ALWAYS, ...call, ...client)
    const sources = sourcesOf(loaded)
    expect([...packagesIn(sources)].sort()).toEqual(['commander', 'zod'])
    expect(sources.filter((source) => source.includes('/zod/') && !source.endsWith('?zod/mini'))).toEqual([])
    expect(
      sources.filter((source) => /src\/server|cli\/image\/(?!terminal|draw-method)|address\.ts$/.test(source)),
    ).toEqual(['src/api/same-address.ts'])
    expect(loaded.size).toBeLessThan(8)
    expect(bytesOf(loaded)).toBeLessThan(259_000)
  })

  test('loads no zod before a command needs it', () => {
    const loaded = loadedWith(...ALWAYS, /^src\/config\/settings\.ts$/, /^src\/cli\/connect\/connect\.ts$/)
    expect([...packagesIn(sourcesOf(loaded))]).toEqual(['commander'])
  })

  test('loads no server code for other commands, and at most 82 files', () => {
    expect(commands.length).toBeGreaterThan(50)
    for (const command of commands) {
      const loaded = loadedWith(...ALWAYS, new RegExp(`^${command}$`))
      expect(sourcesOf(loaded), command).toContain(command)
      expect(sourcesOf(loaded).filter((source) => source.startsWith('src/server/'))).toEqual([])
      expect(loaded.size, command).toBeLessThanOrEqual(82)
    }
  })

  test('loads no code of manifests and runs for a backend, and verifies rounds of a beacon only for draws', () => {
    const backend = sourcesOf(loadedWith(/^src\/server\/(main|core|http\/app)\.ts$/))
    expect(backend).toContain('src/files/content-type.ts')
    expect(
      backend.filter((source) => /^src\/(manifest|batch|plan|reveal|marketplace|art|cli\/cost)\//.test(source)),
    ).toEqual([])
    const isBeacon = (source: string) => /bls12|api\/beacon/.test(source)
    expect(backend.filter(isBeacon)).toEqual([])
    for (const name of ['batch/validate', 'batch/mint', 'collection/create', 'plan']) {
      expect(sourcesOf(loadedWith(...ALWAYS, new RegExp(`^src/cli/commands/${name}\\.ts$`))).filter(isBeacon)).toEqual(
        [],
      )
    }
  })

  test('loads the SDK of MCP for gdn mcp alone, of about 250 kB', () => {
    const isSdk = (source: string) => source.includes('@modelcontextprotocol')
    for (const command of commands) {
      const loaded = loadedWith(...ALWAYS, new RegExp(`^${command}$`))
      expect(sourcesOf(loaded).filter(isSdk), command).toEqual([])
    }
    const server = [...chunks.values()].filter((chunk) => modulesOf(chunk).some(isSdk))
    expect(server.map(({ fileName }) => fileName)).toHaveLength(1)
    expect(bytesOf(server.map(({ fileName }) => fileName))).toBeLessThan(260_000)
    expect(
      modulesOf(server[0] as OutputChunk).filter((source) => /express|hono|streamableHttp|\/sse/.test(source)),
    ).toEqual([])
  })

  test('has no two files that import each other', () => {
    const done = new Set<string>()
    const visit = (file: string, above: readonly string[]) => {
      expect(above, `${above.join(' → ')} → ${file}`).not.toContain(file)
      if (done.has(file) || !chunks.has(file)) return
      for (const imported of chunkOf(file).imports) visit(imported, [...above, file])
      done.add(file)
    }
    for (const file of chunks.keys()) visit(file, [])
  })

  test('contains only CommonJS, and names only files that exist', () => {
    for (const { fileName, code } of chunks.values()) {
      expect(code, fileName).not.toMatch(/\bimport\(|\bimport\.meta\b/)
      const named = [...code.matchAll(/\brequire\("(\.[^"]+)"\)/g)].map(([, path = '']) => join(fileName, '..', path))
      expect(named.filter((path) => !chunks.has(path))).toEqual([])
    }
  })

  test('needs only packages with native code at run time', () => {
    const external = [...chunks.values()].flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])
    const required = [...chunks.values()].flatMap(({ code }) =>
      [...code.matchAll(/\brequire\("([^."][^"]*)"\)/g)].map(([, name = '']) => name),
    )
    const foreign = [...external, ...required].filter(
      (name) => !chunks.has(name) && !name.startsWith('node:') && !builtinModules.includes(name.split('/')[0] ?? ''),
    )
    // typescript is optional: cosmiconfig tries it for .ts configuration. The unused packages are in branches of
    // fastify that none of our routes reaches: otherwise the end-to-end tests would not start.
    const tried = ['typescript', ...UNUSED_PACKAGES]
    // Strings in the code that ajv would write to a file.
    const inStrings = /^ajv(-formats)?\/dist\//
    const native = /^(libsql|litesvm|@foundry-rs\/anvil-[a-z0-9-]+|@napi-rs\/keyring|sharp)(\/|$)/
    expect(foreign.filter((name) => !native.test(name) && !tried.includes(name) && !inStrings.test(name))).toEqual([])
  })

  test('contains the licenses of all bundled packages', async () => {
    const text = await readFile(join(outDir, 'THIRD_PARTY_LICENSES.txt'), 'utf8')
    const bundled = packagesIn(sourcesOf(chunks.keys()))
    expect(bundled).toContain('zod')
    for (const name of [...bundled, '@openzeppelin/contracts', 'erc721a-upgradeable']) {
      expect(text).toMatch(new RegExp(`^${name} \\d+\\.`, 'm'))
    }
  })
})

describe('the typed client', () => {
  const CLIENT = /^src\/lib\/create-client\.ts$/
  const REQUEST = [CLIENT, /^src\/client\/(?:client|light-transport)\.ts$/]

  test('has no code of the command line or the backend', () => {
    expect(sourcesOf(lib.keys())).toContain('src/lib/create-client.ts')
    expect(sourcesOf(lib.keys()).filter((source) => /^src\/(?:cli|server|explorer|wallet)\//.test(source))).toEqual([])
  })

  test('loads no package before a request', () => {
    const loaded = loadedAmong(lib, [CLIENT])
    expect([...packagesIn(sourcesOf(loaded))]).toEqual([])
    // It is not minified, and checks its options itself.
    expect(bytesOf(loaded)).toBeLessThan(29_500)
  })

  test('loads only zod for a request, and no undici without a proxy', () => {
    const loaded = loadedAmong(lib, [...REQUEST, /^src\/api\/endpoints\/getnfts\.ts$/])
    expect([...packagesIn(sourcesOf(loaded))]).toEqual(['zod'])
    expect(bytesOf(loaded)).toBeLessThan(139_800)
  })

  test('loads no client for a manifest', () => {
    const sources = sourcesOf(loadedAmong(lib, [/^src\/manifest\/read\.ts$/]))
    expect(sources).toContain('src/manifest/csv.ts')
    expect(sources.filter((source) => source.startsWith('src/client/'))).toEqual([])
  })

  test('prints a readable line of source for an uncaught error', async () => {
    const file = JSON.stringify(join(outDir, 'lib/index.js'))
    const program = `import { createClient } from ${file}\ncreateClient({ baseUrl: 'nowhere', apiKey: 'key' })\n`
    const { exitCode, stderr } = await execa(process.execPath, ['--input-type=module', '-e', program], {
      reject: false,
    })
    expect(exitCode).toBe(1)
    expect(stderr).toContain('GdnError: ')
    expect(stderr.split('\n').filter((line) => line.length > 160)).toEqual([])
    expect(stderr.length).toBeLessThan(2000)
  })

  test('is loaded by import and by require()', async () => {
    const file = join(outDir, 'lib/index.js')
    for (const load of [`await import(${JSON.stringify(file)})`, `require(${JSON.stringify(file)})`]) {
      const script = `(async () => console.log(Object.keys(${load}).join()))()`
      const { stdout, stderr } = await execa(process.execPath, ['-e', script], { reject: false })
      expect({ stdout, stderr }).toEqual({ stdout: 'GdnError,createClient,readManifest,verifyWebhook', stderr: '' })
    }
  })
})
