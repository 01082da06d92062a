import { expect, test } from 'vitest'
import { isRepeatable } from '../../src/operations/repeatable.ts'

const REFERENCE = '{"reference_id":"r"}'
const PLAIN = '{"name":"Dawn"}'

// `honored` before the first attempt, `honors` and `references` now. Null: unknown, or no response.
test.each([
  { body: PLAIN, honored: true, honors: true, references: false, repeatable: true },
  { body: PLAIN, honored: true, honors: false, references: true, repeatable: false },
  { body: PLAIN, honored: true, honors: null, references: true, repeatable: null },
  { body: PLAIN, honored: false, honors: true, references: true, repeatable: false },
  { body: PLAIN, honored: null, honors: true, references: true, repeatable: false },
  { body: REFERENCE, honored: false, honors: false, references: true, repeatable: true },
  { body: REFERENCE, honored: false, honors: true, references: false, repeatable: false },
  { body: REFERENCE, honored: null, honors: true, references: null, repeatable: false },
  { body: REFERENCE, honored: null, honors: null, references: true, repeatable: null },
  { body: REFERENCE, honored: true, honors: true, references: false, repeatable: true },
])('%j', async ({ body, honored, honors, references, repeatable }) => {
  const client = { learnIdempotency: async () => honors, supportsReferences: () => references }
  expect(await isRepeatable(client, { body, honorsKey: honored }, { refresh: true })).toBe(repeatable)
})

test('does not ask a server that cannot make a repetition take effect once', async () => {
  const learnIdempotency = () => Promise.reject(new Error('asked'))
  const client = { learnIdempotency, supportsReferences: () => true }
  expect(await isRepeatable(client, { body: PLAIN, honorsKey: false }, { refresh: true })).toBe(false)
})
