/** @module-tag slow */
import { Server } from 'node:http'
import { expect, test, vi } from 'vitest'
import { COMMANDS, makeCommand } from '../../../src/cli/catalogue.ts'
import type { Deps } from '../../../src/cli/deps.ts'
import { EXIT } from '../../../src/core/exit-codes.ts'
import { whenTestDone } from '../../helpers/clean-up.ts'
import { cli } from '../harness.ts'
import { SCENARIOS } from './scenarios.ts'

// Keystores with the default cost would take most of the time.
vi.mock(import('../../../src/keystore/limits.ts'), async (original) => ({
  ...(await original()),
  DEFAULT_SCRYPT: { n: 1024, r: 8, p: 1 } as never,
}))

/** Servers of this process accept requests from now on, and never answer. */
function silenceServers(): void {
  const { emit } = Server.prototype
  const spy = vi.spyOn(Server.prototype, 'emit').mockImplementation(function (this: Server, ...event: unknown[]) {
    return event[0] === 'request' || Reflect.apply(emit, this, event)
  })
  whenTestDone(() => spy.mockRestore())
}

/** Command lines of every command with --timeout, with and without --dry-run. */
const LINES = (
  await Promise.all(
    COMMANDS.map(async (verb) => {
      const flags = (await makeCommand(verb, {} as Deps)).options.map(({ long }) => long)
      if (!flags.includes('--timeout')) return []
      const variants = flags.includes('--dry-run') ? [[], ['--dry-run']] : [[]]
      return variants.map((more) => ({ name: verb.command, more }))
    }),
  )
).flat()

/** With --to, no service is asked. */
const LEFT_OUT = new Set(['--to', 'input.json'])
const TIMEOUT_MS = 1000
/** Includes the start of the command, and the time in which a run waits for responses. */
const MAX_MS = 8000

test.each(LINES)('gdn $name $more ends at --timeout while servers and nodes are silent', async ({ name, more }) => {
  const prepared = await SCENARIOS[name]?.prepare()
  if (prepared === undefined) throw new Error(`${name} has no scenario`)
  silenceServers()
  const startedAt = performance.now()
  const argv = [...prepared.argv.filter((word) => !LEFT_OUT.has(word)), ...more]
  const { code, stderr } = await cli([...argv, '--timeout', `${TIMEOUT_MS}ms`], prepared.options)
  expect(performance.now() - startedAt).toBeLessThan(MAX_MS)
  // Some plans ask no server.
  expect(more.length > 0 ? [EXIT.ok, EXIT.unreachable] : [EXIT.unreachable], stderr).toContain(code)
})
