/** @module-tag slow */
import { expect, test } from 'vitest'
import { cli, errorOf } from '../harness.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'
import { STATES } from './states.ts'

test.each(STATES)(
  'gdn $command prints the same fields in each state: $state',
  async ({ command, code, more = [], prepare, ...own }) => {
    const scenario = { ...(SCENARIOS[command] as Scenario), ...own }
    const { argv, options } = await prepare()
    const result = await cli([...argv, '--json'], options)
    if (result.code === 0) expect(result.stderr).toBe('')
    else expect(errorOf(result).details).not.toBeNull()
    expect(result.code).toBe(code)
    const value: unknown = JSON.parse(result.stdout)
    expect(Array.isArray(value)).toBe(scenario.shape === 'array')
    const records = Array.isArray(value) ? (value as object[]) : [value as object]
    for (const record of records) expect(Object.keys(record).sort()).toEqual([...scenario.fields, ...more].sort())
  },
)
