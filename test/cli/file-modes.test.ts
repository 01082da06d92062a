/** @module-tag slow */
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { SCENARIOS } from './contract/scenarios.ts'
import { cli } from './harness.ts'

vi.mock(import('../../src/keystore/limits.ts'), async (original) => ({
  ...(await original()),
  DEFAULT_SCRYPT: { n: 1024, r: 8, p: 1 } as never,
}))

const usual = process.umask(0o022)
process.umask(usual)
afterEach(() => {
  process.umask(usual)
})

/** Every file and folder that gdn keeps, with its mode. */
async function kept(home: string): Promise<string[]> {
  const found: string[] = []
  for (const root of ['.config/gdn', '.local/state/gdn', '.local/share/gdn', 'pace']) {
    const entries = await readdir(join(home, root), { recursive: true, withFileTypes: true }).catch(() => [])
    const paths = entries.map((entry) => join(entry.parentPath, entry.name))
    for (const path of entries.length === 0 ? [] : [join(home, root), ...paths]) {
      const at = await lstat(path)
      const kind = at.isDirectory() ? 'folder' : at.isFile() ? 'file' : 'neither'
      found.push(`${kind} ${(at.mode & 0o7777).toString(8)} ${path.slice(home.length + 1)}`)
    }
  }
  return found
}

/** Files that the scenarios create themselves, in place of a backend. */
const MADE_BY_TESTS = / \.local\/share\/gdn\/local(?:\/(?:backend\.json|api-key))?$| \.local\/share\/gdn$/

describe.each([0o000, 0o077])('with a umask of %o', (umask) => {
  beforeEach(() => {
    process.umask(umask)
  })

  test.each(Object.entries(SCENARIOS))('%s keeps nothing that others can read', async (_command, { prepare }) => {
    const { argv, options } = await prepare()
    await cli(argv, options)
    const home = options.env?.HOME ?? ''
    expect(home).not.toBe('')
    const loose = (await kept(home)).filter((line) => !/^(?:file 600|folder 700) /.test(line))
    expect(loose.filter((line) => !MADE_BY_TESTS.test(line))).toEqual([])
  })
})

test('the scenarios include commands that keep files', async () => {
  const all: string[] = []
  for (const command of ['batch mint', 'collection create', 'auth login', 'config set', 'nft mint']) {
    const { argv, options } = await (SCENARIOS[command]?.prepare() ?? Promise.reject(new Error(command)))
    await cli(argv, options)
    all.push(...(await kept(options.env?.HOME ?? '')))
  }
  for (const name of ['credentials.json', 'config.json', 'state.db', 'pace']) {
    expect(
      all.some((line) => line.includes(name)),
      `${name} in ${all.join('\n')}`,
    ).toBe(true)
  }
})
