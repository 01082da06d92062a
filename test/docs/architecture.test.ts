import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const text = await readFile(join(root, 'docs/architecture.md'), 'utf8')

type Arrows = Map<string, Set<string>>

/** The arrows of the diagram that names this folder. */
function drawn(folder: string): Arrows {
  const block = text.match(/```mermaid\n[^`]*```/g)?.find((one) => one.includes(`%% ${folder}\n`)) ?? ''
  const arrows: Arrows = new Map()
  for (const [, from = '', all = ''] of block.matchAll(/^ {2}([\w &-]+) --> ([\w &-]+)$/gm)) {
    for (const one of from.split(' & ')) for (const to of all.split(' & ')) add(arrows, one, to)
  }
  return arrows
}

/** The imports between the folders of a folder, including types and lazy imports. */
async function imports(folder: string): Promise<Arrows> {
  const arrows: Arrows = new Map()
  const nameOf = (path: string) => relative(folder, path).split('/')[0] ?? ''
  for (const entry of await readdir(join(root, folder), { recursive: true })) {
    const file = join(folder, entry)
    if (!/\.tsx?$/.test(file) || nameOf(file) === entry) continue
    const source = await readFile(join(root, file), 'utf8')
    for (const [, specifier = ''] of source.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
      const target = normalize(join(dirname(file), specifier))
      const isFolder = target.startsWith(`${folder}/`) && relative(folder, target).includes('/')
      if (isFolder && nameOf(target) !== nameOf(file)) add(arrows, nameOf(file), nameOf(target))
    }
  }
  return arrows
}

function add(arrows: Arrows, from: string, to: string): void {
  arrows.set(from, (arrows.get(from) ?? new Set()).add(to))
}

function reachable(arrows: Arrows, from: string): Set<string> {
  const seen = new Set<string>()
  const next = [...(arrows.get(from) ?? [])]
  for (let one = next.pop(); one !== undefined; one = next.pop()) {
    if (seen.has(one)) continue
    seen.add(one)
    next.push(...(arrows.get(one) ?? []))
  }
  return seen
}

const pairs = (arrows: Arrows) => [...arrows].flatMap(([from, all]) => [...all].map((to) => `${from} --> ${to}`))

describe.each(['src', 'src/server'])('the diagram of %s', (folder) => {
  test('has every import, and every arrow is an import', async () => {
    const diagram = drawn(folder)
    const code = await imports(folder)
    const missing = [...code].flatMap(([from, all]) =>
      [...all].filter((to) => !reachable(diagram, from).has(to)).map((to) => `${from} --> ${to}`),
    )
    expect(missing).toEqual([])
    expect(pairs(diagram).filter((pair) => !pairs(code).includes(pair))).toEqual([])
  })

  test('has no cycle', () => {
    const diagram = drawn(folder)
    expect([...diagram.keys()].filter((from) => reachable(diagram, from).has(from))).toEqual([])
  })
})

test('every file that the document names exists', () => {
  const named = [...text.matchAll(/`((?:src|test)\/[^`]+)`/g)].map(([, path = '']) => path)
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter((path) => !path.includes('<') && !existsSync(join(root, path)))).toEqual([])
})

test.each(['src', 'src/server', 'src/cli'])('every folder of %s has a row in a table', async (folder) => {
  const cells = [...text.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) => cell.split(', '))
  const folders = (await readdir(join(root, folder), { withFileTypes: true })).filter((entry) => entry.isDirectory())
  const missing = folders.map(({ name }) => `\`${folder}/${name}\``).filter((name) => !cells.includes(name))
  // It has its own section.
  expect(missing.filter((name) => name !== '`src/build`')).toEqual([])
})
