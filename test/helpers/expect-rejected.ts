import { expect } from 'vitest'
import type { Answer } from './backend.ts'

/** Expects that a request was rejected as invalid, with this message. */
export function expectRejected({ status, json }: Answer, message: string | RegExp): void {
  const expected = typeof message === 'string' ? message : expect.stringMatching(message)
  expect({ status, json }).toEqual({ status: 400, json: { error: { title: 'Bad Request', message: expected } } })
}
