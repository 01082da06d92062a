import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { filesOf, LONG, LONG_FORMS, MORE_POSTGRES, PARTS, POSTGRES, soakFiles } from '../../src/build/suites.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Returns the paths that a pattern with braces stands for. */
function expand(pattern: string): string[] {
  const [, before = '', inside = '', after = ''] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(pattern) ?? []
  if (inside === '') return [pattern]
  return inside.split(',').flatMap((one) => expand(before + one + after))
}

const paths = (patterns: readonly string[]) => patterns.flatMap(expand)
const LISTS = {
  LONG,
  POSTGRES,
  MORE_POSTGRES,
  PARTS: soakFiles(undefined),
  LONG_FORMS: Object.values(LONG_FORMS).flat(),
}

test.each(Object.entries(LISTS))('every path in %s exists', (_name, patterns) => {
  expect(paths(patterns).filter((path) => !existsSync(join(root, path.replace(/\/\*.*$/, ''))))).toEqual([])
})

test('every path of a group of mutations exists', async () => {
  const text = await readFile(join(root, 'src/build/tools/mutate.mjs'), 'utf8')
  const named = paths([...text.matchAll(/'((?:src|test)\/[^']+\.ts)'/g)].map(([, path = '']) => path))
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

test('a file runs with npm test, with npm run test:rest or with the soak alone', () => {
  const long = new Set(paths(LONG))
  expect(paths(soakFiles(undefined)).filter((path) => long.has(path))).toEqual([])
})

test('npm test and npm run test:rest share no file, apart from files with promises, and leave out none', async () => {
  const of = (suite: string | undefined) => {
    const { shared, isolated } = filesOf(suite)
    return [...shared, ...isolated]
  }
  const rest = new Set(of('rest'))
  for (const path of of('core').filter((one) => rest.has(one))) {
    expect(await readFile(join(root, path), 'utf8'), path).toContain("tags: ['promise'")
  }
  expect(new Set([...of('core'), ...rest])).toEqual(new Set(of(undefined)))
})

test('a part of the soak runs its own files, and their long forms', () => {
  expect(soakFiles('secrets')).toEqual([...PARTS.secrets, ...(LONG_FORMS.secrets ?? [])])
})

test('each file with a long form is in a part of the soak', async () => {
  const listed = new Set(paths([...soakFiles(undefined), ...LISTS.LONG_FORMS, ...MORE_POSTGRES]))
  const named = await readdir(join(root, 'test'), { recursive: true })
  const unlisted: string[] = []
  for (const path of named.filter((one) => one.endsWith('.test.ts')).map((one) => `test/${one}`)) {
    const text = await readFile(join(root, path), 'utf8')
    const hasLongForm = /process\.env\.GDN_SOAK\b|helpers\/runs\.ts'/.test(text)
    if (hasLongForm && !listed.has(path)) unlisted.push(path)
  }
  expect(unlisted).toEqual([])
})
