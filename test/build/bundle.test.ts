import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundle, UNUSED_PACKAGES } from '../../src/build/build.mjs'

let outDir: string
let inputs: Metafile['inputs']
let outputs: Metafile['outputs']
let plan: Map<string, string>

beforeAll(async () => {
  outDir = await mkdtemp(join(tmpdir(), 'gdn-bundle-'))
  const { metafile, ...built } = await bundle({ outDir })
  plan = built.plan
  inputs = metafile.inputs
  outputs = metafile.outputs
})

afterAll(() => rm(outDir, { recursive: true, force: true }))

/** The files that are loaded together with this one, itself included. */
function loadedWith(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen
  seen.add(file)
  for (const { path, kind, external } of outputs[file]?.imports ?? []) {
    if (kind === 'import-statement' && external !== true) loadedWith(path, seen)
  }
  return seen
}

function sourcesOf(files: Iterable<string>): string[] {
  return [...files].flatMap((file) => Object.keys(outputs[file]?.inputs ?? {}))
}

function entriesFrom(source: RegExp): string[] {
  return Object.keys(outputs).filter((file) => source.test(outputs[file]?.entryPoint ?? ''))
}

describe('the bundle', () => {
  test('loads nothing but our own few lines before it knows the command', () => {
    const [main] = entriesFrom(/^src\/cli\/main\.ts$/)
    const loaded = loadedWith(main ?? '')
    expect(sourcesOf(loaded)).toContain('src/cli/main.ts')
    expect(sourcesOf(loaded).filter((source) => /node_modules|src\/server|src\/client/.test(source))).toEqual([])
    expect([...loaded].reduce((sum, file) => sum + (outputs[file]?.bytes ?? 0), 0)).toBeLessThan(20_000)
  })

  test('answers completions without anything but our own few lines: they are asked for at a keystroke', () => {
    const [entry] = entriesFrom(/^src\/cli\/completion\/known-values\.ts$/)
    const loaded = loadedWith(entry ?? '')
    expect(sourcesOf(loaded)).toContain('src/batch/run-names.ts')
    expect(sourcesOf(loaded).filter((source) => /node_modules|src\/server|src\/client/.test(source))).toEqual([])
    expect([...loaded].reduce((sum, file) => sum + (outputs[file]?.bytes ?? 0), 0)).toBeLessThan(30_000)
  })

  test('gives every command a chunk of its own, and none of them brings the server along', () => {
    const commands = entriesFrom(/^src\/cli\/commands\/.*\.ts$/)
    expect(commands.length).toBeGreaterThan(10)
    for (const command of commands) {
      const server = sourcesOf(loadedWith(command)).filter((source) => source.startsWith('src/server/'))
      expect(server, outputs[command]?.entryPoint).toEqual([])
    }
  })

  test('gives no command more than a few files to open', () => {
    const [connect] = entriesFrom(/^src\/cli\/connect\.ts$/)
    const [run] = entriesFrom(/^src\/cli\/run\.ts$/)
    for (const command of entriesFrom(/^src\/cli\/commands\/.*\.ts$/)) {
      const loaded = new Set([command, connect ?? '', run ?? ''].flatMap((file) => [...loadedWith(file)]))
      const files = new Set([...loaded].map((chunk) => plan.get(chunk)))
      expect(files.size, outputs[command]?.entryPoint).toBeLessThan(20)
    }
  })

  test('gives a command that looks things up no file to open beside those of all, and nothing that draws', () => {
    const all = entriesFrom(/^src\/cli\/(?:process|run|connect)\.ts$/).flatMap((file) => [...loadedWith(file)])
    const files = new Set(all.map((chunk) => plan.get(chunk)))
    const shows = entriesFrom(/^src\/cli\/commands\/(?:nft|collection)\/show\.ts$/)
    expect(shows).toHaveLength(2)
    for (const show of shows) {
      const loaded = [...loadedWith(show)]
      expect(loaded.filter((chunk) => !files.has(plan.get(chunk))).map((chunk) => plan.get(chunk))).toEqual([])
      expect(sourcesOf(loaded).filter((source) => /picture\/(?!terminal|way)/.test(source))).toEqual([])
    }
  })

  test('asks for every chunk by the file that it is in', async () => {
    const names = (await readdir(join(outDir, 'chunks'))).map((name) => join('chunks', name))
    const files = await Promise.all(
      ['main.cjs', ...names].map(async (name) => ({ name, text: await readFile(join(outDir, name), 'utf8') })),
    )
    const holds = new Set(
      files.flatMap(({ name, text }) => [...text.matchAll(/__chunks\["([^"]+)"\]=/g)].map(([, id]) => `${name} ${id}`)),
    )
    expect(holds.size).toBe(plan.size)
    const asked = files.flatMap(({ text }) => {
      const names = new Map([...text.matchAll(/\b(__file\d+)="([^"]*)"/g)].map(([, name, file]) => [name, file]))
      const calls = [...text.matchAll(/__load\((\w+),"([^"]*)"\)/g)]
      return calls.map(([, name, id]) => `${join(names.get(name) ?? '')} ${id}`)
    })
    expect(asked.length).toBeGreaterThan(plan.size)
    expect(asked.filter((place) => !holds.has(place))).toEqual([])
    for (const { name, text } of files) expect(text, name).not.toMatch(/\brequire\("\.|\bimport_?\.meta\b|\bimport\(/)
  })

  test('needs no package at run time but those with native code', () => {
    const external = Object.values(outputs).flatMap(({ imports }) => imports.filter((found) => found.external))
    const foreign = external
      .map(({ path }) => path)
      .filter((path) => !path.startsWith('node:') && !builtinModules.includes(path.split('/')[0] ?? ''))
    // Tried and left when missing: typescript by cosmiconfig for .ts configuration, the other two by ws for speed. The
    // unused ones stand in branches of fastify that no route of ours takes: the end-to-end tests would not start else.
    const tried = ['typescript', 'bufferutil', 'utf-8-validate', ...UNUSED_PACKAGES]
    const native = /^(libsql|litesvm|@foundry-rs\/anvil-[a-z0-9-]+|@napi-rs\/keyring)(\/|$)/
    expect(foreign.filter((path) => !native.test(path) && !tried.includes(path))).toEqual([])
  })

  test('imports no CommonJS package lazily: such a chunk has a default export and no names', () => {
    // A file of our own that imports the package statically can itself be imported lazily.
    const lazy = Object.entries(inputs).flatMap(([file, { imports }]) =>
      imports.filter(({ kind }) => kind === 'dynamic-import').map(({ path }) => ({ file, path })),
    )
    const ours = lazy.filter(({ file }) => file.startsWith('src/'))
    expect(ours.length).toBeGreaterThan(0)
    expect(ours.filter(({ path }) => inputs[path]?.format === 'cjs')).toEqual([])
  })

  test('brings the licences of all that it contains', async () => {
    const text = await readFile(join(outDir, 'THIRD_PARTY_LICENSES.txt'), 'utf8')
    const contained = Object.values(outputs).flatMap((output) => Object.entries(output.inputs))
    const bundled = contained
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .flatMap(([source]) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? [])
    expect(bundled).toContain('zod')
    for (const name of [...bundled, '@openzeppelin/contracts', 'erc721a-upgradeable']) {
      expect(text).toMatch(new RegExp(`^${name} \\d+\\.`, 'm'))
    }
  })
})
