import { expect, test } from 'vitest'
import { COMMANDS } from '../../../src/cli/catalogue.ts'
import { NOT_TOOLS } from '../../../src/cli/mcp/not-tools.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { SCENARIOS } from '../contract/scenarios.ts'
import { cli, errorOf } from '../harness.ts'

/** Their scenarios have nothing left to send. A resumed run is sent as `batch mint` sends it. */
const DONE = ['batch resume', 'reveal']

const SPENDING = COMMANDS.filter(
  ({ command, effect }) => effect === 'spend' && !Object.hasOwn(NOT_TOOLS, command) && !DONE.includes(command),
)

test.each(SPENDING)('gdn $command sends nothing that is not permitted', async ({ command }) => {
  const scenario = SCENARIOS[command]
  if (scenario === undefined) throw new Error(`${command} has no scenario`)
  const { argv, options } = await scenario.prepare()
  const asked: string[] = []
  const result = await cli([...argv, '--json'], {
    ...options,
    permit: async ({ kind }) => {
      asked.push(kind)
      throw new GdnError('max_cost', 'not permitted by this test')
    },
  })
  expect(asked).toEqual([expect.any(String)])
  expect(errorOf(result)).toMatchObject({ code: 'max_cost' })
})
