// Finds the tests that belong to changed files, for `npm run check -- --changed`.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dirname, normalize } from 'node:path/posix'
import { run } from './run.mjs'

/** Tests of rules that apply to a whole folder. Their names don't need to match the tested files. */
const RULES = [
  [/^src\/cli\//, [/^test\/cli\/contract\//, /^test\/cli\/(?:catalogue|help-examples)\.test/]],
  [
    /^src\/(?:api\/endpoints|server\/(?:http|services))/,
    [/^test\/server\/http\/(?:openapi|permissions|tenancy)\.test/],
  ],
  [
    /^src\/server\/(?:admin|explorer|pipeline|services|state|store)\//,
    [/^test\/server\/(?:store\/plans|postgres\/changes)\.test/],
  ],
  [/^src\/(?:batch|operations|state)\//, [/^test\/batch\/outcomes\.test/, /^test\/operations\/(?:operate|send)\.test/]],
  [/^src\/build\//, [/^test\/build\//]],
  [/^(?:docs\/|README|CONTRIBUTING|SECURITY|CHANGELOG)/, [/^test\/docs\//]],
  [/^package(?:-lock)?\.json$/, [/^test\/build\//]],
]

/** Returns the committed and new files that differ from HEAD. */
export async function changedFiles(root) {
  const { output } = await run('git', ['status', '--porcelain', '-z', '--no-renames', '-uall'], { cwd: root })
  return output.split('\0').flatMap((line) => (line === '' ? [] : [line.slice(3)]))
}

/** Returns the files below a folder that a pattern matches, relative to the root. */
function list(root, folder, pattern) {
  const paths = readdirSync(join(root, folder), { recursive: true }).map((path) => `${folder}/${path}`)
  return paths.filter((path) => pattern.test(path))
}

/** Returns the files of `test` that import each file directly. */
function importers(root, files) {
  const found = new Map()
  for (const file of files) {
    for (const [, specifier] of readFileSync(join(root, file), 'utf8').matchAll(
      /(?:from|import)\s*\(?\s*'(\.[^']+)'/g,
    )) {
      const target = normalize(`${dirname(file)}/${specifier}`)
      found.set(target, [...(found.get(target) ?? []), file])
    }
  }
  return found
}

const isTest = (path) => path.endsWith('.test.ts')
const stem = (path) => path.split('/').at(-1).replace(/\..*$/, '')

/** Returns the tests that import a file directly or through test helpers. */
function testsThatImport(path, imported, seen = new Set()) {
  if (isTest(path)) return [path]
  if (seen.has(path)) return []
  seen.add(path)
  return (imported.get(path) ?? []).flatMap((one) => testsThatImport(one, imported, seen))
}

/** Returns the tests in the folder of `test` that mirrors a file's folder, or the nearest parent with tests. */
function mirrored(path, tests) {
  for (let folder = dirname(path); folder.includes('/'); folder = dirname(folder)) {
    const found = tests.filter((test) => dirname(test) === folder.replace(/^src\//, 'test/'))
    if (found.length > 0) return found
  }
  return []
}

/**
 * Returns the sorted test files that belong to changed files. These are tests that import a changed file or have its
 * name, or else the tests in the mirroring folder. Also returns the tests of rules that apply to the folders of the
 * changed files.
 */
export function testsOf(root, changed) {
  const all = list(root, 'test', /\.[mc]?tsx?$/)
  const imported = importers(root, all)
  const tests = all.filter(isTest)
  const found = new Set()
  for (const path of changed) {
    const belongs = RULES.filter(([source]) => source.test(path)).flatMap(([, names]) =>
      tests.filter((test) => names.some((name) => name.test(test))),
    )
    if (path.startsWith('test/')) belongs.push(...testsThatImport(path, imported))
    else if (path.startsWith('src/')) {
      const top = `test/${path.split('/')[1]}/`
      const noun = /^src\/cli\/commands\/([^/.]+)/.exec(path)?.[1]
      const own = [
        ...(imported.get(path) ?? []).filter(isTest),
        ...tests.filter((test) => test.startsWith(top) && stem(test) === stem(path)),
        ...tests.filter((test) => noun !== undefined && test.startsWith(`test/cli/${noun}`)),
      ]
      belongs.push(...(own.length > 0 ? own : mirrored(path, tests)))
    }
    for (const test of belongs) if (all.includes(test)) found.add(test)
  }
  return [...found].sort()
}
