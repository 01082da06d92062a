import { describe, expect, test } from 'vitest'
import { isRepeatable } from '../../src/operations/repeatable.ts'

const PLAIN = '{"name":"Dawn"}'
const WITH_REFERENCE = '{"name":"Dawn","reference_id":"one"}'

describe('a request with an unknown outcome is sent again', () => {
  test.each([
    ['if the server honored its key before the first attempt, and honors it now', PLAIN, true, true, false, true],
    ['not if the server no longer honors its key', PLAIN, true, false, false, false],
    ['not if the server has honored keys only since the first attempt', PLAIN, false, true, false, false],
    ['not if that is unknown of the first attempt', PLAIN, null, true, false, false],
    ['not without a reference ID, although the server supports them', PLAIN, true, false, true, false],
    ['if the server creates its reference ID once', WITH_REFERENCE, false, false, true, true],
    ['not if the server no longer does so, and honors keys since then', WITH_REFERENCE, false, true, false, false],
    ['only once the server responds', PLAIN, true, null, false, null],
    ['only once the server responds, also with a reference ID', WITH_REFERENCE, true, null, true, null],
  ])('%s', async (_when, body, honorsKey, honorsNow, hasReferences, expected) => {
    const client = { learnCapabilities: async () => honorsNow, supports: () => hasReferences }
    expect(await isRepeatable(client, { body, honorsKey }, { refresh: true })).toBe(expected)
  })
})

test('a server that cannot make a repetition take effect once is not asked', async () => {
  const client = { learnCapabilities: () => Promise.reject(new Error('asked')), supports: () => true }
  expect(await isRepeatable(client, { body: PLAIN, honorsKey: false }, { refresh: true })).toBe(false)
})
