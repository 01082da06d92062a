import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, posix, win32 } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { labelProblem } from '../../src/api/reference-id.ts'
import { runLabel } from '../../src/batch/runs/run-label.ts'
import { findRunLabel } from '../../src/cli/batch/options/run-options.ts'

/** Returns the label of a manifest below these folders. */
const labelIn = (
  manifestPath: string | null,
  { git = [], config = [], runName }: { git?: string[]; config?: string[]; runName?: string },
  path = posix,
) =>
  runLabel(
    { manifestPath, runName },
    { isRepository: (folder) => git.includes(folder), isProject: async (folder) => config.includes(folder) },
    path,
  )

describe('the label of a run', () => {
  test.each([
    ['the path in the repository', '/home/a/shop/jan/drop.csv', { git: ['/home/a/shop'] }, 'jan/drop.csv'],
    ['the nearest repository', '/shop/jan/drop.csv', { git: ['/', '/shop/jan'] }, 'drop.csv'],
    [
      'the repository before a nearer project',
      '/shop/jan/drop.csv',
      { git: ['/'], config: ['/shop'] },
      'shop/jan/drop.csv',
    ],
    ['the path in the nearest project', '/shop/jan/drop.csv', { config: ['/', '/shop'] }, 'jan/drop.csv'],
    ['none outside of both', '/shop/jan/drop.csv', { git: ['/other'], config: ['/shop/jan/deep'] }, null],
    ['none for standard input without a name', null, { git: ['/'] }, null],
    ['the name, also of standard input', null, { runName: 'spring' }, 'spring'],
    ['the name rather than the path', '/shop/drop.csv', { git: ['/shop'], runName: 'spring' }, 'spring'],
    [
      'the path if the name is that of the file',
      '/shop/jan/drop.csv',
      { git: ['/shop'], runName: 'drop.csv' },
      'jan/drop.csv',
    ],
    ['the name of the file outside of both', '/shop/drop.csv', { runName: 'drop.csv' }, 'drop.csv'],
    ['a path with a backslash', '/shop/a\\b/drop.csv', { git: ['/shop'] }, 'a\\b/drop.csv'],
  ] as const)('is %s', async (_, path, { ...roots }, expected) => {
    expect(await labelIn(path, structuredClone(roots) as Parameters<typeof labelIn>[1])).toBe(expected)
  })

  test('has slashes on Windows too', async () => {
    const git = ['C:\\shop']
    expect(await labelIn('C:\\shop\\2026\\jan\\drop.csv', { git }, win32)).toBe('2026/jan/drop.csv')
    expect(await labelIn('\\\\server\\share\\jan\\drop.csv', { git: ['\\\\server\\share\\'] }, win32)).toBe(
      'jan/drop.csv',
    )
    expect(await labelIn('D:\\jan\\drop.csv', { git }, win32)).toBeNull()
  })

  test('is the same for both forms of an accent', async () => {
    const git = ['/shop']
    const label = await labelIn('/shop/ja\u0308nner.csv', { git })
    expect(label).toBe('j\u00e4nner.csv')
    expect(await labelIn('/shop/j\u00e4nner.csv', { git })).toBe(label)
    expect(await labelIn('/shop/ja\u0308nner.csv', { git, runName: 'j\u00e4nner.csv' })).toBe(label)
  })

  test.each([
    ['control characters', 'a\u001b[2J\nb'],
    ['10 kB', 'x'.repeat(10_000)],
    ['10 kB of emoji', '🚀'.repeat(2_500)],
    ['half of a character', '\ud83d'.repeat(600)],
    ['no character', ''],
  ])('of a name with %s is a hash that a server accepts', async (_, runName) => {
    const label = await labelIn(null, { runName })
    expect(label).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(await labelIn(null, { runName: `${runName}.` })).not.toBe(label)
    expect(labelProblem(label ?? '')).toBeNull()
  })

  test('keeps emoji', async () => {
    expect(await labelIn('/shop/🚀/drop.csv', { git: ['/shop'] })).toBe('🚀/drop.csv')
  })
})

describe('on the disk, the label', () => {
  let root = ''
  afterEach(() => rm(root, { recursive: true, force: true }))

  const create = async (...files: string[]) => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'gdn-label-')))
    for (const file of files) {
      await mkdir(dirname(join(root, file)), { recursive: true })
      await writeFile(join(root, file), '{}')
    }
    return root
  }

  test('begins at a .git folder, or at the .git file of a worktree', async () => {
    await create('shop/.git/HEAD', 'shop/jan/drop.csv', 'tree/.git', 'tree/feb/drop.csv')
    expect(await findRunLabel(join(root, 'shop/jan/drop.csv'), undefined)).toBe('jan/drop.csv')
    expect(await findRunLabel(join(root, 'tree/feb/drop.csv'), undefined)).toBe('feb/drop.csv')
  })

  test('begins at a configuration file of gdn', async () => {
    await create('shop/gdn.config.json', 'shop/jan/drop.csv')
    expect(await findRunLabel(join(root, 'shop/jan/drop.csv'), undefined)).toBe('jan/drop.csv')
  })

  test('is that of the file behind a link, as the path of a run is', async () => {
    await create('shop/.git/HEAD', 'shop/jan/drop.csv', 'elsewhere/drop.csv')
    await symlink(join(root, 'shop/jan'), join(root, 'shop/current'))
    await symlink(join(root, 'elsewhere/drop.csv'), join(root, 'shop/outside.csv'))
    expect(await findRunLabel(await realpath(join(root, 'shop/current/drop.csv')), undefined)).toBe('jan/drop.csv')
    expect(await findRunLabel(await realpath(join(root, 'shop/outside.csv')), undefined)).toBeNull()
  })
})
