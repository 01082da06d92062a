import { expect, test } from 'vitest'
import { COMMANDS } from '../../../src/cli/catalogue.ts'
import type { QuoteSpending } from '../../../src/cli/deps.ts'
import { NOT_TOOLS } from '../../../src/cli/mcp/not-tools.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { SCENARIOS } from '../contract/scenarios.ts'
import { cli, errorOf } from '../harness.ts'

/** Their scenarios have nothing left to send. A resumed run is sent as `batch mint` sends it. */
const DONE = ['batch resume', 'reveal']

const SPENDING = COMMANDS.filter(
  ({ command, effect }) => effect === 'spend' && !Object.hasOwn(NOT_TOOLS, command) && !DONE.includes(command),
)

/** `apply` is planned by `plan`, and `batch retry` has nothing to send in its scenario. */
const QUOTED = SPENDING.filter(({ command }) => !['apply', 'batch retry'].includes(command))

test.each(QUOTED)('a dry run of gdn $command reports what it would send', async ({ command }) => {
  const scenario = SCENARIOS[command]
  if (scenario === undefined) throw new Error(`${command} has no scenario`)
  const { argv, options } = await scenario.prepare()
  const requests: unknown[] = []
  const quote: QuoteSpending = async ({ kind, blockchain }) => {
    requests.push([kind, blockchain === null ? null : 'named'])
  }
  const result = await cli([...argv.filter((word) => word !== '--yes'), '--dry-run', '--json'], { ...options, quote })
  expect([result.stderr, result.code, requests.length]).toEqual(['', 0, 1])
})

test.each(SPENDING)('gdn $command sends nothing that is not permitted', async ({ command }) => {
  const scenario = SCENARIOS[command]
  if (scenario === undefined) throw new Error(`${command} has no scenario`)
  const { argv, options } = await scenario.prepare()
  const requests: string[] = []
  const result = await cli([...argv, '--json'], {
    ...options,
    permit: async ({ kind }) => {
      requests.push(kind)
      throw new GdnError('max_cost', 'not permitted by this test')
    },
  })
  expect(requests).toEqual([expect.any(String)])
  expect(errorOf(result)).toMatchObject({ code: 'max_cost' })
})

test('gdn plan reports what gdn apply would send as part of the same limited run, with its estimate', async () => {
  const { argv, options } = (await SCENARIOS.apply?.prepare()) ?? { argv: [], options: {} }
  const [, ...rest] = argv.filter((word) => word !== '--yes')
  const quoted: unknown[] = []
  const quote: QuoteSpending = async (spending, gas) => {
    quoted.push([spending.kind !== 'wallet' && spending.run, await gas?.()])
  }
  const result = await cli(['plan', ...rest, '--json'], { ...options, quote })
  expect(result.stderr).toBe('')
  const run = { isOperation: false, canLimit: true, accepted: 0, maxCost: null }
  const gas = { gas: expect.any(BigInt), bytes: expect.any(Number) }
  expect(quoted).toMatchObject([[run, gas]])
})
