import jpeg from 'jpeg-js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createDataUrl } from '../../../src/cli/sheet/embedded.ts'
import { jpegOf, png } from '../../helpers/images.ts'

/** Pixels that no encoder makes small. */
const noise = (side: number) => {
  let seed = 1
  const next = () => {
    seed = (seed * 1_664_525 + 1_013_904_223) >>> 0
    return seed >>> 24
  }
  return { width: side, height: side, at: () => [next(), next(), next()] as const }
}

test.each([
  ['a noisy PNG', png(noise(600))],
  ['a noisy JPEG', jpegOf(noise(600))],
])('decodes %s once and encodes it at most twice for a report', async (_, bytes) => {
  const decoded = vi.spyOn(jpeg, 'decode')
  const encoded = vi.spyOn(jpeg, 'encode')
  onTestFinished(() => void vi.restoreAllMocks())
  const url = await createDataUrl(bytes)
  expect(url.length).toBeLessThan(50 * 1024)
  expect(decoded.mock.calls.length).toBeLessThanOrEqual(1)
  expect(encoded.mock.calls.length).toBeLessThanOrEqual(2)
})
