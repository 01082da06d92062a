import { expect, test } from 'vitest'
import { findFiles } from '../../src/archive/metadata-files.ts'

test('finds the files of metadata that is nested 90,000 times, and shows the beginning of their places', () => {
  const depth = 90_000
  const value: unknown = JSON.parse(`${'["x",'.repeat(depth)}"ipfs://x"${']'.repeat(depth)}`)
  const { files, isCut } = findFiles({ images: value })
  expect(isCut).toBe(true)
  const [file] = findFiles({ images: JSON.parse(`${'["x",'.repeat(40_000)}"ipfs://x"${']'.repeat(40_000)}`) }).files
  expect(files).toEqual([])
  expect(file?.url).toBe('ipfs://x')
  expect(file?.field).toHaveLength(200)
})
