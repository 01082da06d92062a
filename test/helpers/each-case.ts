import { expect } from 'vitest'
import { messageOf } from '../../src/core/errors.ts'

/** Checks each case in one test, which fails with the names of all cases whose check fails. */
export async function eachCase(names: readonly string[], check: (name: string) => Promise<void> | void): Promise<void> {
  expect(names.length).toBeGreaterThan(0)
  const failures: string[] = []
  for (const name of names) {
    try {
      await check(name)
    } catch (error) {
      // What an assertion compared is not in its message.
      const { actual } = error as { actual?: unknown }
      failures.push([name, messageOf(error), ...(actual === undefined ? [] : [JSON.stringify(actual)])].join(': '))
    }
  }
  expect(failures).toEqual([])
}
