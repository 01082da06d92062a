import { expect, test } from 'vitest'
import { isErrorForm } from '../../src/client/responses.ts'

test.each([{ error: { title: 'T', message: 'm' } }, { errorCode: 'C', message: 'm', detail: [] }])(
  '%j is an error of the API',
  (json) => {
    expect(isErrorForm(json)).toBe(true)
  },
)

// Only an error of the API proves that a request had no effect.
test.each([
  undefined,
  null,
  'error',
  [],
  {},
  { error: null },
  { error: 'T' },
  { error: { title: 'T' } },
  { error: { message: 'm' } },
  { error: { title: 1, message: 'm' } },
  { errorCode: 'C', message: 'm' },
  { errorCode: 'C', detail: [] },
  { message: 'm', detail: [] },
  { errorCode: 'C', message: 'm', detail: {} },
])('%j may be of a proxy', (json) => {
  expect(isErrorForm(json)).toBe(false)
})
