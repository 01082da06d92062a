import { mkdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { formerFoldersText } from '../../../src/cli/batch/reveal/former-folders.ts'
import { folder } from './drop.ts'

test('names the former folders of a manifest that have the same file', async () => {
  const former = ['1', '2', '10', '3.old'].map((n) => [`drop.before-${n}/manifest.csv`, ''])
  const { path } = await folder({ ...Object.fromEntries(former), 'sea.before-1/manifest.csv': '' })
  await mkdir(path('drop.before-4'))
  expect(formerFoldersText(path('drop/manifest.csv'))).toBe(
    '\nA former edition is in drop.before-1 or drop.before-2 or drop.before-10, next to drop. If you minted the former edition, rename the minted folder to drop.',
  )
  await mkdir(path('sea'))
  expect(formerFoldersText(path('sea/manifest.csv'))).toBe(
    '\nA former edition is in sea.before-1, next to sea. If you minted the former edition, move sea away, and rename sea.before-1 to sea.',
  )
  expect(formerFoldersText(path('sea/other.csv'))).toBe('')
  expect(formerFoldersText(null)).toBe('')
})
