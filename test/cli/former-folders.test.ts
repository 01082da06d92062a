import { mkdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { formerFoldersText } from '../../src/cli/batch/former-folders.ts'
import { folder } from './drop.ts'

test('names the former folders of a manifest that have the same file', async () => {
  const former = ['1', '2', '10', '3.old'].map((n) => [`drop.before-${n}/manifest.csv`, ''])
  const { path } = await folder({ ...Object.fromEntries(former), 'sea.before-1/manifest.csv': '' })
  await mkdir(path('drop.before-4'))
  expect(formerFoldersText(path('drop/manifest.csv'))).toBe(
    '\nA former edition is in drop.before-1 or drop.before-2 or drop.before-10, beside drop. If you minted it, rename the minted one to drop.',
  )
  await mkdir(path('sea'))
  expect(formerFoldersText(path('sea/manifest.csv'))).toBe(
    '\nA former edition is in sea.before-1, beside sea. If you minted it, move sea away, and rename sea.before-1 to sea.',
  )
  expect(formerFoldersText(path('sea/other.csv'))).toBe('')
  expect(formerFoldersText(null)).toBe('')
})
